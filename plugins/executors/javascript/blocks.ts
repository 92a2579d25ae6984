// Results that are content of their own: `{ content: [{ type: 'image', data, mimeType }, …] }` instead of data.

import { type ContentBlock, isObject, type Json, type JsonObject, type ToolResult } from '../../../core/index.ts';

const MEMBERS = ['content', 'structured', 'isError'];
/** A URI with its scheme (RFC 3986 §3.1). */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/;
const TYPE = /^[\w.+-]+\/[\w.+-]+(?:\s*;.*)?$/;
/** RFC 4648 §4. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

type Rule = readonly [is: (value: Json) => boolean, expected: string];

const matching = (pattern: RegExp, expected: string): Rule => [(value) => typeof value === 'string' && pattern.test(value), expected];
const TEXT: Rule = [(value) => typeof value === 'string', 'a string'];
const DATA = matching(BASE64, 'base64');
const MIME_TYPE = matching(TYPE, 'a media type, such as text/csv');
const SOME_URI = matching(URI, 'a URI');
const RESOURCE: Rule = [
	(value) =>
		isObject(value) && faultIn(value, { uri: SOME_URI }, INSIDE) === null && (value.text === undefined) !== (value.blob === undefined),
	'{ uri, mimeType?, and text or blob (base64) }',
];
const INSIDE = { mimeType: MIME_TYPE, text: TEXT, blob: DATA };

type Rules = Readonly<Record<string, Rule>>;

const BLOCKS: Readonly<Record<ContentBlock['type'], { needed: Rules; optional?: Rules }>> = {
	text: { needed: { text: TEXT } },
	image: { needed: { data: DATA, mimeType: matching(/^image\/[\w.+-]+$/, 'an image type, such as image/png') } },
	audio: { needed: { data: DATA, mimeType: matching(/^audio\/[\w.+-]+$/, 'an audio type, such as audio/wav') } },
	resource: { needed: { resource: RESOURCE } },
	resource_link: { needed: { uri: SOME_URI, name: TEXT }, optional: { mimeType: MIME_TYPE } },
};

/** Whether data is meant as content: it has such a list, with the type of a block in each item, and nothing that content does not have. */
export function isContent(data: Json | undefined): data is JsonObject & { content: JsonObject[] } {
	if (!isObject(data) || !Array.isArray(data.content) || data.content.length === 0) return false;
	return (
		Object.keys(data).every((name) => MEMBERS.includes(name)) &&
		data.content.every((block) => isObject(block) && typeof block.type === 'string')
	);
}

/** @returns the result, or the end of a sentence on the code's result that says what was expected */
export function readContent({ content, structured, isError }: JsonObject & { content: JsonObject[] }): ToolResult | string {
	for (const [index, block] of content.entries()) {
		const fault = blockFault(block);
		if (fault !== null) return `has a wrong block: content/${index}${fault}`;
	}
	if (isError !== undefined && typeof isError !== 'boolean') return 'has a wrong isError: it must be true or false';
	// Each block was checked.
	const blocks = content as unknown as ContentBlock[];
	return { content: blocks, ...(structured !== undefined && { structured }), ...(isError === true && { isError }) };
}

function blockFault(block: JsonObject): string | null {
	const type = String(block.type);
	if (!Object.hasOwn(BLOCKS, type)) return `/type must be one of ${Object.keys(BLOCKS).join(', ')}`;
	const { needed, optional = {} } = BLOCKS[type as ContentBlock['type']];
	return faultIn(block, needed, optional);
}

function faultIn(value: JsonObject, needed: Rules, optional: Rules): string | null {
	for (const [name, [is, expected]] of Object.entries({ ...needed, ...optional })) {
		const member = value[name];
		if (member === undefined ? !Object.hasOwn(needed, name) : is(member)) continue;
		return `/${name} must be ${expected}`;
	}
	return null;
}
