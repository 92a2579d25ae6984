// A new password by who can read the account's mail: a single-use token, good for an hour.

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
	token: Joi.string().max(128).required().description('As the mail carries it. It is good for an hour, and once.'),
	newPassword: passwordRule.required(),
}).example({ token: 'svc_rst_5Vd0c2FtcGxlLXRva2VuLW9mLWEtcmVzZXQtbWFpbC4', newPassword: 'Battery2Staple' });

export const forgotPassword = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/auth/forgot-password',
		id: 'forgotPassword',
		summary: 'Sends a mail with which a new password can be set, if there is such an account.',
		description: 'The answer is the same when there is none.',
		need: 'public',
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
		summary: 'Sets a new password with the token of a mail, and ends every login of the account.',
		need: 'public',
		body: RESET_PASSWORD,
		answer: shape({ reset: Joi.boolean().valid(true) }),
		handler: (request) => reset(request, core),
	});

async function reset(request: Request, core: Core): Promise<{ reset: true }> {
	// The body has passed RESET_PASSWORD.
	const { token, newPassword } = request.payload as { token: string; newPassword: string };
	const hash = hashKey(token);
	// First, so that guessing costs no hash of a password.
	if (!(await core.store.accounts.isResetLive(hash))) throw unusable();
	const redeemed = await core.store.accounts.redeemReset(hash, await core.passwords.hash(newPassword));
	if (!redeemed) throw unusable();
	return { reset: true };
}

const unusable = (): GatewayError => invalid('/token', '"token" is unknown, used or expired: ask for another one');
