// Refusals in the form of a gateway's protocol: the plugin whose path it is says their body, and core their headers.

import type { Request } from '@hapi/hapi';
import { GatewayError, PluginFault } from '../contract/errors.ts';
import type { Incoming, JsonObject, Log, Reply, ServedAt } from '../contract/nouns.ts';
import type { Answer } from '../http/answer.ts';
import { isObject } from '../kit/json.ts';
import { describeThrown } from '../process/strays.ts';
import { type CheckedReply, checkReply } from './check-reply.ts';

/** A plugin that may give refusals its form. */
export interface Speaker {
	/** `kind:name`. */
	plugin: string;
	config: JsonObject;
	fail?: (error: GatewayError, request: Incoming, config: JsonObject, at: ServedAt) => Reply | null;
}

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** The plugin that speaks for the path of the request; absent when it leaves refusals to core. */
		speaking?: { speaker: Speaker; incoming: Incoming; at: ServedAt };
	}
}

/** The most characters or bytes of a refusal. */
const MAX_REFUSAL = 64 * 1024;
/** Headers that are core's in a refusal: they say where it ends, who may try again, and when. */
const OF_CORE =
	/^(?:content-length|content-encoding|transfer-encoding|set-cookie|cache-control|www-authenticate|retry-after|allow|x-request-id|x-ratelimit-.*|access-control-.*)$/i;
/** Statuses that stay, and that no other error gets: clients act on them by their headers, which only core has. */
const FIXED: ReadonlySet<number> = new Set([401, 403, 429]);

/** Lets a plugin speak if the request is refused from now on. @param at the address that it speaks for */
export function letSpeak(request: Request, speaker: Speaker, incoming: Incoming, at: ServedAt): void {
	if (speaker.fail) request.plugins.speaking = { speaker, incoming, at };
}

/**
 * Returns a refusal in the protocol's form; null leaves it in core's: for a 429, whose body specification 7 defines, and when the plugin
 * wants it, throws or is wrong, which is logged.
 */
export function spoken(error: GatewayError, request: Request, log: Log): Answer | null {
	const { speaking } = request.plugins;
	if (!speaking?.speaker.fail || error.code === 'rate_limited') return null;
	const { plugin, config, fail } = speaking.speaker;
	const { status } = error;
	try {
		const reply: unknown = fail(copyOf(error), speaking.incoming, config, speaking.at);
		return reply === null ? null : toAnswer(checkRefusal(reply, status, plugin));
	} catch (thrown) {
		const fields = { requestId: request.info.id, ...request.plugins.servedBy, plugin, code: error.code, error: describeThrown(thrown) };
		log.error(fields, 'fail of a plugin failed');
		return null;
	}
}

/** The error belongs to core, which answers with it when the plugin does not. */
function copyOf({ code, message, details, headers, cause }: GatewayError): GatewayError {
	return new GatewayError(code, message, { details: [...details], headers: { ...headers }, cause });
}

function toAnswer({ status, headers, body, type }: CheckedReply): Answer {
	// Streams were refused.
	const answer: Answer = { status, headers: {}, body: (body as string | Buffer | undefined) ?? null };
	if (type !== undefined) answer.headers['content-type'] = type;
	for (const name in headers) if (!OF_CORE.test(name)) answer.headers[name.toLowerCase()] = headers[name] ?? '';
	return answer;
}

/** @throws PluginFault */
export function checkRefusal(value: unknown, own: number, plugin: string): CheckedReply {
	const wrong = (what: string): PluginFault => new PluginFault(plugin, `the reply of fail ${what}.`);
	if (value instanceof Promise) {
		value.catch(() => undefined);
		throw wrong('must be an object or null, not a promise');
	}
	if (!isObject(value)) throw wrong('must be an object or null');
	const { body: given } = value as { body?: unknown };
	if (isStream(given)) {
		given.destroy?.();
		throw wrong('must have its body in memory');
	}
	const reply = checkReply(value, { plugin, gaveCookie: () => false });
	// A stream was refused above.
	const { length = 0 } = (reply.body ?? '') as string | Buffer;
	if (length > MAX_REFUSAL) throw wrong(`must have at most ${MAX_REFUSAL} characters`);
	const status = statusOf(reply.status, own);
	if (status === null) throw wrong(`may not have the status ${reply.status} for an error of status ${own}`);
	return { ...reply, status };
}

/** A protocol may tell its errors with 200, as JSON-RPC does, or by another status of errors. */
function statusOf(given: number, own: number): number | null {
	if (FIXED.has(own) || given === own) return own;
	return given === 200 || (given >= 400 && !FIXED.has(given)) ? given : null;
}

/** Whether a body is a stream or a list of events. */
const isStream = (body: unknown): body is { destroy?(): void } =>
	typeof body === 'object' && body !== null && ('pipe' in body || 'pipeTo' in body || Symbol.asyncIterator in body);
