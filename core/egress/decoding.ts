// Decodes Content-Encoding, with the size limit applied at every layer: a few bytes can expand to many.

import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { GatewayError } from '../contract/errors.ts';
import { shown, tooLarge } from './errors.ts';
import type { RawAnswer } from './exchange.ts';

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const inflate: Decoder = promisify(zlib.inflate);
const inflateRaw: Decoder = promisify(zlib.inflateRaw);
const gunzip: Decoder = promisify(zlib.gunzip);

/** `deflate` is zlib's format by RFC 9110 §8.4.1.2; some servers send raw deflate, which the first byte shows. */
const undeflate: Decoder = (body, options) => ((body[0] ?? 0) % 16 === 8 ? inflate(body, options) : inflateRaw(body, options));

const DECODERS: Readonly<Record<string, Decoder>> = {
	gzip: gunzip,
	'x-gzip': gunzip,
	deflate: undeflate,
	br: promisify(zlib.brotliDecompress),
	zstd: promisify(zlib.zstdDecompress),
};

/** No legitimate server uses more layers. */
const MAX_CODINGS = 3;

/** Returns the codings of a body in the order in which they are undone. @throws upstream_failed for too many */
export function codingsOf(encoding: string | undefined, host: string): string[] {
	const codings = (encoding ?? '')
		.toLowerCase()
		.split(',')
		.map((coding) => coding.trim())
		.filter((coding) => coding !== '' && coding !== 'identity');
	if (codings.length > MAX_CODINGS) throw undecodable(host, encoding ?? '');
	return codings.reverse();
}

/** Leaves out the headers that describe the body as it was sent. */
export function decodedHeaders({ 'content-encoding': _encoding, 'content-length': _length, ...headers }: Record<string, string>) {
	return headers;
}

/** Decodes the body, with at most `maxBytes` at every layer. @throws upstream_failed */
export async function decoded(answer: RawAnswer, host: string, maxBytes: number): Promise<RawAnswer> {
	const encoding = answer.headers['content-encoding'];
	if (encoding === undefined || answer.body.length === 0) return answer;
	let body = answer.body;
	for (const coding of codingsOf(encoding, host)) body = await decodeLayer(coding, body, { host, maxBytes });
	return { status: answer.status, headers: decodedHeaders(answer.headers), body };
}

async function decodeLayer(coding: string, body: Buffer, { host, maxBytes }: { host: string; maxBytes: number }): Promise<Buffer> {
	const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
	if (!decoder) throw undecodable(host, coding);
	try {
		return await decoder(body, { maxOutputLength: maxBytes });
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(host, maxBytes);
		throw undecodable(host, coding, cause);
	}
}

export const undecodable = (host: string, coding: string, cause?: unknown): GatewayError =>
	new GatewayError('upstream_failed', `${shown(host)} answered with a body that does not decode as ${shown(coding)}.`, { cause });
