// Percent-encoded text of a query or a form: invalid UTF-8 is refused, where URLSearchParams would insert U+FFFD.
// Node's parser already refuses bytes in a query that are not encoded.

import { GatewayError } from '../contract/errors.ts';
import { escapeToken } from '../kit/json-pointer.ts';

/** Checks a query. @param target of the request line. @throws validation_failed naming the parameter */
export function assertQuery(target: string): void {
	const start = target.indexOf('?');
	if (start !== -1) assertDecodable(target.slice(start + 1), 'query');
}

/** Parses a form. @param text a whole form. @throws validation_failed naming the field */
export function parseForm(text: string): URLSearchParams {
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
	const path = `${at}/${nameOf(pair)}`;
	const message = 'is not UTF-8 in percent-encoding.';
	throw new GatewayError('validation_failed', `${path} ${message}`, { details: [{ path, message }] });
}

/** Returns the parameter's name as a token of a JSON pointer. */
function nameOf(pair: string): string {
	const [name = ''] = pair.split('=', 1);
	const text = (isDecodable(name) ? decodeURIComponent(name) : name).slice(0, 100).toWellFormed();
	return escapeToken(text).replaceAll('\0', '\\u0000');
}
