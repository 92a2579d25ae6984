// Documents about tools, which are written when a client has not got them yet. The same tools give the same bytes on every replica.

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { type Call, type Incoming, type JsonObject, knowsTag, type Reply, TimeSlice, type Tool, VERSION } from '../../core/index.ts';

export type Tools = readonly Readonly<Tool>[];

export interface Document {
	kind: string;
	/** The text before the tools, and the one after them. */
	head: string;
	tail: string;
	tools: Tools;
	/** Returns the part of one tool. */
	describe(tool: Readonly<Tool>): JsonObject;
	/** The member of an object that the tool is; absent where tools are items of a list. */
	nameOf?(tool: Readonly<Tool>): string;
}

/** Larger documents are sent while they are written. */
const MAX_HELD = 1024 * 1024;

/** Answers of callers; the copy for everybody may be kept for a minute. */
const PRIVATE = 'private, no-cache';
const PUBLIC = 'public, max-age=60';

/** Returns a digest of what the tools are: their versions change with every edit, and their names and descriptions are those of the gateway, their tags those of the API. */
export function digestOf(tools: Tools): Buffer {
	const hash = createHash('sha256');
	for (const { id, version, name, description, tags = [] } of tools) hash.update(JSON.stringify([id, version, name, description, ...tags]));
	return hash.digest();
}

export async function answer(document: Document, { headers, base }: Incoming, call: Call): Promise<Reply> {
	const { kind, head, tail, tools } = document;
	const isPublic = call.caller === null;
	const tag = createHash('sha256')
		.update(digestOf(tools))
		// Each tool is told with the way to log in.
		.update(JSON.stringify([VERSION, kind, base, head, tail, isPublic, call.admission()]))
		.digest('base64url');
	const own = { etag: `"${tag}"`, 'cache-control': isPublic ? PUBLIC : PRIVATE };
	if (knowsTag(headers['if-none-match'], own.etag)) return { status: 304, headers: own };
	const body = await begun(parts(document, call)[Symbol.asyncIterator]());
	return { status: 200, headers: { ...own, 'content-type': 'application/json' }, body };
}

async function* parts({ head, tail, tools, describe, nameOf }: Document, call: Call): AsyncGenerator<string, void, undefined> {
	const slice = new TimeSlice();
	yield head;
	let isFirst = true;
	for (const tool of tools) {
		const text = textOf(tool, describe, call);
		if (text === null) continue;
		yield (isFirst ? '' : ',') + (nameOf ? `${JSON.stringify(nameOf(tool))}:` : '') + text;
		isFirst = false;
		if (slice.isOverNow) await slice.next();
	}
	yield tail;
}

/** A tool that cannot be described is left out: the others do not depend on it. */
function textOf(tool: Readonly<Tool>, describe: Document['describe'], call: Call): string | null {
	try {
		return JSON.stringify(describe(tool));
	} catch (error) {
		call.log.warn({ tool: tool.id, error: String(error) }, 'a tool cannot be described');
		return null;
	}
}

async function begun(all: AsyncGenerator<string, void, undefined>): Promise<string | Readable> {
	let text = '';
	while (text.length <= MAX_HELD) {
		const { value, done } = await all.next();
		if (done) return text;
		text += value;
	}
	return Readable.from(following(text, all), { objectMode: false });
}

async function* following(text: string, all: AsyncGenerator<string, void, undefined>): AsyncGenerator<string, void, undefined> {
	yield text;
	yield* all;
}
