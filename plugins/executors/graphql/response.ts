// From a GraphQL answer to a tool's result (GraphQL §7.1, GraphQL over HTTP): data as data, errors as what a model can read.

import {
	decodeText,
	excerptOf,
	failedResult,
	type Json,
	type JsonObject,
	jsonResult,
	type OutboundResponse,
	statusLine,
	type ToolResult,
	textResult,
} from '../../../core/index.ts';

const MAX_ERRORS = 10;
const MAX_MESSAGE_CHARS = 500;
const MAX_PATH_CHARS = 200;

const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export function readResponse(response: OutboundResponse): ToolResult {
	const { status, headers, body } = response;
	const text = decodeText(body, headers['content-type'] ?? '');
	const answer = parseAnswer(text);
	const errors = answer === null || !Array.isArray(answer['errors']) ? [] : answer['errors'];
	if (answer === null || status >= 400 || (errors.length === 0 && !isObject(answer['data']))) return refused(response, errors);
	const { data = null } = answer;
	if (errors.length === 0) return dataResult(data, text);
	if (!hasData(data)) return failure(describeErrors(errors));
	const result = dataResult(data, text);
	const warning = `The answer is incomplete, what failed is null:\n${describeErrors(errors)}`;
	return { ...result, content: [...result.content, { type: 'text', text: warning }] };
}

/** Null when it is no JSON object, whatever its header says. */
function parseAnswer(text: string): JsonObject | null {
	try {
		const answer = JSON.parse(text) as Json;
		return isObject(answer) ? answer : null;
	} catch {
		// Told by `refused`, with its beginning.
		return null;
	}
}

/** No GraphQL, or a status that says the request failed as a whole. */
function refused(response: OutboundResponse, errors: Json[]): ToolResult {
	const { status, headers, body } = response;
	if (errors.length > 0) return failure(`${statusLine(status)}\n${describeErrors(errors)}`);
	if (status >= 400) return failedResult(response);
	const excerpt = excerptOf(decodeText(body.subarray(0, 8192), headers['content-type'] ?? ''));
	return failure(`${statusLine(status)}, but the answer is no GraphQL response.\n${excerpt}`.trimEnd());
}

/** §6.4.4: an error in a field that may not be null takes its parents with it, up to what the tool asked for. */
function hasData(data: Json): boolean {
	return isObject(data) && Object.values(data).some((value) => value !== null);
}

function dataResult(data: Json, text: string): ToolResult {
	try {
		return jsonResult(JSON.stringify(data));
	} catch (error) {
		// What was read iteratively may be too deep to be written recursively: the text is there already.
		if (error instanceof RangeError) return textResult(text);
		throw error;
	}
}

const failure = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** Message, path and code. Of `extensions` nothing else: servers in debug mode put stack traces there. */
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
