// HTTP+JSON, the binding of 1.0 with a route for each method (specification 1.0, section 11).

import { type Call, type GatewayRoute, type Incoming, isObject, type Json, type JsonObject, type Reply } from '../../core/index.ts';
import { Document } from './card/written.ts';
import type { Config, Operator } from './config.ts';
import { A2AError, asA2A, asStreamed, restError, restErrorReply } from './errors.ts';
import { activated } from './extensions.ts';
import { METHODS, type MethodCall, STREAMS, type Streamed } from './methods.ts';
import { readJson } from './rpc.ts';
import { protocolOf } from './versions.ts';

type Read = (request: Incoming) => JsonObject;

const TYPE = 'application/a2a+json';

function bodyOf(request: Incoming): JsonObject {
	const body = readJson(request);
	if (!isObject(body)) throw new A2AError('INVALID_PARAMS', 'The body must be an object.');
	return body;
}

/** Clients send the type of a body without one. */
const bodyIfAny = (request: Incoming): JsonObject => (Buffer.isBuffer(request.body) && request.body.length > 0 ? bodyOf(request) : {});

const NUMBERS = ['pageSize', 'historyLength'];
const FLAGS = ['includeArtifacts'];

/** Reads the query: a text that is no number or truth value is left as it is, and refused by the method. */
function queryOf({ query }: Incoming): JsonObject {
	return Object.fromEntries(
		[...query].map(([name, text]): [string, Json] => {
			if (NUMBERS.includes(name) && /^-?\d{1,15}$/.test(text)) return [name, Number(text)];
			if (FLAGS.includes(name) && (text === 'true' || text === 'false')) return [name, text === 'true'];
			return [name, text];
		}),
	);
}

const taskId = ({ params }: Incoming): JsonObject => ({ taskId: params['id'] ?? '' });
const id = ({ params }: Incoming): JsonObject => ({ id: params['id'] ?? '' });
const configOf: Read = (request) => ({ ...taskId(request), id: request.params['config'] ?? '' });

type Route = GatewayRoute<Config, Operator>;

function route(method: Route['method'], path: string, name: string, read: Read, status = 200): Route {
	const streaming = STREAMS.get(name);
	const plain = METHODS.get(name);
	return {
		method,
		path,
		async handler(request, config, call) {
			try {
				const headers = headersFor(request);
				const asked: MethodCall = { params: read(request), at: '', protocol: '1.0', request, config, call };
				if (streaming) return stream(await streaming(asked), headers, call);
				const result = (await plain?.(asked)) ?? {};
				return status === 204
					? { status, headers }
					: {
							status,
							headers: { ...headers, 'content-type': TYPE },
							body: result instanceof Document ? result.bytes : JSON.stringify(result),
						};
			} catch (thrown) {
				return restErrorReply(asA2A(thrown, call));
			}
		},
	};
}

/** @throws A2AError for a version that this binding does not have */
function headersFor(request: Incoming): Record<string, string> {
	if (protocolOf(request) === '0.3')
		throw new A2AError('VERSION_NOT_SUPPORTED', 'HTTP+JSON is spoken here in the version 1.0; 0.3 by JSON-RPC only.');
	return { 'a2a-version': '1.0', ...activated(request) };
}

function stream({ events, whenFull }: Streamed, headers: Record<string, string>, call: Call): Reply {
	const sent = async function* () {
		try {
			for await (const event of events) yield { data: event };
		} catch (thrown) {
			if (!call.signal.aborted) yield { event: 'error', data: restError(asStreamed(thrown, call)) };
		}
	};
	return {
		status: 200,
		headers,
		body: sent(),
		stream: { finite: true, whenFull: async (refused) => ({ status: 200, headers, body: await whenFull(refused) }) },
	};
}

const PUSH = '/tasks/{id}/pushNotificationConfigs';

export const restRoutes: Route[] = [
	route('POST', '/message:send', 'SendMessage', bodyOf),
	route('POST', '/message:stream', 'SendStreamingMessage', bodyOf),
	route('GET', '/tasks', 'ListTasks', queryOf),
	route('GET', '/tasks/{id}', 'GetTask', (request) => ({ ...queryOf(request), ...id(request) })),
	route('POST', '/tasks/{id}:cancel', 'CancelTask', (request) => ({ ...bodyIfAny(request), ...id(request) })),
	route('GET', '/tasks/{id}:subscribe', 'SubscribeToTask', id),
	route('POST', '/tasks/{id}:subscribe', 'SubscribeToTask', id),
	route('POST', PUSH, 'CreateTaskPushNotificationConfig', (request) => ({ ...bodyOf(request), ...taskId(request) }), 201),
	route('GET', PUSH, 'ListTaskPushNotificationConfigs', taskId),
	route('GET', `${PUSH}/{config}`, 'GetTaskPushNotificationConfig', configOf),
	route('DELETE', `${PUSH}/{config}`, 'DeleteTaskPushNotificationConfig', configOf, 204),
	route('GET', '/extendedAgentCard', 'GetExtendedAgentCard', () => ({})),
];
