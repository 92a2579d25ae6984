// The revisions that open with `initialize`: 2024-11-05 to 2025-11-25. Served without state, one request at a time.

import type { Incoming, Json } from '../../core/index.ts';
import { callTool, describeAbilities, describeServer, type Era, listTools, type Method } from './dispatch.ts';
import { askingSession, newSession } from './elicitation.ts';
import { subscribe, unsubscribe } from './listening/following.ts';
import { CODES, ProtocolError } from './messages.ts';
import { getPrompt } from './prompts/prompts.ts';
import { completion, keepable } from './shelves.ts';

export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/**
 * "If the server supports the requested protocol version, it MUST respond with the same version. Otherwise, the server
 * MUST respond with another protocol version it supports" (2025-11-25, lifecycle, "Version Negotiation").
 */
const initialize: Method = async (exchange) => {
	const { protocolVersion } = exchange.message.params;
	if (typeof protocolVersion !== 'string') throw new ProtocolError(CODES.invalidParams, 'params.protocolVersion must be a string.');
	return {
		protocolVersion: negotiated(protocolVersion),
		...describeAbilities(exchange),
		serverInfo: describeServer(exchange.call),
	};
};

const negotiated = (requested: Json | undefined): string =>
	typeof requested === 'string' && LEGACY_VERSIONS.includes(requested) ? requested : '2025-11-25';

/** "If the server receives a request with an invalid or unsupported MCP-Protocol-Version, it MUST respond with 400 Bad Request". */
export function checkVersionHeader(headers: Incoming['headers'], supported: readonly string[]): void {
	const requested = headers['mcp-protocol-version']?.trim();
	if (requested === undefined || supported.includes(requested)) return;
	throw new ProtocolError(CODES.unsupportedProtocolVersion, `The protocol version "${requested.slice(0, 32)}" is not supported.`, {
		status: 400,
		data: { supported: [...supported], requested },
	});
}

export const legacy: Era = {
	methods: new Map([
		['initialize', initialize],
		['ping', async () => ({})],
		['tools/list', listTools],
		['tools/call', callTool],
		['prompts/get', getPrompt],
		completion,
		['resources/subscribe', subscribe],
		['resources/unsubscribe', unsubscribe],
		...keepable(CODES.resourceNotFound),
	]),
	streams: new Map(),
	check: () => undefined,
	unknownMethodStatus: 200,
	seal: (result) => result,
	/**
	 * An id that nothing here remembers: request ids are unique only within a session, so with it a client's requests can be told apart, and
	 * it says whether the client can be asked. "The session ID SHOULD be globally unique and cryptographically secure" (transports).
	 */
	headersOf: ({ method, params }) =>
		method === 'initialize' ? { 'mcp-session-id': newSession(negotiated(params.protocolVersion), params) } : {},
	translate: () => null,
	// "Disconnection […] SHOULD NOT be interpreted as the client cancelling its request" (transports, "Sending Messages").
	versionOf: ({ method }, headers) => (method === 'initialize' ? null : (headers['mcp-protocol-version']?.trim() ?? null)),
	leavingCancels: false,
	askingSession,
};
