// Rules for the names and values of request headers that users set: checked when a config is saved and again when it is sent.

import Joi from 'joi';

/** A header name by RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** A header value by RFC 9110 §5.5: visible characters, space, tab and obs-text; so neither CR, LF nor NUL. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that frame the message or name its receiver: with them a second request could be smuggled. */
const RESERVED: ReadonlySet<string> = new Set([
	'connection',
	'content-length',
	'expect',
	'host',
	'http2-settings',
	'keep-alive',
	'proxy-connection',
	'te',
	'trailer',
	'transfer-encoding',
	'upgrade',
]);

/** Returns the fault of a header's name, as the end of a sentence; null if there is none. */
export function headerNameFault(name: string): string | null {
	if (!TOKEN.test(name)) return 'is not a header name (RFC 9110, section 5.1)';
	if (RESERVED.has(name.toLowerCase())) return 'is set by the gateway itself and cannot be given';
	return null;
}

/** Returns the fault of a header's value, as the end of a sentence; null if there is none. */
export function headerValueFault(value: string): string | null {
	return VALUE.test(value) ? null : 'must be text of one line without control characters or characters above U+00FF';
}

const SECRET_NAME = /authorization|cookie|token|secret|password|api[-_]?key/i;

/** Whether a header's name indicates that its value is a secret. */
export const holdsSecret = (name: string): boolean => SECRET_NAME.test(name);

/** The schema of request headers by name in a config. Headers with secret names are sealed at rest, and never shown again. */
export const headerRules: Joi.ObjectSchema<Record<string, string>> = Joi.object()
	.pattern(/./, Joi.string().allow('').max(8192).custom(checkValue))
	.custom(checkNames)
	.meta({ secretMembers: holdsSecret });

function checkNames(headers: Record<string, string>, helpers: Joi.CustomHelpers): Record<string, string> | Joi.ErrorReport {
	const name = Object.keys(headers).find((one) => headerNameFault(one) !== null);
	return name === undefined ? headers : wrong(helpers, `names ${JSON.stringify(name)}, which ${headerNameFault(name)}`);
}

function checkValue(value: string, helpers: Joi.CustomHelpers): string | Joi.ErrorReport {
	const fault = headerValueFault(value);
	return fault === null ? value : wrong(helpers, fault);
}

/** Builds a fault with the text as a value of the template: `{…}` in the text itself would be evaluated. */
const wrong = (helpers: Joi.CustomHelpers, text: string): Joi.ErrorReport => helpers.message({ custom: '{{#label}} {{#text}}' }, { text });
