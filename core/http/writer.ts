// Sends the answers of gateways: headers and body in one write. It does what hapi does with a response of its own, header by header; a test
// compares the two.

import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { createDeflate, createGzip } from 'node:zlib';
import type { Request } from '@hapi/hapi';
import { atTurnEnd } from '../process/turn-end.ts';
import type { Answer, AnswerHeaders } from './answer.ts';
import { knowsTag } from './conditions.ts';

/** Smaller bodies are not compressed. */
const MIN_COMPRESSED_BYTES = 1024;
const COMPRESSORS = { gzip: createGzip, deflate: createDeflate } as const;
type Encoding = keyof typeof COMPRESSORS;
/** The types whose charset is named when the answer does not name one. */
const TEXTUAL = /^(?:text\/)|(?:application\/(?:json)|(?:javascript))/;

/** Sends an answer. One to a client that has left sends nothing. @throws TypeError for what cannot be sent, before anything was sent */
export function writeAnswer(request: Request, answer: Answer): void {
	const { res } = request.raw;
	const { headers, body } = answer;
	if (res.closed || res.destroyed) return void drop(body);
	if (body instanceof Readable && body.readableObjectMode) throw new TypeError('A stream of objects cannot be sent.');
	nameType(headers, body);
	const status = isUnmodified(request, headers) ? 304 : answer.status;
	headers['cache-control'] ??= 'no-cache';
	const hasBody = status !== 204 && status !== 304;
	const bytes = hasBody && !(body instanceof Readable) ? lengthOf(body) : null;
	const encoding = encodingOf(request, headers, bytes);
	const compressor = encoding && hasBody && request.method !== 'head' ? encoding : null;
	if (compressor) headers['content-encoding'] = compressor;
	else if (bytes !== null) headers['content-length'] = String(bytes);
	if (isLast(request)) headers['connection'] = 'close';
	res.writeHead(status, headers);
	if (!hasBody || request.method === 'head') {
		drop(body);
		end(res, null, 0);
	} else if (compressor) pipe(compressed(body, compressor), res);
	else if (body instanceof Readable) pipe(body, res);
	else end(res, body, bytes);
}

/** Sends headers and body, with all other answers of this turn. @param bytes of the body */
function end(res: ServerResponse, body: string | Buffer | null, bytes: number | null): void {
	atTurnEnd(() => {
		// The client may have left meanwhile.
		if (res.destroyed) return;
		// Text of ASCII alone needs no conversion.
		if (typeof body === 'string' && bytes === body.length) res.end(body, 'latin1');
		else res.end(body ?? '');
	});
}

function nameType(headers: AnswerHeaders, body: Answer['body']): void {
	const named = headers['content-type'];
	if (named === undefined) {
		if (typeof body === 'string') headers['content-type'] = 'text/html; charset=utf-8';
		else if (body !== null) headers['content-type'] = 'application/octet-stream';
		return;
	}
	const type = String(named).trim();
	if (!TEXTUAL.test(type) || /; *charset=/.test(type)) headers['content-type'] = type;
	else headers['content-type'] = `${type}${type.endsWith(';') ? ' ' : '; '}charset=utf-8`;
}

const lengthOf = (body: string | Buffer | null): number => (typeof body === 'string' ? Buffer.byteLength(body) : (body?.length ?? 0));

/** RFC 9110 §13.1.2 and §13.1.3; an ETag decides alone. */
function isUnmodified({ method, raw: { req } }: Request, { etag, 'last-modified': modified }: AnswerHeaders): boolean {
	if (method !== 'get' && method !== 'head') return false;
	const { 'if-none-match': tags, 'if-modified-since': since } = req.headers;
	if (etag !== undefined && tags) return knowsTag(tags, String(etag));
	return modified !== undefined && since !== undefined && Date.parse(since) >= Date.parse(String(modified));
}

/** Returns the coding that client and type allow, and says in `Vary` that the answer depends on the client. */
function encodingOf({ server, info }: Request, headers: AnswerHeaders, bytes: number | null): Encoding | null {
	if (bytes !== null && bytes < MIN_COMPRESSED_BYTES) return null;
	const { compressible } = server.mime.type(String(headers['content-type'] ?? 'application/octet-stream')) as { compressible?: boolean };
	if (!compressible) return null;
	vary(headers, 'accept-encoding');
	const { acceptEncoding } = info as { acceptEncoding?: string };
	return headers['content-encoding'] === undefined && acceptEncoding && acceptEncoding in COMPRESSORS ? (acceptEncoding as Encoding) : null;
}

function vary(headers: AnswerHeaders, name: string): void {
	const now = headers['vary'];
	if (now === undefined || now === '') headers['vary'] = name;
	else if (now !== '*' && !String(now).split(',').includes(name)) headers['vary'] = `${now},${name}`;
}

/** Whether no further request is read from the connection: the service stops, or the request was not read to its end. */
function isLast(request: Request): boolean {
	const { req } = request.raw;
	// hapi's types lack it.
	if ((request as { isInjected?: boolean }).isInjected) return false;
	if (!request.server.info.started) return true;
	const { 'content-length': length, 'transfer-encoding': transfer } = req.headers;
	return (length !== undefined || transfer !== undefined) && !req.complete;
}

function compressed(body: Answer['body'], encoding: Encoding): Readable {
	const compressor = COMPRESSORS[encoding]();
	if (!(body instanceof Readable)) {
		compressor.end(body ?? '');
		return compressor;
	}
	body.on('error', (error) => compressor.destroy(error));
	body.once('close', () => body.readableEnded || compressor.destroy());
	compressor.once('close', () => body.destroy());
	return body.pipe(compressor);
}

/** A source that fails breaks the connection off, so that nobody takes a part for the whole. */
function pipe(body: Readable, res: ServerResponse): void {
	body.on('error', () => res.writableEnded || res.destroy());
	body.once('close', () => res.writableEnded || res.end());
	res.on('error', () => body.destroy());
	res.once('close', () => body.destroy());
	body.pipe(res);
}

/** Ends the stream of an answer that nobody receives. */
function drop(body: Answer['body']): void {
	if (body instanceof Readable) body.on('error', () => undefined).destroy();
}
