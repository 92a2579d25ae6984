// Runs the functions of plugins that answer requests, each within its time, and sends what they return once it is checked.

import { Readable } from 'node:stream';
import type { Call, Context } from '../contract/context.ts';
import { PluginFault } from '../contract/errors.ts';
import type { ManagementRequest, ManagementRoute } from '../contract/kinds.ts';
import type { Incoming, JsonObject } from '../contract/nouns.ts';
import { type Answer, lowerHeaders } from '../http/answer.ts';
import { isObject, measureJson } from '../kit/json.ts';
import { mediaTypeOf } from '../kit/media-type.ts';
import { inTime } from '../kit/race.ts';
import { answerOf, lateFault } from '../process/hooks.ts';
import { describeThrown } from '../process/strays.ts';
import type { CheckedReply } from './check-reply.ts';
import type { MountedRoute } from './mount.ts';

/** The time until the answer begins: a tool has 120 s, and the transport some more to answer. A stream may go on after it. */
const HANDLER_MS = 130_000;
/** The most characters of an answer in the management API: 4 Mi. */
const MAX_ANSWER_CHARS = 4 * 1024 * 1024;

/** @param leaving aborted when the time is over. @throws PluginFault after 130 s; what the handler throws */
export function handle(
	{ route, config, plugin }: MountedRoute,
	{ incoming, call, leaving }: { incoming: Incoming; call: Call; leaving: AbortController },
): Promise<unknown> {
	const late = (): PluginFault => {
		const what = `the handler of ${route.method} ${route.path}`;
		const fault = lateFault({ plugin, hook: what }, HANDLER_MS);
		leaving.abort(fault);
		running.then(discard, () => undefined);
		return fault;
	};
	let running: Promise<unknown>;
	try {
		running = Promise.resolve(route.handler(incoming, config, call));
	} catch (thrown) {
		return Promise.reject(asError(thrown, plugin));
	}
	return inTime(running, HANDLER_MS, late, (thrown) => asError(thrown, plugin));
}

/** The server does not take anything but errors. */
const asError = (thrown: unknown, plugin: string): Error =>
	thrown instanceof Error ? thrown : new PluginFault(plugin, `threw something that is no Error: ${describeThrown(thrown).slice(0, 500)}`);

/** Ends the stream or the events of a reply that nobody receives. */
export function discard(reply: unknown): void {
	const body = isObject(reply) ? (reply['body'] as unknown) : null;
	if (body instanceof Readable) body.on('error', () => undefined).destroy();
	else if (isObject(body) && Symbol.asyncIterator in body) endEvents(body as object as AsyncIterable<unknown>);
}

async function endEvents(events: AsyncIterable<unknown>): Promise<void> {
	try {
		await events[Symbol.asyncIterator]().return?.();
	} catch {
		// Nobody waits for it.
	}
}

/** @param call whose log receives the error of a stream that fails while it is sent */
export function respond({ status, headers, body, type }: CheckedReply, call: Pick<Call, 'log'>): Answer {
	const answer: Answer = { status, headers: lowerHeaders(headers), body: body ?? null };
	if (type !== undefined) answer.headers['content-type'] ??= type;
	if (!(body instanceof Readable)) return answer;
	// A stream that fails before it is sent would end the process.
	body.on('error', (error) => call.log.warn({ error: describeThrown(error) }, 'the stream of a reply failed'));
	// A compressor would hold events back until it has enough of them.
	if (mediaTypeOf(answer.headers['content-type']?.toString()) === 'text/event-stream') answer.headers['content-encoding'] = 'identity';
	return answer;
}

/** Has a plugin answer in the management API. @param plugin `kind:name`. @throws PluginFault; what the handler throws */
export async function askManagement(
	plugin: string,
	route: ManagementRoute,
	request: ManagementRequest,
	context: Context,
): Promise<JsonObject> {
	const what = `the management route ${route.id}`;
	const answer: unknown = await answerOf({ plugin, hook: what }, () => route.handler(request, context));
	const fault = answerFault(answer, route);
	if (fault !== null) throw new PluginFault(plugin, `${what} ${fault}.`);
	// It was just checked.
	const { items = [], nextCursor = null } = answer as JsonObject;
	return route.list === undefined ? (answer as JsonObject) : { [route.list]: items, nextCursor };
}

/** Whether the answer holds `data` and its `revision`; a removal leaves neither. */
export const showsRevision = ({ versioned, method }: ManagementRoute): boolean => versioned === true && method !== 'DELETE';

function answerFault(answer: unknown, route: ManagementRoute): string | null {
	const { list } = route;
	if (!isObject(answer)) return 'must answer with an object';
	if (showsRevision(route) && !(isObject(answer['data']) && Number.isSafeInteger(answer['revision'])))
		return 'must answer with an object as data, and its revision';
	if (list !== undefined && !(Array.isArray(answer['items']) && answer['items'].every(isObject)))
		return 'must answer with a list of objects as items';
	const { nextCursor } = answer;
	if (list !== undefined && nextCursor !== null && typeof nextCursor !== 'string') return 'must answer with a string or null as nextCursor';
	const { fault, chars } = measureJson(answer, MAX_ANSWER_CHARS);
	if (fault !== null) return `must answer with JSON: ${fault}`;
	return chars > MAX_ANSWER_CHARS ? `must answer with at most ${MAX_ANSWER_CHARS} characters` : null;
}
