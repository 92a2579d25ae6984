// What Joi says of an input, as ours: where by JSON pointer (RFC 6901), and why without the value, which may be a secret.

import type { ErrorDetail } from '../contract/errors.ts';
import { pointerToken } from './json-pointer.ts';

/** Of Joi's own sentences these alone show the value. The name of a pattern goes on after "must be". */
export const SENTENCES = {
	'string.pattern.name': '{{#label}} must be {{#name}}',
	'string.pattern.base': '{{#label}} must match the pattern {{#regex}}',
} as const;

/** Longer names of members are cut. */
const MAX_STEP = 200;

interface Fault {
	path: readonly (string | number)[];
	message: string;
}

/** @param at where the input begins: a pointer into the body, or `query`, `path`, `header` */
export const detailsOf = (faults: readonly Fault[], at = ''): ErrorDetail[] =>
	faults.map(({ path, message }) => ({ path: at + path.map((step) => `/${pointerToken(String(step), MAX_STEP)}`).join(''), message }));
