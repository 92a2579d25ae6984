// JSON-RPC at the root of the gateway: both versions, told apart by their header, and without one by their methods, which have no name in common.

import {
	asGatewayError,
	type Call,
	GatewayError,
	type Incoming,
	isObject,
	type Json,
	type JsonObject,
	mediaTypeOf,
	parseMessage,
	type Reply,
} from '../../core/index.ts';
import { Document } from './card/written.ts';
import type { Config } from './config.ts';
import { A2AError, asA2A, asStreamed, type RpcId, rpcError, rpcErrorReply } from './errors.ts';
import { activated } from './extensions.ts';
import { LEGACY_METHODS, legacyEvent, legacyResult, modernParams } from './legacy.ts';
import { METHODS, type MethodCall, STREAMS, type Streamed } from './methods.ts';
import { protocolOf } from './versions.ts';
import type { Protocol, StreamResponse } from './wire.ts';

interface Envelope {
	id: RpcId;
	method: string;
	params: JsonObject;
}

const TYPES = ['application/json', 'application/a2a+json'];

/** Reads the body of a request, which both bindings send as JSON. @throws A2AError, unsupported_media_type */
export function readJson({ headers, body }: Incoming): Json {
	if (!TYPES.includes(mediaTypeOf(headers['content-type'])))
		throw new GatewayError('unsupported_media_type', `Content-Type must be ${TYPES.join(' or ')}.`);
	if (!Buffer.isBuffer(body) || body.length === 0) throw new A2AError('PARSE_ERROR', 'The body is empty.');
	try {
		// `parseMessage` returns nothing but JSON values.
		return parseMessage(body) as Json;
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (!error) throw thrown;
		// `parseMessage` sets a cause where the text is not UTF-8 or not JSON.
		throw new A2AError(error.cause === undefined ? 'INVALID_REQUEST' : 'PARSE_ERROR', error.message, error.details);
	}
}

export async function serveRpc(request: Incoming, config: Config, call: Call): Promise<Reply> {
	let id: RpcId = null;
	try {
		const body = readJson(request);
		id = readId(body);
		return await answer(readEnvelope(body, id), { request, config, call });
	} catch (thrown) {
		return rpcErrorReply(id, asA2A(thrown, call));
	}
}

/** An id is echoed in whatever is answered, also to what is no request. */
function readId(body: Json): RpcId {
	const id = isObject(body) ? body.id : undefined;
	return typeof id === 'string' || Number.isSafeInteger(id) ? (id as RpcId) : null;
}

function readEnvelope(body: Json, id: RpcId): Envelope {
	if (!isObject(body)) throw bad('The body must be one JSON-RPC 2.0 request, an object; batches are not supported.');
	const { jsonrpc, method } = body;
	if (jsonrpc !== '2.0') throw bad('"jsonrpc" must be "2.0".');
	if (typeof method !== 'string' || method === '') throw bad('"method" must be a string.');
	if (id === null) throw bad('"id" must be a string or an integer up to 2^53 - 1.');
	const params = body.params ?? {};
	if (!isObject(params))
		throw new A2AError('INVALID_PARAMS', '"params" must be an object.', [{ path: '/params', message: 'must be an object' }]);
	return { id, method, params };
}

const bad = (message: string): A2AError => new A2AError('INVALID_REQUEST', message);

interface RpcRequest {
	request: Incoming;
	config: Config;
	call: Call;
}

async function answer({ id, method, params }: Envelope, around: RpcRequest): Promise<Reply> {
	const asked = protocolOf(around.request);
	const protocol = asked ?? (LEGACY_METHODS.has(method) ? '0.3' : '1.0');
	const name = protocol === '1.0' ? method : (LEGACY_METHODS.get(method) ?? '');
	const [plain, streaming] = [METHODS.get(name), STREAMS.get(name)];
	const headers = { 'a2a-version': protocol, ...activated(around.request) };
	if (!plain && !streaming) throw new A2AError('METHOD_NOT_FOUND', `There is no method "${method.slice(0, 100)}" in A2A ${protocol}.`);
	const all: MethodCall = { ...around, protocol, at: '/params', params: protocol === '1.0' ? params : modernParams(method, params) };
	if (streaming) return stream(id, { protocol, headers, streamed: await streaming(all), call: around.call });
	const result = (await plain?.(all)) ?? {};
	if (result instanceof Document)
		return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, body: wrapped(id, result) };
	return { status: 200, headers, body: { jsonrpc: '2.0', id, result: protocol === '1.0' ? result : legacyResult(method, result) } };
}

const wrapped = (id: RpcId, { bytes }: Document): Buffer =>
	Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`), bytes, Buffer.from('}')]);

interface Stream {
	protocol: Protocol;
	headers: Record<string, string>;
	streamed: Streamed;
	call: Call;
}

function stream(id: RpcId, { protocol, headers, streamed, call }: Stream): Reply {
	const encode = (event: StreamResponse): Json => (protocol === '1.0' ? event : legacyEvent(event)) as Json;
	const result = (value: Json): JsonObject => ({ jsonrpc: '2.0', id, result: value });
	const events = async function* () {
		try {
			for await (const event of streamed.events) yield { data: result(encode(event)) };
		} catch (thrown) {
			if (!call.signal.aborted) yield { data: rpcError(id, asStreamed(thrown, call)) };
		}
	};
	const whenFull = async (refused: GatewayError): Promise<Reply> => {
		const task = await streamed.whenFull(refused);
		return { status: 200, headers, body: result(protocol === '1.0' ? task : legacyResult('message/send', task)) };
	};
	return { status: 200, headers, body: events(), stream: { finite: true, whenFull } };
}
