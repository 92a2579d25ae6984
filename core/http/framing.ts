// Refuses requests that Node's parser accepts although client and server may disagree about their end or their host.

import type { Request } from '@hapi/hapi';
import { GatewayError } from '../contract/errors.ts';

/** A host by RFC 3986 §3.2.2 and §3.2.3; empty if the target has no authority. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(:\d{0,5})?$/;

/** Checks what Node's parser accepts. @throws validation_failed, not_implemented */
export function assertWellFormed({ raw: { req }, path }: Request): void {
	const { httpVersion, headers } = req;
	const transfer = headers['transfer-encoding'];
	if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
		throw new GatewayError('not_implemented', 'Transfer-Encoding must be chunked.', { headers: { connection: 'close' } });
	}
	if (httpVersion !== '1.1' && httpVersion !== '1.0') throw broken('The version must be HTTP/1.1 or HTTP/1.0.');
	// RFC 9112 §3.2: "A server MUST respond with a 400 (Bad Request) status code to any HTTP/1.1 request message that lacks a Host
	// header field and to any request message that contains more than one Host header field line or a Host header field with an
	// invalid field value."
	if (headers.host === undefined ? httpVersion === '1.1' : !HOST.test(headers.host)) {
		throw broken('There must be one Host header, with a valid host.');
	}
	// The target `*` is for OPTIONS only.
	if (path?.startsWith('/') === false && req.method !== 'OPTIONS') throw broken('The target must be a path.');
}

/** Builds an error that closes the connection: the end of the request is uncertain, so nothing after it can be read. */
export const broken = (message: string): GatewayError =>
	new GatewayError('validation_failed', message, { headers: { connection: 'close' } });
