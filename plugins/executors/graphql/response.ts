// Turns a GraphQL answer into a tool's result (GraphQL §7.1, GraphQL over HTTP): data as data, errors as text that a model can read.

import {
	bodyExcerpt,
	decodeTextGradually,
	excerptOf,
	failedResult,
	isObject,
	type Json,
	type JsonSchema,
	jsonResult,
	membersOf,
	type OutboundResponse,
	type Outline,
	outlineJson,
	statusLine,
	type ToolResult,
	withoutSecrets,
} from '../../../core/index.ts';

const MAX_ERRORS = 10;
const MAX_MESSAGE_CHARS = 500;
const MAX_PATH_CHARS = 200;
/** Most members of a response, which has three: data, errors and extensions (GraphQL §7.1). */
const MAX_MEMBERS = 100;
/** A longer text may be JSON even if the result has no structured content. */
const MAX_CHECKED_CHARACTERS = 1024 * 1024;

export interface Reading {
	/** The tool's output schema, which the data must still fit when it is cut. */
	schema: JsonSchema | null;
	/** Values that an upstream may repeat and the caller must not read. */
	secrets: readonly string[];
}

export async function readResponse(response: OutboundResponse, { schema, secrets }: Reading): Promise<ToolResult> {
	const { status, headers, body } = response;
	const text = await decodeTextGradually(body, headers['content-type'] ?? '');
	const answer = await readAnswer(withoutSecrets(text, secrets));
	const errors = answer?.errors ?? [];
	if (answer === null || status >= 400) return refused(response, errors, secrets);
	const result = await readData(answer.data, schema);
	if (errors.length === 0) return result ?? refused(response, errors, secrets);
	if (result === null || !hasData(result)) return failure(describeErrors(errors));
	const warning = `The answer is incomplete, what failed is null:\n${describeErrors(errors)}`;
	return { ...result, content: [...result.content, { type: 'text', text: warning }] };
}

interface Answer {
	/** The JSON text, as the upstream wrote it. */
	data: string;
	errors: Json[];
}

/**
 * Reads a response; null if it is not a JSON object, whatever its header says. The members are located first: the whole may be too large to
 * be parsed at once without blocking the event loop.
 */
async function readAnswer(text: string): Promise<Answer | null> {
	const outline = await outlineJson(text, 1);
	if (outline === null || text[outline.start] !== '{') return null;
	const members = topLevel(outline);
	if (members === null) return null;
	const { structured: errors } = await jsonResult(members.get('"errors"') ?? '[]');
	if (errors === undefined) return null;
	return { data: members.get('"data"') ?? 'null', errors: Array.isArray(errors) ? errors : [] };
}

function topLevel(outline: Outline): Map<string, string> | null {
	const members = new Map<string, string>();
	let count = 0;
	try {
		for (const { key, start, end } of membersOf(outline, outline.start)) {
			members.set(key, outline.text.slice(start, end));
			count += 1;
			if (count > MAX_MEMBERS) return null;
		}
		return members;
	} catch (error) {
		if (error instanceof SyntaxError) return null;
		throw error;
	}
}

/** Returns null if the data is not an object. */
async function readData(data: string, schema: JsonSchema | null): Promise<ToolResult | null> {
	if (!data.startsWith('{')) return null;
	const result = await jsonResult(data, schema);
	// JSON that is not read as data has a note that says why.
	const isJson = result.structured !== undefined || data.length > MAX_CHECKED_CHARACTERS || result.content.length > 1;
	return isJson ? result : null;
}

/** The failure of an answer that is not GraphQL, or whose status says that the request failed as a whole. */
function refused(response: OutboundResponse, errors: Json[], secrets: readonly string[]): ToolResult {
	const { status, headers, body } = response;
	if (errors.length > 0) return failure(`${statusLine(status)}\n${describeErrors(errors)}`);
	if (status >= 400) return failedResult(response, secrets);
	const excerpt = bodyExcerpt(body, headers['content-type'] ?? '', secrets);
	return failure(`${statusLine(status)}, but the answer is not a GraphQL response.\n${excerpt}`.trimEnd());
}

/** Whether any data is left: an error in a non-null field makes its parents null, up to the whole data (GraphQL §6.4.4). */
function hasData({ structured }: ToolResult): boolean {
	// Data that is too long to be shown as such has no structured content.
	return structured === undefined || (isObject(structured) && Object.values(structured).some((value) => value !== null));
}

const failure = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** Writes message, path and code, and no more of `extensions`, where servers in debug mode put stack traces. */
function describeErrors(errors: Json[]): string {
	const lines = errors.slice(0, MAX_ERRORS).map(describeError);
	if (errors.length > MAX_ERRORS) lines.push(`… and ${errors.length - MAX_ERRORS} more errors.`);
	return lines.join('\n');
}

function describeError(error: Json): string {
	if (!isObject(error)) return 'An error without a message.';
	const { message, path, extensions } = error;
	const said = typeof message === 'string' ? excerptOf(message, MAX_MESSAGE_CHARS) : '';
	const at = Array.isArray(path) ? path.filter((part) => typeof part === 'string' || typeof part === 'number').join('.') : '';
	const code = isObject(extensions) ? extensions['code'] : undefined;
	const place = at === '' ? '' : ` (at ${excerptOf(at, MAX_PATH_CHARS)})`;
	const kind = typeof code === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? ` [${code}]` : '';
	return `${said || 'An error without a message.'}${place}${kind}`;
}
