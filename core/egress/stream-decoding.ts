// Decodes the content codings of a body while it arrives, with the size limit applied at every layer.

import { pipeline, type Transform } from 'node:stream';
import zlib from 'node:zlib';
import { undecodable } from './decoding.ts';
import { tooLarge } from './errors.ts';

const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = zlib.constants;

/** Every part is decoded as soon as it arrives; a truncated body is an error. */
const EAGER = { flush: Z_SYNC_FLUSH };

const DECODERS: Readonly<Record<string, (first: Uint8Array) => Transform>> = {
	gzip: () => zlib.createGunzip(EAGER),
	'x-gzip': () => zlib.createGunzip(EAGER),
	// The first byte tells zlib's format from raw deflate, see decoding.ts.
	deflate: ([first = 0]) => (first % 16 === 8 ? zlib.createInflate(EAGER) : zlib.createInflateRaw(EAGER)),
	br: () => zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH }),
	zstd: () => zlib.createZstdDecompress({ flush: ZSTD_e_flush }),
};

interface DecodingBounds {
	host: string;
	maxBytes: number;
}

type Bytes = AsyncIterator<Uint8Array, undefined>;

/** @param codings in the order in which they are undone. @throws upstream_failed */
export function decodedStream(source: Bytes, codings: readonly string[], around: DecodingBounds): Bytes {
	for (const coding of codings) if (!Object.hasOwn(DECODERS, coding)) throw undecodable(around.host, coding);
	return codings.reduce((bytes, coding) => decodeLayer(coding, bytes, around), source);
}

async function* decodeLayer(coding: string, source: Bytes, { host, maxBytes }: DecodingBounds): AsyncGenerator<Uint8Array, undefined> {
	const first = await source.next();
	if (first.done) return;
	const known: { error?: unknown } = {};
	// `decodedStream` has checked that there is one.
	const decoder = DECODERS[coding]?.(first.value) as Transform;
	pipeline(rest(first.value, source, known), decoder, () => undefined);
	let sizeBytes = 0;
	try {
		for await (const piece of decoder) {
			sizeBytes += piece.length;
			if (sizeBytes > maxBytes) break;
			yield piece;
		}
	} catch (error) {
		throw error === known.error ? error : undecodable(host, coding, error);
	} finally {
		decoder.destroy();
	}
	if (sizeBytes > maxBytes) throw tooLarge(host, maxBytes);
}

/** Yields what a source has left, and notes the error with which it fails. */
async function* rest(first: Uint8Array, source: Bytes, known: { error?: unknown }): AsyncGenerator<Uint8Array> {
	yield first;
	try {
		for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
	} catch (error) {
		known.error = error;
		throw error;
	}
}
