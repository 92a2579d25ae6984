// `subscriptions/listen` (2026-07-28, basic, patterns, "Subscriptions"): a stream of the notifications for which the client asked.

import { isObject, type JsonObject, type Reply, type ServerEvent } from '../../../core/index.ts';
import { describeAbilities, type Exchange } from '../dispatch.ts';
import { CODES, metaOf, ProtocolError } from '../messages.ts';
import { isUri } from '../resources/methods.ts';
import { canChange } from '../resources/readers.ts';
import { MOST_FOLLOWED } from './following.ts';
import { type Followed, type ListKind, news, RESOURCE_UPDATED, toldLists } from './lists.ts';

const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId';

/** @throws ProtocolError for a filter that is none */
export async function listen(exchange: Exchange, seal: (result: JsonObject) => JsonObject): Promise<Reply> {
	const { notifications } = exchange.message.params;
	if (!isObject(notifications)) throw invalidFilter('must be an object, the kinds of notifications that are wanted');
	const lists = toldLists(describeAbilities(exchange).capabilities).filter(({ filter }) => isWanted(notifications, filter));
	return { status: 200, body: subscription(exchange, { lists, uris: wantedResources(notifications) }, seal) };
}

/** Returns the URIs at which something may change; no other is acknowledged. */
function wantedResources({ resourceSubscriptions }: JsonObject): string[] {
	const wanted = resourceSubscriptions ?? [];
	if (!Array.isArray(wanted) || wanted.length > MOST_FOLLOWED || !wanted.every(isUri))
		throw invalidFilter(`has resourceSubscriptions, which must be a list of at most ${MOST_FOLLOWED} URIs of resources`);
	return [...new Set(wanted)].filter(canChange);
}

function isWanted(notifications: JsonObject, name: string): boolean {
	const wanted = notifications[name] ?? false;
	if (typeof wanted !== 'boolean') throw invalidFilter(`has ${name}, which must be a boolean`);
	return wanted;
}

const invalidFilter = (fault: string): ProtocolError =>
	new ProtocolError(CODES.invalidParams, `params.notifications ${fault}.`, { status: 400 });

async function* subscription(
	{ message, call }: Exchange,
	{ lists, uris }: { lists: readonly ListKind[]; uris: readonly string[] },
	seal: (result: JsonObject) => JsonObject,
): AsyncGenerator<ServerEvent, void> {
	const meta = { [SUBSCRIPTION_KEY]: message.id };
	const notify = (method: string, params: JsonObject = {}): ServerEvent => ({
		event: 'message',
		data: JSON.stringify({ jsonrpc: '2.0', method, params: { ...params, _meta: meta } }),
	});
	// "The server MUST send this before any other notification": it names what is honoured.
	const acknowledged = notify('notifications/subscriptions/acknowledged', {
		notifications: {
			...Object.fromEntries(lists.map(({ filter }) => [filter, true])),
			...(uris.length > 0 && { resourceSubscriptions: [...uris] }),
		},
	});
	let isFirst = true;
	for await (const changed of news(call, { lists, followed: () => once(uris) })) {
		// By then the versions are known from which changes count.
		if (isFirst) yield acknowledged;
		isFirst = false;
		for (const name of changed.lists) yield notify(`notifications/${name}/list_changed`);
		for (const uri of changed.uris) yield notify(RESOURCE_UPDATED, { uri });
	}
	const result = seal({});
	yield {
		event: 'message',
		data: JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { ...result, _meta: { ...metaOf(result), ...meta } } }),
	};
}

async function* once(uris: readonly string[]): AsyncGenerator<Followed, void> {
	yield new Map(uris.map((uri) => [uri, null]));
}
