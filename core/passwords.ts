// Passwords: the rule, and bcrypt off the event loop with at most two hashes at once.

import { hash, verify } from '@node-rs/bcrypt';
import Joi from 'joi';

const COST = 12;
const AT_ONCE = 2;
/** bcrypt reads no further; two passwords must not be one. */
const MAX_BYTES = 72;

/** Specification 4.1: 8 characters or more, with upper case, lower case and a digit. */
export const passwordRule = Joi.string()
	.min(8)
	.pattern(/\p{Lu}/u, 'an upper-case letter')
	.pattern(/\p{Ll}/u, 'a lower-case letter')
	.pattern(/\d/, 'a digit')
	.custom((value: string, helpers) => (Buffer.byteLength(value) > MAX_BYTES ? helpers.error('string.bytes') : value))
	.messages({
		'string.bytes': `{{#label}} must be at most ${MAX_BYTES} bytes long`,
		'string.pattern.name': '{{#label}} must contain {{#name}}',
	});

export interface Passwords {
	hash(password: string): Promise<string>;
	/** With no hash (no such user) it takes as long and is false. */
	verify(password: string, stored: string | null): Promise<boolean>;
}

export function createPasswords(): Passwords {
	const inTurn = limitTo(AT_ONCE);
	const nobody = inTurn(() => hash('nobody has this password', { cost: COST }));
	return {
		hash: (password) => inTurn(() => hash(password, { cost: COST })),
		async verify(password, stored) {
			const against = stored ?? (await nobody);
			const matches = await inTurn(() => verify(password, against));
			return matches && stored !== null;
		},
	};
}

function limitTo(most: number): <T>(work: () => Promise<T>) => Promise<T> {
	let running = 0;
	const waiting: (() => void)[] = [];
	return async (work) => {
		if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
		else running++;
		try {
			return await work();
		} finally {
			const next = waiting.shift();
			if (next) next();
			else running--;
		}
	};
}
