// Content codings of requests' bodies (RFC 9110 §8.4): only those that a route takes, and inflated within its bound.

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { GatewayError } from '../contract/errors.ts';

export type Coding = 'gzip';

const inflate = promisify(gunzip);

/**
 * Returns the coding of a body. "A recipient SHOULD consider "x-gzip" to be equivalent to "gzip"" (§8.4.1.3).
 * @throws unsupported_media_type, with the codings that would be taken (§15.5.16)
 */
export function codingOf(header: string | undefined, taken: readonly Coding[] = []): Coding | null {
	if (header === undefined) return null;
	const name = header.trim().toLowerCase();
	if (name === 'identity') return null;
	const coding = taken.find((one) => one === name || `x-${one}` === name);
	if (coding) return coding;
	const others = taken.length === 0 ? 'send the body without it' : `send the body with ${taken.join(' or ')}, or without`;
	throw new GatewayError('unsupported_media_type', `Content-Encoding "${header.slice(0, 40)}" is not supported; ${others}.`, {
		headers: { 'accept-encoding': taken.length === 0 ? 'identity' : taken.join(', ') },
	});
}

/** Inflates a body on another thread, in pieces, and stops at the bound. @throws payload_too_large, validation_failed */
export async function inflated(body: Buffer, maxBytes: number): Promise<Buffer> {
	try {
		return await inflate(body, { maxOutputLength: maxBytes });
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
		const message = 'The body is not gzip, as its Content-Encoding says, or it is not complete.';
		throw new GatewayError('validation_failed', message, { cause, details: [{ path: '', message }] });
	}
}

export const tooLarge = (maxBytes: number): GatewayError =>
	new GatewayError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);
