// Percent-encoded text of a query or a form: invalid UTF-8 is refused, where URLSearchParams would insert U+FFFD.
// Node's parser already refuses bytes in a query that are not encoded.

import { GatewayError } from '../contract/errors.ts';
import { escapeToken } from '../kit/json-pointer.ts';

/** Checks a query. @param target of the request line. @throws validation_failed naming the parameter */
export function assertQuery(target: string): void {
	const start = target.indexOf('?');
	if (start !== -1) assertDecodable(target.slice(start + 1), 'query');
}

/** The most fields of a form: a hundred thousand of them are read in a tenth of a second. Long lists are sent as JSON. */
const MAX_FIELDS = 10_000;

/** Parses a form. @param text a whole form. @throws validation_failed naming the field, or for too many of them */
export function parseForm(text: string): URLSearchParams {
	let fields = 1;
	for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) fields++;
	if (fields > MAX_FIELDS) throw faultAt('', `has more than ${MAX_FIELDS} fields.`);
	assertDecodable(text, '');
	return new URLSearchParams(text);
}

export function isDecodable(text: string): boolean {
	if (!text.includes('%')) return true;
	try {
		decodeURIComponent(text);
		return true;
	} catch {
		return false;
	}
}

function assertDecodable(text: string, at: 'query' | ''): void {
	if (isDecodable(text)) return;
	const pair = text.split('&').find((one) => !isDecodable(one)) ?? '';
	throw faultAt(`${at}/${nameOf(pair)}`, 'is not UTF-8 in percent-encoding.');
}

const faultAt = (path: string, message: string): GatewayError =>
	new GatewayError('validation_failed', `${path || 'The form'} ${message}`, { details: [{ path, message }] });

/** Returns the parameter's name as a token of a JSON pointer. */
function nameOf(pair: string): string {
	const [name = ''] = pair.split('=', 1);
	const text = (isDecodable(name) ? decodeURIComponent(name) : name).slice(0, 100).toWellFormed();
	return escapeToken(text).replaceAll('\0', '\\u0000');
}
