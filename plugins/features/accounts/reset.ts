// A new password by who can read the account's mail: a single-use token, good for an hour.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	asGatewayError,
	body,
	type Core,
	type GatewayError,
	hashKey,
	invalid,
	mintKey,
	operation,
	passwordRule,
	shape,
} from '../../../core/index.ts';
import { emailAddress } from './profile.ts';

const PREFIX = 'svc_rst_';
const LIFETIME_MS = 60 * 60 * 1000;
const MOST_LIVE = 5;
/** Longer than what happens behind the answer usually takes, so that it is over when a client can ask again. */
const ANSWER_MS = 100;
const MOST_UNDER_WAY = 50;

const FORGOT_PASSWORD = body({ email: emailAddress.required() }).example({ email: 'ada@example.com' });
const RESET_PASSWORD = body({
	token: Joi.string().max(128).required().description('As the mail carries it. It is good for an hour, and once.'),
	newPassword: passwordRule.required(),
}).example({ token: 'svc_rst_5Vd0c2FtcGxlLXRva2VuLW9mLWEtcmVzZXQtbWFpbC4', newPassword: 'Battery2Staple' });

export const forgotPassword = (forgotten: Forgotten): ServerRoute =>
	operation({
		method: 'POST',
		path: '/auth/forgot-password',
		id: 'forgotPassword',
		summary: 'Sends a mail with which a new password can be set, if there is such an account.',
		description: 'The answer is the same when there is none.',
		need: 'public',
		body: FORGOT_PASSWORD,
		answer: shape({ requested: Joi.boolean().valid(true) }),
		handler: (request) => forgotten.ask(request),
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

export interface Forgotten {
	/** The same answer after the same time, whether there is such an account or not. */
	ask(request: Request): Promise<{ requested: true }>;
	/** When what was asked for is in the hands of the mail. */
	settled(): Promise<void>;
}

export function createForgotten(core: Core): Forgotten {
	const underWay = new Set<Promise<void>>();
	const start = (email: string): void => {
		if (underWay.size >= MOST_UNDER_WAY) {
			core.log.warn({ underWay: underWay.size }, 'a password reset was dropped: too many at once');
			return;
		}
		const work: Promise<void> = sendReset(email, core)
			// Never the address: what is asked for here may be anybody's.
			.catch((error) => core.log.warn({ error: asGatewayError(error)?.code ?? 'internal' }, 'a password reset could not be prepared'))
			.finally(() => underWay.delete(work));
		underWay.add(work);
	};
	return {
		async ask(request) {
			// The body has passed FORGOT_PASSWORD.
			start((request.payload as { email: string }).email);
			await sleep(ANSWER_MS);
			return { requested: true };
		},
		async settled() {
			await Promise.all(underWay);
		},
	};
}

async function sendReset(email: string, core: Core): Promise<void> {
	const user = await core.store.accounts.byEmail(email);
	if (!user) return;
	const token = mintKey(PREFIX);
	const expiresAt = new Date(Date.now() + LIFETIME_MS);
	if (!(await core.store.accounts.addReset(user.id, { hash: hashKey(token), expiresAt, most: MOST_LIVE }))) return;
	// To the address that was registered, which the one that was asked for may only resemble.
	core.mail.send({ to: user.email, subject: 'Reset your password', text: letter(token, core) });
}

/** Addresses come from the configuration alone: a forged Host must not lead anybody elsewhere. */
function letter(token: string, { config }: Core): string {
	return `Somebody, probably you, asked to reset the password of your account.

To choose a new one, open this link within an hour:

${config.frontendUrl}/reset-password#token=${token}

Or send the same token, with a newPassword, to:

POST ${config.publicUrls[0]}/auth/reset-password

If it was not you, there is nothing to do: your password stays as it is.
`;
}

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
