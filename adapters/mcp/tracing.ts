// The span and the duration of each message, while telemetry is on.

import { type JsonObject, tracedMessage } from '../../core/index.ts';
import type { Era, Exchange } from './dispatch.ts';
import { metaOf, ProtocolError } from './messages.ts';

/** A method that the era does not know. */
const UNKNOWN = '_OTHER';
const NAME_LENGTH = 128;

/** Answers a message. */
export function traced(era: Era, { message, headers }: Exchange, work: () => Promise<JsonObject>): Promise<JsonObject> {
	const { method, params, id } = message;
	const known = era.methods.has(method) ? method : UNKNOWN;
	const version = era.versionOf(message, headers);
	return tracedMessage({ method: known, target: targetOf(method, params), version, id, meta: metaOf(params) }, work, FAULTS);
}

/** "error.type SHOULD be set to the string representation of the JSON-RPC error code", or to `tool_error` for a result with `isError`. */
const FAULTS = {
	thrown: (error: unknown): string | null => (error instanceof ProtocolError ? String(error.code) : null),
	result: ({ isError }: JsonObject): string | null => (isError === true ? 'tool_error' : null),
};

function targetOf(method: string, { name }: JsonObject): { tool?: string; prompt?: string } {
	if (typeof name !== 'string' || name.length > NAME_LENGTH) return {};
	if (method === 'tools/call') return { tool: name };
	return method === 'prompts/get' ? { prompt: name } : {};
}
