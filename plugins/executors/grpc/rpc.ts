// Runs a call by gRPC: sends the messages, and turns the answer into a tool's result.

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
import { channelTo, type GrpcTarget, MAX_RECEIVED_BYTES, targetOf } from './channels.ts';
import type { Codec } from './codec.ts';
import type { GrpcConfig } from './config.ts';
import { decodeAll } from './decoding.ts';
import { encodeAll, showAll } from './encoding.ts';
import { exchange, hasFailed, isOk, type Outcome } from './exchange.ts';
import { failedCall } from './status.ts';
import type { Owner } from './thread.ts';

/** The context in which an answer is read. */
interface Reading {
	config: GrpcConfig;
	codec: Codec;
	target: GrpcTarget;
	/** The tool's output schema, which the data must still fit when it is cut. */
	schema: JsonSchema | null;
	/** Values that the server may repeat and the caller must not read. */
	secrets: readonly string[];
	/** The call, whose account takes its turn at what takes long to read. */
	owner: Owner;
}

export async function callByGrpc(args: JsonObject, config: GrpcConfig, codec: Codec, call: Call): Promise<ToolResult> {
	const target = targetOf(call);
	const messages = await encodeAll(messagesIn(args, config), codec, config, call);
	const path = pathOf(config, target);
	const request = requestTo(path, target);
	const { timeoutMs, maxMessages } = config;
	const isStream = codec.method.methodKind === 'server_streaming' || codec.method.methodKind === 'bidi_streaming';
	const received = isStream ? (count: number): void => call.progress(count, undefined, 'messages received') : undefined;
	const parts = { path, messages, timeoutMs, signal: call.signal, maxMessages: isStream ? maxMessages : 1, received };
	const send = (signed: OutboundRequest): Promise<Outcome> =>
		call.exchange(target.origin, async (failed, trace) => {
			const channel = await channelTo(target, config.rootCertificates, call);
			const ended = await channel.use((client) =>
				exchange(client, { ...parts, metadata: metadataOf({ ...signed, headers: { ...trace, ...signed.headers } }) }),
			);
			if (hasFailed(ended)) failed();
			return ended;
		});
	const { outcome, secrets } = await sendSigned(request, call, send);
	const reading: Reading = { config, codec, target, schema: call.tool?.outputSchema ?? null, secrets, owner: call };
	return isStream ? streamResult(outcome, reading) : unaryResult(outcome, reading);
}

/** Sends the request again with another access token if the server refused the first before it did anything. */
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

/** Shows the request that would be sent, with the messages in canonical JSON. */
export async function previewByGrpc(args: JsonObject, config: GrpcConfig, codec: Codec, call: Call): Promise<JsonObject> {
	const target = targetOf(call);
	const path = pathOf(config, target);
	const { headers = {} } = await sign(requestTo(path, target), call);
	const messages = await showAll(messagesIn(args, config), codec, config, call);
	return { protocol: 'grpc', url: target.origin + path, tls: target.isTls, metadata: headers, messages, timeoutMs: config.timeoutMs };
}

const pathOf = ({ service, method }: GrpcConfig, { prefix }: GrpcTarget): string => `${prefix}/${service}/${method}`;

const requestTo = (path: string, { origin }: GrpcTarget): OutboundRequest => ({ method: 'POST', url: origin + path, headers: {} });

/** Adds the credential. gRPC is HTTP/2, so credentials for headers are metadata; a key for the query has no equivalent. */
async function sign(request: OutboundRequest, call: Call): Promise<OutboundRequest> {
	const signed = await call.sign(request);
	if (signed.url === request.url) return signed;
	throw new GatewayError('validation_failed', 'The key of this API goes into the query, which gRPC does not have: store it as a header.');
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
	const { target } = reading;
	if (cut === 'bytes') throw tooLarge(target);
	if (cut === 'messages')
		throw new GatewayError('upstream_failed', `${target.host} answered with several messages where one was expected.`);
	if (!isOk(status)) return failedCall(outcome, reading);
	const [text] = await textsOf(messages, reading);
	if (text === undefined) throw new GatewayError('upstream_failed', `${target.host} answered without a message.`);
	return jsonResult(text, reading.schema);
}

const tooLarge = ({ host }: GrpcTarget): GatewayError =>
	new GatewayError('upstream_failed', `${host} answered with more than ${MAX_RECEIVED_BYTES} bytes.`);

/** Returns the messages received before a limit was reached as an answer that says it is incomplete. */
async function streamResult(outcome: Outcome, reading: Reading): Promise<ToolResult> {
	const { messages, status } = outcome;
	const cut = cutOf(outcome, reading.config);
	if (cut === null && !isOk(status)) return withPart(await failedCall(outcome, reading), outcome, reading);
	const end = cut === null ? '' : `,"cut":${JSON.stringify(cut)}`;
	return jsonResult(`{"messages":[${await textsOf(messages, reading)}]${end}}`, reading.schema);
}

function cutOf({ messages, status, cut, tookMs }: Outcome, { maxMessages, timeoutMs }: GrpcConfig): string | null {
	if (cut === 'messages') return `These are the first ${maxMessages} messages: there were more.`;
	if (cut === 'bytes') return `These are the first ${messages.length} messages: with the next one they exceed ${MAX_RECEIVED_BYTES} bytes.`;
	const isLate = status.code === Status.DEADLINE_EXCEEDED && tookMs >= timeoutMs - 50;
	return isLate && messages.length > 0 ? `These are the messages of the first ${timeoutMs / 1000} s: the stream had not ended.` : null;
}

async function withPart(failed: ToolResult, { messages }: Outcome, reading: Reading): Promise<ToolResult> {
	if (messages.length === 0) return failed;
	const { content } = await jsonResult(`[${await textsOf(messages, reading)}]`);
	return { ...failed, content: [...failed.content, { type: 'text', text: 'Before that it sent:' }, ...content] };
}

async function textsOf(messages: readonly Buffer[], { codec, config, secrets, owner }: Reading): Promise<string[]> {
	const texts = await decodeAll(messages, codec, config, owner);
	return texts.map((text) => withoutSecrets(text, secrets));
}
