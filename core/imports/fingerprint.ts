// The digest of a document, and the fingerprint of a description: what an importer makes of it, unless it fetches more, depends on nothing else.

import { createHash } from 'node:crypto';
import type { SchemaSource } from '../contract/nouns.ts';
import type { ImportResult, ImportTask } from './worker-messages.ts';

export type Measured = Pick<ImportResult, 'sizeBytes' | 'sha256'>;

/** Measures a source. Several files are hashed with their paths and lengths, so that no two sets of files are alike. */
export function measure({ text, files }: SchemaSource, bytes: Buffer = Buffer.from(text)): Measured {
	const hash = createHash('sha256');
	if (files.size === 0) return { sizeBytes: bytes.length, sha256: hash.update(bytes).digest('hex') };
	let sizeBytes = 0;
	for (const [path, content] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
		hash.update(JSON.stringify([path, content.byteLength])).update(content);
		sizeBytes += content.byteLength;
	}
	return { sizeBytes, sha256: hash.digest('hex') };
}

/** Returns the digest of a document with its origin. */
export const digestOf = ({ url, path }: SchemaSource, { sizeBytes, sha256 }: Measured): string => hashOf([url, path, sizeBytes, sha256]);

/**
 * Returns the fingerprint of a description that one process imports: it does not tell of the version of the importer's code.
 * @param options as the importer has parsed them: they may hold a secret, so only a hash of them leaves the worker
 */
export const fingerprintOf = ({ type, sources, operator }: ImportTask, digest: string, options: unknown): string =>
	hashOf([type, sources[type] ?? null, operator ?? null, digest, options]);

const hashOf = (parts: unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');
