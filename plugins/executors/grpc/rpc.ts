// A call by gRPC: what is sent, where to, and what comes back as a tool's result.

import { Metadata, status as Status } from '@grpc/grpc-js';
import {
	type Call,
	GatewayError,
	type JsonObject,
	type JsonSchema,
	jsonResult,
	type OutboundRequest,
	secretsAdded,
	type ToolResult,
	withoutSecrets,
} from '../../../core/index.ts';
import { messagesIn } from './arguments.ts';
import { channelTo, MAX_RECEIVED_BYTES, type Place, placeOf } from './channels.ts';
import type { Codec } from './codec.ts';
import type { GrpcConfig } from './config.ts';
import { decodeAll } from './decoding.ts';
import { exchange, hasFailed, isOk, type Outcome } from './exchange.ts';
import { failedCall } from './status.ts';

/** What the answer is read with. */
interface Reading {
	config: GrpcConfig;
	codec: Codec;
	place: Place;
	/** Of the tool: what the data must still fit when it is cut. */
	schema: JsonSchema | null;
	/** What the server may say back and the caller must not read. */
	secrets: readonly string[];
}

export async function callByGrpc(args: JsonObject, config: GrpcConfig, codec: Codec, call: Call): Promise<ToolResult> {
	const place = placeOf(call);
	const messages = messagesIn(args, config).map(({ json, at }) => codec.encode(json, at));
	const path = pathOf(config, place);
	const request = requestTo(path, place);
	const { timeoutMs, maxMessages } = config;
	const isStream = codec.method.methodKind === 'server_streaming' || codec.method.methodKind === 'bidi_streaming';
	const parts = { path, messages, timeoutMs, signal: call.signal, maxMessages: isStream ? maxMessages : 1 };
	const send = (signed: OutboundRequest): Promise<Outcome> =>
		call.exchange(place.origin, async (failed) => {
			const channel = await channelTo(place, config.rootCertificates, call);
			const ended = await channel.use((client) => exchange(client, { ...parts, metadata: metadataOf(signed) }));
			if (hasFailed(ended)) failed();
			return ended;
		});
	const { outcome, secrets } = await sendSigned(request, call, send);
	const reading: Reading = { config, codec, place, schema: call.tool?.outputSchema ?? null, secrets };
	return isStream ? streamResult(outcome, reading) : unaryResult(outcome, reading);
}

/** Once more with another access token, where the server refused one before it did anything. */
async function sendSigned(
	request: OutboundRequest,
	call: Call,
	send: (signed: OutboundRequest) => Promise<Outcome>,
): Promise<{ outcome: Outcome; secrets: string[] }> {
	const secrets: string[] = [];
	for (let signed = await sign(request, call); ; ) {
		secrets.push(...secretsAdded(request, signed));
		const outcome = await send(signed);
		const isRefused = outcome.status.code === Status.UNAUTHENTICATED && outcome.messages.length === 0;
		const renewed = isRefused ? await call.renew(signed) : null;
		if (renewed === null) return { outcome, secrets };
		signed = renewed;
	}
}

/** What would be sent, with the messages as the server would write them. */
export async function previewByGrpc(args: JsonObject, config: GrpcConfig, codec: Codec, call: Call): Promise<JsonObject> {
	const place = placeOf(call);
	const path = pathOf(config, place);
	const { headers = {} } = await sign(requestTo(path, place), call);
	const messages = messagesIn(args, config).map(({ json, at }) => codec.show(codec.read(json, at)));
	return { protocol: 'grpc', url: place.origin + path, tls: place.isTls, metadata: headers, messages, timeoutMs: config.timeoutMs };
}

const pathOf = ({ service, method }: GrpcConfig, { prefix }: Place): string => `${prefix}/${service}/${method}`;

const requestTo = (path: string, { origin }: Place): OutboundRequest => ({ method: 'POST', url: origin + path, headers: {} });

/** gRPC is HTTP/2, so a credential for HTTP is one for it, but for the places that a call does not have. */
async function sign(request: OutboundRequest, call: Call): Promise<OutboundRequest> {
	const signed = await call.sign(request);
	if (signed.url === request.url) return signed;
	throw new GatewayError('validation_failed', 'The key of this API goes into the query, which gRPC does not have: store it for a header.');
}

function metadataOf({ headers = {} }: OutboundRequest): Metadata {
	const metadata = new Metadata();
	for (const [name, value] of Object.entries(headers)) {
		try {
			metadata.set(name, name.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
		} catch (cause) {
			throw new GatewayError('validation_failed', `The credential’s ${JSON.stringify(name)} cannot be sent as metadata.`, { cause });
		}
	}
	return metadata;
}

async function unaryResult(outcome: Outcome, reading: Reading): Promise<ToolResult> {
	const { messages, status, cut } = outcome;
	const { place } = reading;
	if (cut === 'bytes') throw tooLarge(place);
	if (cut === 'messages') throw new GatewayError('upstream_failed', `${place.host} answered with several messages where one was to come.`);
	if (!isOk(status)) return failedCall(outcome, reading);
	const [text] = await textsOf(messages, reading);
	if (text === undefined) throw new GatewayError('upstream_failed', `${place.host} answered without a message.`);
	return jsonResult(text, reading.schema);
}

const tooLarge = ({ host }: Place): GatewayError =>
	new GatewayError('upstream_failed', `${host} answered with more than ${MAX_RECEIVED_BYTES} bytes.`);

/** What came before a limit is an answer, which says that it is not the whole one. */
async function streamResult(outcome: Outcome, reading: Reading): Promise<ToolResult> {
	const { messages, status } = outcome;
	const cut = cutOf(outcome, reading.config);
	if (cut === null && !isOk(status)) return withPart(failedCall(outcome, reading), outcome, reading);
	const end = cut === null ? '' : `,"cut":${JSON.stringify(cut)}`;
	return jsonResult(`{"messages":[${await textsOf(messages, reading)}]${end}}`, reading.schema);
}

function cutOf({ messages, status, cut, tookMs }: Outcome, { maxMessages, timeoutMs }: GrpcConfig): string | null {
	if (cut === 'messages') return `The first ${maxMessages} messages are here: there were more.`;
	if (cut === 'bytes')
		return `The first ${messages.length} messages are here: together with the next they exceed ${MAX_RECEIVED_BYTES} bytes.`;
	const isLate = status.code === Status.DEADLINE_EXCEEDED && tookMs >= timeoutMs - 50;
	return isLate && messages.length > 0 ? `These are the messages of the first ${timeoutMs / 1000} s: the stream had not ended.` : null;
}

async function withPart(failed: ToolResult, { messages }: Outcome, reading: Reading): Promise<ToolResult> {
	if (messages.length === 0) return failed;
	const { content } = await jsonResult(`[${await textsOf(messages, reading)}]`);
	return { ...failed, content: [...failed.content, { type: 'text', text: 'Before that it sent:' }, ...content] };
}

async function textsOf(messages: readonly Buffer[], { codec, config, secrets }: Reading): Promise<string[]> {
	const texts = await decodeAll(messages, codec, config);
	return texts.map((text) => withoutSecrets(text, secrets));
}
