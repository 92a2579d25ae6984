// Pages of tools as the bytes that are sent: writing a thousand schemas takes tens of milliseconds, so it is done once for each state of a list.

import { isObject, type Json, type JsonObject, type Reply, SizedCache, TimeSlice, type Tool, withOwnMemory } from '../../core/index.ts';

const MAX_BYTES = 32 * 1024 * 1024;
/** The cost of an entry beside its bytes: a small page of a list that changes often must not fill memory by number. */
const ENTRY_BYTES = 512;
const PLACE = '"%written%"';

const pages = new SizedCache<Buffer>(MAX_BYTES);
/** Numbers of lists, which stay the same objects until something in their organization changes. */
const numbers = new WeakMap<readonly Tool[], number>();
let last = 0;

function numberOf(tools: readonly Tool[]): number {
	const known = numbers.get(tools) ?? ++last;
	numbers.set(tools, known);
	return known;
}

/** A list that was written already. Whatever else writes it as JSON gets the same. */
class WrittenList {
	readonly bytes: Buffer;

	constructor(bytes: Buffer) {
		this.bytes = bytes;
	}

	toJSON(): Json {
		return JSON.parse(this.bytes.toString()) as Json;
	}
}

/**
 * Returns a page as a member of a result.
 * @param page the tools that begin at `start` of `tools`
 * @param kind names how they are described
 */
export async function writtenPage(
	tools: readonly Tool[],
	{ start, page, kind, describe }: { start: number; page: readonly Tool[]; kind: string; describe(tool: Tool): Promise<JsonObject> },
): Promise<Json> {
	const key = `${kind} ${numberOf(tools)} ${start}`;
	const known = pages.get(key) ?? (await write(page, describe));
	pages.put(key, known, known.length + ENTRY_BYTES);
	// It is JSON when it is written, which is all that happens to it.
	return new WrittenList(known) as unknown as Json;
}

/** Writes in small steps: the large schemas of hundreds take a while. */
async function write(page: readonly Tool[], describe: (tool: Tool) => Promise<JsonObject>): Promise<Buffer> {
	const slice = new TimeSlice();
	const written: string[] = [];
	for (const tool of page) {
		written.push(JSON.stringify(await describe(tool)));
		if (slice.isOverNow) await slice.next();
	}
	return withOwnMemory(Buffer.from(`[${written.join()}]`));
}

/** The body of a message: its bytes where one member of its result is a list that was written already. */
export function bodyOf(message: JsonObject): { body: JsonObject | Buffer; headers?: NonNullable<Reply['headers']> } {
	const result = isObject(message['result']) ? message['result'] : {};
	const name = Object.keys(result).find((one) => (result[one] as unknown) instanceof WrittenList);
	if (name === undefined) return { body: message };
	const list = result[name];
	const around = JSON.stringify({ ...message, result: { ...result, [name]: '%written%' } });
	// The member is the only one of that name, and what is before it are the message's own members.
	const at = around.indexOf(`${JSON.stringify(name)}:${PLACE}`) + JSON.stringify(name).length + 1;
	const [before, after] = [around.slice(0, at), around.slice(at + PLACE.length)];
	const body = Buffer.concat([Buffer.from(before), (list as unknown as WrittenList).bytes, Buffer.from(after)]);
	return { body, headers: { 'content-type': 'application/json; charset=utf-8' } };
}
