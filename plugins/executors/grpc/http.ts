// Runs a call by JSON over HTTP, as google/api/http.proto defines it: the fields that the path names go there, the body's field into the
// body, and the rest into the query.

import { randomUUID } from 'node:crypto';
import type { DescMessage } from '@bufbuild/protobuf';
import {
	asGatewayError,
	type Call,
	decodeTextGradually,
	failedResult,
	GatewayError,
	invalid,
	isJsonType,
	isObject,
	isTextType,
	type Json,
	type JsonObject,
	jsonResult,
	mediaTypeOf,
	type OutboundRequest,
	type OutboundResponse,
	secretsAdded,
	statusLine,
	type ToolResult,
	textResult,
	withoutSecrets,
} from '../../../core/index.ts';
import { messagesIn } from './arguments.ts';
import { MAX_RECEIVED_BYTES, targetOf } from './channels.ts';
import { type Codec, isPlain } from './codec.ts';
import type { GrpcConfig, HttpBinding } from './config.ts';
import { showAll } from './encoding.ts';
import { type Fields, fillPath, ownValue, percentEncode, stepsOf } from './template.ts';
import type { Owner } from './thread.ts';

export async function callByHttp(args: JsonObject, config: GrpcConfig, codec: Codec, call: Call): Promise<ToolResult> {
	const request = { ...(await buildRequest(args, config, codec, call)), signal: call.signal };
	const signed = await call.sign(request);
	return readResponse(await call.request(signed), secretsAdded(request, signed));
}

export async function previewByHttp(args: JsonObject, config: GrpcConfig, codec: Codec, call: Call): Promise<JsonObject> {
	const { method, url, headers = {}, body } = await call.sign(await buildRequest(args, config, codec, call));
	return { protocol: 'http', method, url, headers, body: body === null || body === undefined ? null : String(body) };
}

/** @throws validation_failed when the arguments fit none of the bindings: the fault names why they do not fit the first */
export async function buildRequest(args: JsonObject, config: GrpcConfig, codec: Codec, call: Owner): Promise<OutboundRequest> {
	const { origin, prefix } = targetOf(call);
	const [first] = messagesIn(args, config);
	if (!first) throw new GatewayError('validation_failed', 'A call over HTTP needs a message to send.');
	const [shown = null] = await showAll([first], codec, config, call);
	const fields = { given: first.json, canonical: isObject(shown) ? shown : {} };
	let fault: unknown = new GatewayError('validation_failed', 'The tool has no HTTP binding.');
	for (const [index, binding] of (config.bindings ?? []).entries()) {
		try {
			const { path, query, body } = lay(binding, fields, codec.method.input);
			const url = checked(origin, prefix, path, query);
			const { timeoutMs } = config;
			return { method: binding.method, url, ...content(body), timeoutMs, maxBytes: MAX_RECEIVED_BYTES };
		} catch (error) {
			if (asGatewayError(error)?.code !== 'validation_failed') throw error;
			if (index === 0) fault = error;
		}
	}
	throw fault;
}

const ACCEPT = 'application/json, text/*;q=0.9, */*;q=0.8';

function content(body: Json | undefined): Pick<OutboundRequest, 'headers' | 'body'> {
	if (body === undefined) return { headers: { accept: ACCEPT } };
	return { headers: { accept: ACCEPT, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

interface Laid {
	path: string;
	query: string[];
	body: Json | undefined;
}

function lay({ path: template, body: bodyField }: HttpBinding, fields: Fields, desc: DescMessage): Laid {
	const { path, rest } = fillPath(template, fields, desc);
	if (bodyField === '*') return { path, query: [], body: rest };
	if (bodyField === undefined) return { path, query: queryOf(rest, desc, ''), body: undefined };
	const [step] = stepsOf(bodyField, desc);
	const name = step?.jsonName ?? bodyField;
	// A message has no default value, so an absent body is a message without fields.
	const { [name]: body = ownValue(fields.canonical, name) ?? step?.blank ?? {}, ...others } = rest;
	return { path, query: queryOf(others, desc, ''), body };
}

/** "Repeated message fields must not be mapped to URL query parameters", and neither can maps: there is no form for them. */
function queryOf(fields: JsonObject, desc: DescMessage, prefix: string): string[] {
	return Object.entries(fields).flatMap(([name, value]) => {
		const field = desc.fields.find(({ jsonName }) => jsonName === name);
		const key = prefix + name;
		if (field?.fieldKind === 'message' && isPlain(field.message)) return queryOf(isObject(value) ? value : {}, field.message, `${key}.`);
		const items = Array.isArray(value) ? value : [value];
		if (items.some((item) => typeof item === 'object' && item !== null))
			throw invalid(
				`/${key.replaceAll('.', '/')}`,
				`${key} cannot be sent: over HTTP it would have to go into the URL, which has no form for it.`,
			);
		return items.filter((item) => item !== null).map((item) => `${percentEncode(key)}=${percentEncode(String(item))}`);
	});
}

/** Checks the finished URL: whatever the arguments are, the request stays on its origin and under its prefix. */
function checked(origin: string, prefix: string, path: string, query: string[]): string {
	const url = new URL(`${origin}${prefix}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`);
	if (url.origin !== origin || url.pathname !== prefix + path || url.hash !== '')
		throw new GatewayError('validation_failed', 'The arguments would make the URL leave the path that the tool was made for.');
	return url.href;
}

/** Reads an answer, which is of any media type if it is a google.api.HttpBody. @param secrets values that the caller must not read */
async function readResponse(response: OutboundResponse, secrets: readonly string[]): Promise<ToolResult> {
	const { status, headers, body } = response;
	const contentType = headers['content-type'] ?? '';
	if (status >= 400) return failedResult(response, secrets);
	if (body.length === 0) return textResult(statusLine(status));
	const readText = async (): Promise<string> => withoutSecrets(await decodeTextGradually(body, contentType), secrets);
	if (isJsonType(contentType) || contentType === '') return jsonResult(await readText());
	if (isTextType(contentType)) return textResult(await readText());
	const mimeType = mediaTypeOf(contentType);
	return { content: [{ type: 'resource', resource: { uri: `urn:uuid:${randomUUID()}`, mimeType, blob: body.toString('base64') } }] };
}
