// The result of a tool as clients get it: data as JSON, a text as text, a file as its bytes.

import { type ContentBlock, isTextType, type Json, type JsonObject, mediaTypeOf, type Reply, type ToolResult } from '../../core/index.ts';

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;
const BYTES = 'application/octet-stream';

/** The texts of a result. */
export const textOf = ({ content }: Pick<ToolResult, 'content'>): string =>
	content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

/** Says beside data what was cut of it. */
const NOTES_HEADER = 'x-result-notes';
const MAX_NOTES_CHARS = 1000;

/** Returns what a result with data says about it, such as what was cut: its texts behind the first, which is the data. */
export const notesOf = ({ content, structured }: Pick<ToolResult, 'content' | 'structured'>): string[] =>
	structured === undefined ? [] : content.slice(1).flatMap((block) => (block.type === 'text' ? [block.text] : []));

/** Answers with the result alone. */
export function rawReply({ content, structured }: ToolResult): Reply {
	if (structured !== undefined) return withNotes(json(structured), notesOf({ content, structured }));
	if (content.every(({ type }) => type === 'text')) return { status: 200, body: textOf({ content }) };
	const [only, ...others] = content;
	const file = only && others.length === 0 ? fileOf(only) : null;
	return file ?? json({ content: content as Json[] });
}

function withNotes(reply: Reply, notes: readonly string[]): Reply {
	if (notes.length === 0) return reply;
	const line = notes
		.join(' ')
		.replaceAll(/\s+/g, ' ')
		.replaceAll(/[^\x20-\x7e]/g, '?')
		.slice(0, MAX_NOTES_CHARS);
	return { ...reply, headers: { ...reply.headers, [NOTES_HEADER]: line } };
}

const json = (value: Json): Reply => ({ status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) });

/** Returns a block that is a file; null for any other. A page of somebody else must not run under the address of the gateway. */
function fileOf(block: ContentBlock): Reply | null {
	if (block.type === 'image' || block.type === 'audio') return file(block.mimeType, Buffer.from(block.data, 'base64'));
	if (block.type !== 'resource') return null;
	const { mimeType = '', blob, text } = block.resource;
	if (blob !== undefined) return file(mimeType, Buffer.from(blob, 'base64'));
	return text === undefined ? null : file(mimeType === '' ? 'text/plain' : mimeType, Buffer.from(text));
}

function file(type: string, body: Buffer): Reply {
	const named = mediaTypeOf(type);
	const own = MEDIA_TYPE.test(named) ? named : BYTES;
	const headers = {
		...{ 'content-type': isTextType(own) ? `${own}; charset=utf-8` : own, 'content-disposition': 'attachment' },
		'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
	};
	return { status: 200, headers, body };
}

/** The result as a member of an envelope. */
export function plainResult({ content, structured }: ToolResult): Json {
	if (structured !== undefined) return structured;
	return content.every(({ type }) => type === 'text') ? textOf({ content }) : { content: content as Json[] };
}

export const envelope = (result: ToolResult, metadata: JsonObject): Reply => json({ result: plainResult(result), metadata });
