// Serves the tools of a gateway as the skills of an agent, over A2A 1.0's JSON-RPC binding (https://a2a-protocol.org/v1.0.0/specification/).
// A task is a job of Gatehouse's, so that it survives its process, and a record of what was asked.

import { type GatewayError, type Incoming, isObject, type Json, type JsonObject, type Reply, type TransportAdapter } from 'gatehouse';
import Joi from 'joi';
import { card } from './card.ts';
import { METHODS } from './methods.ts';
import { jobs } from './work.ts';

export interface Config {
	name: string;
	textSkill?: string;
	textArgument: string;
}

/** The codes of JSON-RPC and of A2A §5.4. */
const CODES: Readonly<Record<string, readonly [code: number, reason: string]>> = {
	validation_failed: [-32602, 'INVALID_PARAMS'],
	egress_refused: [-32602, 'INVALID_PARAMS'],
	tool_not_found: [-32602, 'UNKNOWN_SKILL'],
	not_found: [-32001, 'TASK_NOT_FOUND'],
	conflict: [-32002, 'TASK_NOT_CANCELABLE'],
	not_implemented: [-32004, 'UNSUPPORTED_OPERATION'],
	unsupported_media_type: [-32005, 'CONTENT_TYPE_NOT_SUPPORTED'],
	precondition_failed: [-32009, 'VERSION_NOT_SUPPORTED'],
};
const [INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, INTERNAL] = [-32600, -32601, -32700, -32603];

export default {
	kind: 'transport',
	api: 1,
	name: 'acme_a2a',
	summary: 'Serves tools as the skills of an agent, and their runs as tasks.',
	spec: 'A2A 1.0',
	config: Joi.object<Config>({
		name: Joi.string().max(100).default('Agent').description('The name of the agent.'),
		textSkill: Joi.string().max(200).description('The tool that a message of text alone is for.'),
		textArgument: Joi.string().max(64).default('text').description('The argument of that tool that gets the text.'),
	}),
	cors: { send: ['a2a-version', 'a2a-extensions'] },
	jobs,
	fail: (error, request) => refusal(error, request),
	routes: [
		{ method: 'GET', path: '/.well-known/agent-card.json', public: true, lists: true, limit: { max: 60, seconds: 60 }, handler: card },
		{
			...{ method: 'POST', path: '/', body: 'json', encodings: ['gzip'] },
			async handler(request, config, call) {
				const { body } = request;
				if (!isObject(body) || body['jsonrpc'] !== '2.0' || typeof body['method'] !== 'string')
					return fault(body, INVALID_REQUEST, 'This is no request of JSON-RPC 2.0.');
				const method = METHODS.get(body['method']);
				if (!method) return fault(body, METHOD_NOT_FOUND, 'The method is unknown.');
				const params = isObject(body['params']) ? body['params'] : {};
				const result = await method(params, { request, config, call });
				if (!(Symbol.asyncIterator in result)) return answer(body, { result });
				return { status: 200, body: framed(body, result), stream: { finite: true } };
			},
		},
	],
} satisfies TransportAdapter<Config>;

const idOf = (body: unknown): Json => {
	const id = isObject(body) ? body['id'] : null;
	return typeof id === 'string' || typeof id === 'number' ? id : null;
};

const answer = (body: unknown, more: JsonObject): Reply => ({ status: 200, body: { jsonrpc: '2.0', id: idOf(body), ...more } });
const fault = (body: unknown, code: number, message: string): Reply => answer(body, { error: { code, message } });

async function* framed(body: unknown, results: AsyncIterable<JsonObject>): AsyncGenerator<{ data: JsonObject }> {
	for await (const result of results) yield { data: { jsonrpc: '2.0', id: idOf(body), result } };
}

/** A refusal of a method is an answer of JSON-RPC; one without a request of it has its status. */
function refusal(error: GatewayError, { body, method }: Incoming): Reply {
	const { status, code, message, details } = error;
	const isCall = isObject(body) && body['jsonrpc'] === '2.0';
	const unread: readonly [number, string] = [
		status < 500 ? (method === 'POST' && status === 400 ? PARSE_ERROR : INVALID_REQUEST) : INTERNAL,
		'INTERNAL',
	];
	const [number, reason] = isCall ? (CODES[code] ?? [INTERNAL, code.toUpperCase()]) : unread;
	const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' };
	const violations = details.map(({ path, message: description }) => ({ field: path, description }));
	const bad = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations };
	return {
		status: isCall && status !== 401 && status !== 403 ? 200 : status,
		body: { jsonrpc: '2.0', id: idOf(body), error: { code: number, message, data: [info, ...(violations.length > 0 ? [bad] : [])] } },
	};
}
