// The GET stream of the legacy era: notifications that belong to no call. Nothing is kept for it, so any replica may serve it; the ids of its events
// tell what the client knows, and a client that comes back hears of what it missed.

import { type Call, GatewayError, type Incoming, type JsonObject, type Reply, type ServerEvent } from '../../../core/index.ts';
import { describeAbilities, type McpConfig } from '../dispatch.ts';
import { checkVersionHeader, LEGACY_VERSIONS } from '../legacy.ts';
import { errorReply, ProtocolError } from '../messages.ts';
import { isModern } from '../modern.ts';
import { sessionOf } from './cancelling.ts';
import { followedBy } from './following.ts';
import { eventIdOf, knownBy, news, RESOURCE_UPDATED, toldLists } from './lists.ts';

/** The first revision in which a stream may begin with an empty event that has an id. */
const PRIMED = '2025-11-25';
const EVENTS = /(^|[\s,])text\/event-stream/i;

/** @throws method_not_allowed for whoever asks for no event stream: a browser, and clients of 2026-07-28, which has no such stream */
export async function listenByGet(request: Incoming, config: McpConfig, call: Call): Promise<Reply> {
	const { headers } = request;
	if (isModern({}, headers) || !EVENTS.test(headers.accept ?? '')) throw onlyPost();
	try {
		checkVersionHeader(headers, LEGACY_VERSIONS);
	} catch (thrown) {
		if (thrown instanceof ProtocolError) return errorReply(null, thrown);
		throw thrown;
	}
	// A client takes it for a server without such streams, and goes on; at a 429 some of them would not.
	const whenFull = (): Promise<Reply> => Promise.reject(onlyPost());
	return { status: 200, body: notifications(request, config, call), stream: { whenFull } };
}

async function* notifications(request: Incoming, config: McpConfig, call: Call): AsyncGenerator<ServerEvent, void> {
	const isPrimed = request.headers['mcp-protocol-version']?.trim() === PRIMED;
	const lists = toldLists(describeAbilities({ config }).capabilities);
	const session = sessionOf(request.headers);
	const followed = (signal: AbortSignal) => followedBy(session, call, signal);
	let isFirst = true;
	for await (const { lists: changed, uris, now } of news(call, { lists, before: knownBy(request.lastEventId), followed })) {
		const id = eventIdOf(now);
		const told = (method: string, params?: JsonObject): ServerEvent => ({
			...{ event: 'message', data: JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }) },
			...(id && { id }),
		});
		for (const name of changed) yield told(`notifications/${name}/list_changed`);
		for (const uri of uris) yield told(RESOURCE_UPDATED, { uri });
		// "The server SHOULD immediately send an SSE event consisting of an event ID and an empty data field" (2025-11-25, transports).
		if (isFirst && isPrimed && id && changed.length === 0 && uris.length === 0) yield { id, data: '' };
		isFirst = false;
	}
}

export const onlyPost = (): GatewayError =>
	new GatewayError('method_not_allowed', 'This path takes POST, and GET for an event stream of the revisions up to 2025-11-25.', {
		headers: { allow: 'GET, POST' },
	});
