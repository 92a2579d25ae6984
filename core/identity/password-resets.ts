// Resets of forgotten passwords, requested by the API or on a page of a gateway: a mail with a single-use token, valid for an hour.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { asGatewayError, invalid } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { emailAddress } from '../kit/mail-address.ts';
import type { Mail } from '../mail/mail.ts';
import { hashKey, mintKey } from '../secrets/tokens.ts';
import type { Store } from '../store/store.ts';

export interface Resets {
	/**
	 * Sends a mail for setting a new password, if the address belongs to an account. The answer and its time are the same whether there is
	 * such an account or not. @throws validation_failed for a text that is not an address
	 */
	ask(email: string): Promise<void>;
	/** Resolves when all requested mails have been handed over for sending. */
	close(): Promise<void>;
}

export interface ResetParts {
	config: Config;
	store: Store;
	mail: Mail;
	log: Log;
}

const PREFIX = 'svc_rst_';
const LIFETIME_MS = 60 * 60 * 1000;
const MOST_LIVE = 5;
/** Longer than the work behind the answer usually takes, so that it is over when a client can ask again. */
const ANSWER_MS = 100;
const MOST_UNDER_WAY = 50;

export function createResets(parts: ResetParts): Resets {
	const { log } = parts;
	const underWay = new Set<Promise<void>>();
	const start = (email: string): void => {
		if (underWay.size >= MOST_UNDER_WAY) {
			log.warn({ underWay: underWay.size }, 'a password reset was dropped: too many at once');
			return;
		}
		const work: Promise<void> = sendReset(email, parts)
			// The address is never logged, since anybody's may be requested here.
			.catch((error) => log.warn({ error: asGatewayError(error)?.code ?? 'internal' }, 'a password reset could not be prepared'))
			.finally(() => underWay.delete(work));
		underWay.add(work);
	};
	return {
		async ask(email) {
			if (!isAddress(email)) throw invalid('/email', '"email" must be an e-mail address, such as ada@example.com');
			start(email);
			await sleep(ANSWER_MS);
		},
		async close() {
			await Promise.all(underWay);
		},
	};
}

/** The rule of `POST /auth/forgot-password`, for requests from elsewhere. */
const isAddress = (email: string): boolean => emailAddress.required().validate(email, { convert: false }).error === undefined;

async function sendReset(email: string, { config, store, mail }: ResetParts): Promise<void> {
	const user = await store.accounts.byEmail(email);
	if (!user) return;
	const token = mintKey(PREFIX);
	const expiresAt = new Date(Date.now() + LIFETIME_MS);
	if (!(await store.accounts.addReset(user.id, { hash: hashKey(token), expiresAt, most: MOST_LIVE }))) return;
	// The mail goes to the registered address, which the requested one may only resemble.
	mail.send({ to: user.email, subject: 'Reset your password', text: letter(token, config) }, null);
}

/** Links use the configured addresses only: a forged Host must not lead anybody elsewhere. */
function letter(token: string, { frontendUrl, publicUrls }: Config): string {
	return `Somebody, probably you, asked to reset the password of your account.

To choose a new one, open this link within an hour:

${frontendUrl}/reset-password#token=${token}

Or send the same token, with a newPassword, to:

POST ${publicUrls[0]}/auth/reset-password

If it was not you, there is nothing to do: your password stays as it is.
`;
}
