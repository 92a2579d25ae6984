// Passwords: the rule, and bcrypt off the event loop with at most two hashes at once and a bounded number waiting.

import { hash, verify } from '@node-rs/bcrypt';
import Joi from 'joi';
import { GatewayError } from '../contract/errors.ts';
import { Semaphore } from '../kit/semaphore.ts';

const COST = 12;
const AT_ONCE = 2;
/** About 16 seconds of work: whoever comes later is told so at once, instead of waiting for what they will not wait for. */
const MOST_WAITING = 200;
const RETRY_SECONDS = 10;
/** Of 32 random bytes that nobody kept, at the same cost: made at each start it would take a quarter of a second. */
const NOBODY = '$2b$12$W4CuzZbTqABm8IRcPSf3i.GwM/6tED8QNKjTC/l9UWGBiQw/f4xfG';
/** bcrypt reads no further; two passwords must not be one. */
const MAX_BYTES = 72;

const fits = (password: string): boolean => Buffer.byteLength(password) <= MAX_BYTES;

/** A password that somebody says is theirs: nothing but what no password can be is a fault of the request. */
export const anyPassword = Joi.string()
	.min(1)
	.custom((value: string, helpers) => (fits(value) ? value : helpers.error('string.bytes')))
	.messages({ 'string.bytes': `{{#label}} must be at most ${MAX_BYTES} bytes long` });

/** Specification 4.1: 8 characters or more, with upper case, lower case and a digit. */
export const passwordRule = anyPassword
	.min(8)
	.pattern(/\p{Lu}/u, 'an upper-case letter')
	.pattern(/\p{Ll}/u, 'a lower-case letter')
	.pattern(/\d/, 'a digit')
	.messages({ 'string.pattern.name': '{{#label}} must contain {{#name}}' });

/** Either verb @throws rate_limited when too many wait */
export interface Passwords {
	hash(password: string): Promise<string>;
	/** With no hash (no such user) it takes as long and is false. */
	verify(password: string, stored: string | null): Promise<boolean>;
}

export function createPasswords(): Passwords {
	const turns = new Semaphore(AT_ONCE, MOST_WAITING, tooMany);
	return {
		hash: (password) => turns.run(() => hash(password, { cost: COST })),
		async verify(password, stored) {
			const matches = await turns.run(() => verify(password, stored ?? NOBODY));
			return matches && stored !== null && fits(password);
		},
	};
}

const tooMany = (): GatewayError =>
	new GatewayError('rate_limited', `Too many passwords are being checked. Retry after ${RETRY_SECONDS} seconds.`, {
		headers: { 'retry-after': String(RETRY_SECONDS) },
	});
