// Cards as the bytes that are sent: anybody may ask for one, and to write and sign thousands of skills takes a while, so it is done once for each
// state of a gateway.

import { createHash } from 'node:crypto';
import { type JsonObject, SizedCache, withOwnMemory } from '../../../core/index.ts';
import { bytesOf, inPieces, PLAIN } from './turns.ts';

const MAX_BYTES = 64 * 1024 * 1024;

/** JSON as it is sent, with its entity tag. */
export class Document {
	readonly bytes: Buffer;
	readonly etag: string;

	constructor(bytes: Buffer, etag: string) {
		this.bytes = bytes;
		this.etag = etag;
	}
}

export async function written(value: JsonObject): Promise<Document> {
	const [hash, parts] = [createHash('sha256'), [] as Buffer[]];
	for await (const bytes of bytesOf(await inPieces(value, PLAIN))) {
		hash.update(bytes);
		parts.push(bytes);
	}
	return new Document(withOwnMemory(Buffer.concat(parts)), `"${hash.digest('base64url')}"`);
}

const kept = new SizedCache<Document>(MAX_BYTES);
/** Cards that are being written: others who ask for one of them wait for it. */
const writing = new Map<string, Promise<Document>>();
/** Numbers of lists, which stay the same objects until something in their gateway changes. */
const numbers = new WeakMap<readonly object[], number>();
let last = 0;

function numberOf(list: readonly object[]): number {
	const known = numbers.get(list) ?? ++last;
	numbers.set(list, known);
	return known;
}

interface DependsOn {
	/** Each is the same object as long as nothing in it changes. */
	lists: readonly (readonly object[])[];
	/** All else. */
	around: readonly unknown[];
}

/** Returns a card as it was written, or writes it. */
export async function writtenCard({ lists, around }: DependsOn, make: () => Promise<JsonObject>): Promise<Document> {
	const hash = createHash('sha256').update(JSON.stringify(around)).digest('base64url');
	const key = `${lists.map(numberOf).join()} ${hash}`;
	const known = kept.get(key) ?? writing.get(key);
	if (known) return known;
	const work = make().then(written);
	writing.set(key, work);
	try {
		const document = await work;
		kept.put(key, document, document.bytes.length);
		return document;
	} finally {
		writing.delete(key);
	}
}
