// The field of gateways that says which arguments and results the request log keeps.

import Joi from 'joi';
import { patternFault, shape } from '../../../core/features.ts';

const MAX_PATHS = 20;
const MAX_PATTERNS = 5;
const MAX_PATTERN_CHARS = 200;
/** Bounds the time to compile a pattern, and to run it. */
const MAX_INSTRUCTIONS = 300;
const MAX_BYTES = 8192;
/** A pointer of RFC 6901 that leads somewhere. */
const POINTER = /^(?:\/(?:[^/~]|~[01])*)+$/;

const paths = (path: Joi.Schema): Joi.ArraySchema =>
	Joi.array()
		.items(path)
		.description('JSON pointers, with `*` for any member or item, to what is hidden in arguments and in the data of results.')
		.example(['/customer/email', '/items/*/price']);

const patterns = (pattern: Joi.Schema): Joi.ArraySchema =>
	Joi.array()
		.items(pattern)
		.description('Patterns (RE2) of text that is hidden, wherever it stands. A payload for which they take too long is hidden as a whole.')
		.example(['\\b[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){3,7}\\b']);

const FIELDS = {
	arguments: Joi.boolean().description('Whether the arguments of tools are kept.'),
	results: Joi.boolean().description('Whether their results are.'),
	maxBytes: Joi.number().integer().description('The most bytes of either; longer ones are cut.'),
};

const pattern = Joi.string()
	.max(MAX_PATTERN_CHARS)
	.custom((value: string, helpers) => {
		const fault = patternFault(value, MAX_INSTRUCTIONS);
		return fault === null
			? value
			: helpers.message({ custom: `{{#label}} must be a pattern that RE2 can run: ${fault.replaceAll('{', '(')}` });
	});

const DESCRIPTION =
	'Arguments and results of tools that the request log keeps, for whoever may change the gateway; null: none. Members with the name of a secret, and text ' +
	'in the form of a credential, are hidden always. What was kept stays until its day of the log is dropped.';

export const givenPayloadLog = Joi.object({
	arguments: FIELDS.arguments.default(false),
	results: FIELDS.results.default(false),
	redactPaths: paths(Joi.string().max(MAX_PATTERN_CHARS).pattern(POINTER, 'a JSON pointer such as /customer/email'))
		.max(MAX_PATHS)
		.default([]),
	redactPatterns: patterns(pattern).max(MAX_PATTERNS).default([]),
	maxBytes: FIELDS.maxBytes.min(256).max(MAX_BYTES).default(4096),
})
	.allow(null)
	.description(DESCRIPTION);

export const shownPayloadLog = shape({ ...FIELDS, redactPaths: paths(Joi.string()), redactPatterns: patterns(Joi.string()) })
	.allow(null)
	.description(DESCRIPTION);
