// Cuts a result to the bytes that its gateway or assignment allows, with a label that says so.

import type { ContentBlock, Json, JsonSchema, ToolResult } from '../contract/nouns.ts';
import type { KeptResult, ResultLink, RunResult } from '../contract/results.ts';
import { grouped } from '../kit/clean-text.ts';
import { cutJson } from '../kit/json-cut.ts';

const MAX_DEPTH = 128;
const MAX_NOTES = 10;

export interface Budget {
	maxBytes: number;
	/** The schema that the data has to fit after the cut, too; null: none. */
	schema: JsonSchema | null;
	/** Keeps the whole result; null when it could not be kept. Absent: the client has no way to get it. */
	keep?: { whole(result: ToolResult): Promise<KeptResult | null>; link: ResultLink };
}

/** Returns the result, or its beginning and a label where it has more bytes than it may. */
export async function withinBudget(result: ToolResult, { maxBytes, schema, keep }: Budget): Promise<RunResult> {
	const { content, structured, isError, ...rest } = result;
	const bytes = Math.max(bytesOf(content), structured === undefined ? 0 : Buffer.byteLength(JSON.stringify(structured)));
	if (bytes <= maxBytes) return result;
	const kept = keep ? await keep.whole(result) : null;
	const way = kept && keep ? keep.link(kept) : { how: 'Ask for less.' };
	const data = structured === undefined ? null : await cutData(structured, maxBytes, schema);
	// A client that was promised data refuses a result without it, unless it failed.
	const isBroken = data === null && schema !== null && structured !== undefined;
	const begun = data ? [textBlock(data.text)] : cutBlocks(content, maxBytes);
	const said = [`[Cut: the first ${grouped(bytesOf(begun))} of ${grouped(bytes)} bytes. ${way.how}]`, ...(data?.notes ?? [])];
	const label = isBroken
		? `${said.join('\n')}\nThe beginning alone would break the output schema, so this counts as a failed call.`
		: said.join('\n');
	return {
		...rest,
		content: [...begun, textBlock(label), ...(way.link ? [way.link] : [])],
		cut: label,
		...(data && { structured: data.structured }),
		...((isError || isBroken) && { isError: true }),
	};
}

const textBlock = (text: string): ContentBlock => ({ type: 'text', text });

const bytesOf = (content: readonly ContentBlock[]): number => content.reduce((sum, block) => sum + bytesOfBlock(block), 0);

function bytesOfBlock(block: ContentBlock): number {
	if (block.type === 'text') return Buffer.byteLength(block.text);
	if (block.type === 'resource') return Buffer.byteLength(block.resource.text ?? block.resource.blob ?? '');
	return block.type === 'resource_link' ? Buffer.byteLength(block.uri) : block.data.length;
}

/** Shortens lists and texts of the data; null where that cannot be done. */
async function cutData(data: Json, maxBytes: number, schema: JsonSchema | null) {
	const text = JSON.stringify(data);
	// Characters take up to three bytes: the share of this text is tried first, then less by what was too much (each mark of a cut has three
	// bytes), and then the least.
	const share = Math.floor((maxBytes * text.length) / Buffer.byteLength(text));
	const least = Math.floor(maxBytes / 3);
	let over = 0;
	for (const maxCharsOf of [() => share, () => share - over, () => least]) {
		const cut = await cutJson(text, { maxChars: maxCharsOf(), maxDepth: MAX_DEPTH, schema });
		over = cut === null ? share - least : Buffer.byteLength(cut.text) - maxBytes;
		if (cut === null || over > 0) continue;
		const more = cut.notes.length > MAX_NOTES ? [`… and ${cut.notes.length - MAX_NOTES} more.`] : [];
		return { text: cut.text, structured: JSON.parse(cut.text) as Json, notes: [...cut.notes.slice(0, MAX_NOTES), ...more] };
	}
	return null;
}

/** Returns the first blocks: the last of them may be the beginning of a text, while images and the like are whole or left out. */
function cutBlocks(content: readonly ContentBlock[], maxBytes: number): ContentBlock[] {
	const kept: ContentBlock[] = [];
	let left = maxBytes;
	for (const block of content) {
		const bytes = bytesOfBlock(block);
		if (bytes > left && block.type !== 'text') continue;
		if (bytes > left) return [...kept, textBlock(firstBytes(block.type === 'text' ? block.text : '', left))];
		kept.push(block);
		left -= bytes;
	}
	return kept;
}

/** Cuts between characters. */
function firstBytes(text: string, maxBytes: number): string {
	const bytes = new Uint8Array(maxBytes);
	const { read } = new TextEncoder().encodeInto(text, bytes);
	return text.slice(0, read);
}
