// What Joi says of an input, as ours: where by JSON pointer (RFC 6901), and why without the value, which may be a secret.

import type { ErrorDetail } from './errors.ts';

/** Of Joi's own sentences these alone show the value. The name of a pattern goes on after "must be". */
export const SENTENCES = {
	'string.pattern.name': '{{#label}} must be {{#name}}',
	'string.pattern.base': '{{#label}} must match the pattern {{#regex}}',
} as const;

interface Fault {
	path: readonly (string | number)[];
	message: string;
}

/** @param at where the input begins: a pointer into the body, or `query`, `path`, `header` */
export const detailsOf = (faults: readonly Fault[], at = ''): ErrorDetail[] =>
	faults.map(({ path, message }) => ({ path: at + path.map((step) => `/${token(String(step))}`).join(''), message }));

const token = (name: string): string => name.slice(0, 200).replaceAll('~', '~0').replaceAll('/', '~1');
