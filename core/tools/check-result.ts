// Checks what executors return: the blocks of a result, its data and its size, and the request that a preview shows.

import { PluginFault } from '../contract/errors.ts';
import type { ContentBlock, Json, JsonObject, ToolResult } from '../contract/nouns.ts';
import { isObject, measureJson } from '../kit/json.ts';

/** The most characters of a result's content and data together: 16 Mi. */
export const MAX_RESULT_CHARS = 16 * 1024 * 1024;
const MAX_PREVIEW_CHARS = 1024 * 1024;
const MAX_LOG_LINES = 1000;
const MAX_LOG_CHARS = 256 * 1024;

type Shape = Readonly<Record<string, 'string' | 'optional'>>;

/** The members of each kind of block that a client relies on; others are passed on. */
const BLOCKS: Readonly<Record<string, Shape>> = {
	text: { text: 'string' },
	image: { data: 'string', mimeType: 'string' },
	audio: { data: 'string', mimeType: 'string' },
	resource: {},
	resource_link: { uri: 'string', name: 'string', mimeType: 'optional' },
};
const RESOURCE: Shape = { uri: 'string', mimeType: 'optional', text: 'optional', blob: 'optional' };

/**
 * Returns the result without members that it does not have by contract; null when it is larger than `MAX_RESULT_CHARS`.
 * @param plugin `kind:name`. @throws PluginFault
 */
export function checkResult(plugin: string, value: unknown, hook = 'execute'): ToolResult | null {
	const wrong = (what: string): PluginFault => new PluginFault(plugin, `the result of ${hook} ${what}`);
	if (!isRecord(value)) throw wrong(`must be an object, not ${kindOf(value)}.`);
	const { content, structured, isError, logs } = value;
	if (!Array.isArray(content)) throw wrong(`must have a list of blocks as content, not ${kindOf(content)}.`);
	for (const [index, block] of content.entries()) {
		const fault = blockFault(block);
		if (fault !== null) throw wrong(`has a wrong block, content/${index}: ${fault}.`);
	}
	if (isError !== undefined && typeof isError !== 'boolean') throw wrong(`must have a boolean as isError, not ${kindOf(isError)}.`);
	const { chars, fault } = measureJson(structured === undefined ? { content } : { content, structured }, MAX_RESULT_CHARS);
	if (fault !== null) throw wrong(`must be JSON: ${fault}.`);
	if (chars > MAX_RESULT_CHARS) return null;
	// All of it was checked.
	const result: ToolResult = { content: content as ContentBlock[] };
	if (structured !== undefined) result.structured = structured as Json;
	if (isError !== undefined) result.isError = isError;
	if (logs !== undefined) result.logs = boundedLogs(logs, wrong);
	return result;
}

/** @param plugin `kind:name`. @throws PluginFault */
export function checkPreview(plugin: string, value: unknown): JsonObject {
	const wrong = (what: string): PluginFault => new PluginFault(plugin, `the result of preview ${what}`);
	if (!isRecord(value)) throw wrong(`must be a JSON object, not ${kindOf(value)}.`);
	const { chars, fault } = measureJson(value, MAX_PREVIEW_CHARS);
	if (fault !== null) throw wrong(`must be JSON: ${fault}.`);
	if (chars > MAX_PREVIEW_CHARS) throw wrong(`must be at most ${MAX_PREVIEW_CHARS} characters of JSON.`);
	return value as JsonObject;
}

function blockFault(block: unknown): string | null {
	if (!isRecord(block)) return `it must be an object, not ${kindOf(block)}`;
	const { type } = block;
	const shape = typeof type === 'string' && Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined;
	if (!shape) return `type must be one of ${Object.keys(BLOCKS).join(', ')}`;
	const fault = shapeFault(block, shape);
	if (fault !== null || type !== 'resource') return fault;
	const { resource } = block;
	if (!isRecord(resource)) return `resource must be an object, not ${kindOf(resource)}`;
	const inside = shapeFault(resource, RESOURCE);
	return inside === null ? null : `resource: ${inside}`;
}

function shapeFault(value: Record<string, unknown>, shape: Shape): string | null {
	for (const name in shape) {
		const member = value[name];
		if (typeof member === 'string' || (member === undefined && shape[name] === 'optional')) continue;
		return `${name} must be a string, not ${kindOf(member)}`;
	}
	return null;
}

/** Returns the lines up to the bounds: more of them are no reason to lose the result. */
function boundedLogs(value: unknown, wrong: (what: string) => PluginFault): string[] {
	if (!Array.isArray(value) || value.some((line) => typeof line !== 'string')) throw wrong('must have a list of strings as logs.');
	const lines: string[] = [];
	let room = MAX_LOG_CHARS;
	for (const line of value as string[]) {
		if (lines.length >= MAX_LOG_LINES || room <= 0) break;
		lines.push(line.length > room ? `${line.slice(0, room).toWellFormed()}…` : line);
		room -= line.length;
	}
	return lines;
}

const isRecord = (value: unknown): value is Record<string, unknown> => isObject(value);

/** Names the kind of a value for a sentence, without its content. */
export function kindOf(value: unknown): string {
	if (value === null) return 'null';
	if (value === undefined) return 'nothing';
	return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}
