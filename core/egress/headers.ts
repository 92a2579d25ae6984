// Which request headers a user may name, and what they may hold: asked where a config is saved and again where it is sent.

import Joi from 'joi';

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** RFC 9110 §5.5: visible characters, space, tab and obs-text; so neither CR, LF nor NUL. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** They frame the message or name its receiver: whoever sets them can smuggle a second request. */
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

/** What is wrong with a header's name, as the rest of a sentence; null when nothing is. */
export function headerNameFault(name: string): string | null {
	if (!TOKEN.test(name)) return 'is not a header name (RFC 9110, section 5.1)';
	if (RESERVED.has(name.toLowerCase())) return 'is set by the gateway itself and cannot be given';
	return null;
}

/** What is wrong with a header's value, as the rest of a sentence; null when nothing is. */
export function headerValueFault(value: string): string | null {
	return VALUE.test(value) ? null : 'must be text of one line without control characters or characters above U+00FF';
}

const SECRET_NAME = /authorization|cookie|token|secret|password|api[-_]?key/i;

/** Whether a header's name says that its value is a secret. */
export const holdsSecret = (name: string): boolean => SECRET_NAME.test(name);

/** Of a config: request headers by name. Those whose names say so are secret: sealed at rest, and never read back. */
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

/** As a value of the template: `{…}` in the text itself would be evaluated. */
const wrong = (helpers: Joi.CustomHelpers, text: string): Joi.ErrorReport => helpers.message({ custom: '{{#label}} {{#text}}' }, { text });
