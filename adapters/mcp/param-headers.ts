// Checks arguments that a tool's schema mirrors into headers (`x-mcp-header`, 2026-07-28, transports, "Custom Headers"):
// whoever routes by the header must see the value that the tool gets.

import { type Call, type Incoming, isObject, type Json, type JsonObject, type Tool } from '../../core/index.ts';
import { CODES, ProtocolError } from './messages.ts';

export interface DeclaredHeader {
	/** Name of the header, in lower case. */
	header: string;
	/** Path of the argument. */
	path: string[];
}

const KEPT_MS = 600_000;
const WRAPPED = /^=\?base64\?(.*)\?=$/;

export const declaredHeaders = (tool: Tool, call: Call): Promise<DeclaredHeader[]> =>
	call.memo(`headers:${tool.id}:${tool.version}`, KEPT_MS, async () => [...scan(tool.parameters, [])]);

function* scan({ properties }: JsonObject, path: string[]): Generator<DeclaredHeader> {
	if (!isObject(properties)) return;
	for (const [name, schema] of Object.entries(properties)) {
		if (!isObject(schema)) continue;
		const header = schema['x-mcp-header'];
		if (typeof header === 'string') yield { header: `mcp-param-${header.toLowerCase()}`, path: [...path, name] };
		yield* scan(schema, [...path, name]);
	}
}

/** "Servers MUST reject requests" whose header is missing or differs from the argument. @throws ProtocolError */
export function checkParamHeaders(declared: readonly DeclaredHeader[], args: JsonObject, headers: Incoming['headers']): void {
	for (const { header, path } of declared) {
		const value = path.reduce<Json | undefined>((at, name) => (isObject(at) ? at[name] : undefined), args);
		if (value === undefined || value === null || typeof value === 'object') continue;
		const text = headers[header]?.trim();
		if (text !== undefined && says(decodeHeader(text), value)) continue;
		const fault = text === undefined ? 'is required' : 'does not say what the body says';
		throw new ProtocolError(CODES.headerMismatch, `The header ${header} ${fault}: it mirrors the argument ${path.join('.')}.`, {
			status: 400,
		});
	}
}

/** Numbers are compared as numbers: `42.0` is 42. */
function says(text: string | null, value: string | number | boolean): boolean {
	if (text === null) return false;
	return typeof value === 'number' && text !== '' ? Number(text) === value : text === String(value);
}

/** The text of a header that may be wrapped in Base64 (`=?base64?…?=`); null when what is wrapped is no Base64 of UTF-8. */
export function decodeHeader(value: string): string | null {
	const wrapped = WRAPPED.exec(value)?.[1];
	if (wrapped === undefined) return value;
	const bytes = Buffer.from(wrapped, 'base64');
	if (bytes.toString('base64') !== wrapped) return null;
	const text = bytes.toString('utf8');
	return Buffer.from(text).equals(bytes) ? text : null;
}
