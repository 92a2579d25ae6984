// Passwords: the rule for new ones, and bcrypt off the event loop with at most two hashes at once and a bounded queue.

import { hash, verify } from '@node-rs/bcrypt';
import Joi from 'joi';
import { GatewayError } from '../contract/errors.ts';
import { Semaphore } from '../kit/semaphore.ts';

const COST = 12;
const AT_ONCE = 2;
/** About 16 seconds of work: further requests are refused at once, since no client would wait that long. */
const MOST_WAITING = 200;
const RETRY_SECONDS = 10;
/** Returns a hash of 32 random bytes that were not kept, at the same cost. Hashing at each start would take a quarter of a second. */
const nobodyAt = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$W4CuzZbTqABm8IRcPSf3i.GwM/6tED8QNKjTC/l9UWGBiQw/f4xfG`;
/** bcrypt ignores further bytes; two different passwords must not match the same hash. */
const MAX_BYTES = 72;

const fits = (password: string): boolean => Buffer.byteLength(password) <= MAX_BYTES;

/** A password entered at login: only what cannot be a password at all is a fault of the request. */
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

/** Hashes and checks passwords. Both methods @throws rate_limited when the queue is full */
export interface Passwords {
	hash(password: string): Promise<string>;
	/** Compares a password with a hash. With no hash (no such user) it takes the same time and returns false. */
	verify(password: string, stored: string | null): Promise<boolean>;
}

/** @param cost of bcrypt: each step more doubles the work */
export function createPasswords(cost = COST): Passwords {
	const nobody = nobodyAt(cost);
	const slots = new Semaphore(AT_ONCE, MOST_WAITING, tooMany);
	return {
		hash: (password) => slots.run(() => hash(password, { cost })),
		async verify(password, stored) {
			const matches = await slots.run(() => verify(password, stored ?? nobody));
			return matches && stored !== null && fits(password);
		},
	};
}

const tooMany = (): GatewayError =>
	new GatewayError('rate_limited', `Too many passwords are being checked. Retry after ${RETRY_SECONDS} seconds.`, {
		headers: { 'retry-after': String(RETRY_SECONDS) },
	});
