// Sets a new password for users who can read the account's mail, by a single-use token that is valid for an hour.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	emailAddress,
	type GatewayError,
	hashKey,
	invalid,
	operation,
	passwordRule,
	shape,
} from '../../../core/features.ts';

const FORGOT_PASSWORD = body({ email: emailAddress.required() }).example({ email: 'ada@example.com' });
const RESET_PASSWORD = body({
	token: Joi.string().max(128).required().description('The token from the mail, valid once and for an hour.'),
	newPassword: passwordRule.required(),
}).example({ token: 'svc_rst_5Vd0c2FtcGxlLXRva2VuLW9mLWEtcmVzZXQtbWFpbC4', newPassword: 'Battery2Staple' });

export const forgotPassword = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/auth/forgot-password',
		id: 'forgotPassword',
		summary: 'Sends a mail to set a new password, if the account exists.',
		description: 'The answer is the same if it does not.',
		need: 'public',
		addressLimit: { max: 5, seconds: 3600 },
		body: FORGOT_PASSWORD,
		answer: shape({ requested: Joi.boolean().valid(true) }),
		async handler(request) {
			// The body has passed FORGOT_PASSWORD.
			await core.resets.ask((request.payload as { email: string }).email);
			return { requested: true };
		},
	});

export const resetPassword = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/auth/reset-password',
		id: 'resetPassword',
		summary: 'Sets a new password with the token from the mail, and ends every login of the account.',
		need: 'public',
		body: RESET_PASSWORD,
		answer: shape({ reset: Joi.boolean().valid(true) }),
		handler: (request) => reset(request, core),
	});

async function reset(request: Request, core: Core): Promise<{ reset: true }> {
	// The body has passed RESET_PASSWORD.
	const { token, newPassword } = request.payload as { token: string; newPassword: string };
	const hash = hashKey(token);
	// This check comes first, so that guessing tokens costs no password hash.
	if (!(await core.store.accounts.isResetLive(hash))) throw unusable();
	const redeemed = await core.store.accounts.redeemReset(hash, await core.passwords.hash(newPassword));
	if (!redeemed) throw unusable();
	return { reset: true };
}

const unusable = (): GatewayError => invalid('/token', '"token" is unknown, used or expired: request another one');
