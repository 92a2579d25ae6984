// Public cards as the texts that are sent: anybody may ask for one, and to write and sign thousands of skills takes a while, so it is done once for each
// state of a gateway.

import { createHash } from 'node:crypto';
import { SizedCache, type Tool } from '../../../core/index.ts';

const MAX_BYTES = 64 * 1024 * 1024;
/** A text takes up to two bytes for each character. */
const CHAR_BYTES = 2;

/** A document with its entity tag. */
export interface Document {
	text: string;
	etag: string;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

export const tagged = (text: string): Document => ({ text, etag: `"${hashOf(text)}"` });

const kept = new SizedCache<Document>(MAX_BYTES);
/** Cards that are being written: others who ask for one of them wait for it. */
const writing = new Map<string, Promise<Document>>();
/** Numbers of lists, which stay the same objects until something in their gateway changes. */
const numbers = new WeakMap<readonly Readonly<Tool>[], number>();
let last = 0;

function numberOf(tools: readonly Readonly<Tool>[]): number {
	const known = numbers.get(tools) ?? ++last;
	numbers.set(tools, known);
	return known;
}

/** Returns a card as it was written, or writes it. @param around all else that the card depends on */
export async function writtenCard(
	tools: readonly Readonly<Tool>[],
	around: readonly unknown[],
	write: () => Promise<string>,
): Promise<Document> {
	const key = `${numberOf(tools)} ${hashOf(JSON.stringify(around))}`;
	const known = kept.get(key) ?? writing.get(key);
	if (known) return known;
	const written = write().then(tagged);
	writing.set(key, written);
	try {
		const document = await written;
		kept.put(key, document, document.text.length * CHAR_BYTES);
		return document;
	} finally {
		writing.delete(key);
	}
}
