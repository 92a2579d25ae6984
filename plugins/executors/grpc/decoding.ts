// Turns answers into JSON texts: small ones on this thread, larger ones on a worker thread, so that they do not block the event loop.

import { ANY_FIELDS } from './any.ts';
import type { Codec } from './codec.ts';
import { detailsIn } from './details.ts';
import { type CodecSource, type Owner, runTask, sourceIn } from './thread.ts';

/** Most bytes decoded on this thread. */
const MAX_HERE_BYTES = 32 * 1024;
/** Most fields of messages that these bytes may become, a message itself being one: 10 ms of work. */
const MAX_HERE_FIELDS = 40_000;
/** Most characters that these bytes may become, if every byte stands for the longest name: also up to 10 ms. */
const MAX_HERE_CHARS = 2 * 1024 * 1024;

type Sizes = Pick<Codec, 'longestNameChars' | 'mostFields'>;

/** Tells whether messages may be decoded on this thread. Two bytes may be a message, which is made with all of its fields. */
export function isSmall(messages: readonly Uint8Array[], { longestNameChars, mostFields }: Sizes): boolean {
	const sizeBytes = messages.reduce((sum, { length }) => sum + length, 0);
	const mostMessages = messages.length + sizeBytes / 2;
	return (
		sizeBytes <= MAX_HERE_BYTES && mostMessages * (1 + mostFields) <= MAX_HERE_FIELDS && sizeBytes * longestNameChars <= MAX_HERE_CHARS
	);
}

/** @returns the JSON of each message. @throws upstream_failed if they are not of the method's type, or too large; like `runTask` */
export async function decodeAll(messages: readonly Buffer[], codec: Codec, source: CodecSource, owner: Owner): Promise<string[]> {
	if (isSmall(messages, codec)) return messages.map((bytes) => JSON.stringify(codec.decode(bytes)));
	return (await runTask({ type: 'decode', source: sourceIn(source), messages }, owner)).texts;
}

/** Reads the details of a status; those that take too long to be read are left out. @throws the reason of the call's signal */
export async function decodeDetails(bytes: Buffer, codec: Codec, source: CodecSource, owner: Owner): Promise<string[]> {
	const mostFields = Math.max(codec.mostFields, ANY_FIELDS);
	if (isSmall([bytes], { ...codec, mostFields })) return detailsIn(bytes, codec.types);
	try {
		return (await runTask({ type: 'details', source: sourceIn(source), messages: [bytes] }, owner)).texts;
	} catch {
		owner.signal.throwIfAborted();
		return [];
	}
}
