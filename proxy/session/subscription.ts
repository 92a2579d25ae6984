// `subscriptions/listen` (2026-07-28): a client has its stream for as long as it wants it. That of the gateway ends when the gateway restarts, and is
// opened anew, and so it is at a new login.

import { Refusal } from '../gateway/refusals.ts';
import { type Id, isObject, type JsonObject, type Message, notification } from '../wire/messages.ts';
import { passed } from './answers.ts';
import type { Context } from './context.ts';
import { pause } from './deadline.ts';
import { isLasting, nextPause } from './listening.ts';
import type { Answered, Relay } from './relay.ts';
import type { Running } from './running.ts';

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId';
/** The members of the filter by the lists that they are about. */
const LISTS: Readonly<Record<string, string>> = {
	toolsListChanged: 'tools',
	promptsListChanged: 'prompts',
	resourcesListChanged: 'resources',
};
const TOO_MANY = 429;
const OF_SERVER = 500;

/** Passes on what the client asked to be told, until it cancels or the gateway refuses it. @throws Refusal where the stream never opened */
export async function subscribe(running: Running, context: Context, relay: Relay): Promise<void> {
	const { request, time } = running;
	let honoured: JsonObject | null = null;
	const onNotice = async (message: Message): Promise<void> => {
		if (message.kind !== 'notification') return;
		if (message.method !== ACKNOWLEDGED) return running.say(message.text);
		const { notifications } = message.params;
		const isFirst = honoured === null;
		honoured = isObject(notifications) ? notifications : {};
		if (isFirst) return running.say(message.text);
		context.client.target.onAnswer();
		for (const missed of missedOf(honoured, request.id)) await running.say(JSON.stringify(missed));
	};
	for (let ms = 0; ; ) {
		const openedAt = Date.now();
		const ended = await context.client.untilRenewal(time.signal, (signal) =>
			relay.pass(running, null, onNotice, signal).catch((error: unknown): Refusal => {
				if ((honoured === null && !signal.aborted) || time.signal.aborted || !(error instanceof Refusal)) throw error;
				return error;
			}),
		);
		if (!(ended instanceof Refusal) && (honoured === null || isFinal(ended))) return running.answer(passed(request, ended));
		ms = isLasting(ended) ? context.limits.retryMs.longest : nextPause(ms, Date.now() - openedAt, context.limits.retryMs);
		await pause(ms * (0.5 + Math.random() / 2), time.signal);
	}
}

/** An error that is not that of a gateway which is away or busy. */
const isFinal = ({ message, status }: Answered): boolean => message.error !== null && status < OF_SERVER && status !== TOO_MANY;

/** Makes the notifications of everything that may have changed while there was no stream. */
function missedOf(honoured: JsonObject, id: Id): JsonObject[] {
	const meta = { _meta: { [SUBSCRIPTION_KEY]: id } };
	const { resourceSubscriptions: uris } = honoured;
	const lists = Object.entries(LISTS).filter(([member]) => honoured[member] === true);
	return [
		...lists.map(([, list]) => notification(`notifications/${list}/list_changed`, meta)),
		...(Array.isArray(uris) ? uris : []).map((uri) => notification('notifications/resources/updated', { uri, ...meta })),
	];
}
