// Turns an upstream's answer into a tool's result: JSON as data, text as text, the rest as a file. Headers are left out where there is a body.

import { randomUUID } from 'node:crypto';
import {
	decodeTextGradually,
	failedResult,
	grouped,
	isJsonType,
	isTextType,
	type JsonSchema,
	jsonResult,
	mediaTypeOf,
	type OutboundResponse,
	statusLine,
	type ToolResult,
	textResult,
	withoutSecrets,
} from '../../../core/index.ts';

const MEDIA_TYPE = /^(image|audio)\//i;
/** A result is one JSON text with the file in base64; a file of this size is written in less than 20 ms. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

export interface Reading {
	method: string;
	/** The tool's output schema, which the data must still fit when it is cut. */
	schema: JsonSchema | null;
	/** Values that an upstream may repeat and the caller must not read. */
	secrets: readonly string[];
}

/** The headers are the answer to HEAD, and to OPTIONS without content. */
const OF_HEADERS: ReadonlySet<string> = new Set(['HEAD', 'OPTIONS']);
/** Headers that are meant only for the holder of the credential. */
const KEPT_BACK = /^(?:set-cookie2?|www-authenticate|proxy-authenticate|authentication-info)$/i;

/** Headers by which an answer without a body names what was made, or where its state is found (RFC 9110 §8.7, §10.2.2; Azure's 202). */
const PLACES: ReadonlySet<string> = new Set(['location', 'content-location', 'operation-location']);

export async function readResponse(response: OutboundResponse, { method, schema, secrets }: Reading): Promise<ToolResult> {
	const { status, body } = response;
	const contentType = response.headers['content-type'] ?? '';
	// A redirect that was not followed is a failure; 304 is not a redirect (RFC 9110 §15.4.5).
	if (status >= 300 && status !== 304) return failedResult(response, secrets);
	if (body.length === 0) return emptyResult(response, { method, schema, secrets });
	const isUnnamed = contentType === '' && !body.includes(0) && isUtf8(body);
	if (!isUnnamed && !isJsonType(contentType) && !isTextType(contentType)) return binary(contentType, response);
	const text = withoutSecrets(await decodeTextGradually(body, contentType), secrets);
	return isTextType(contentType) && !isJsonType(contentType) ? textResult(text) : jsonResult(text, schema);
}

function emptyResult({ status, headers }: OutboundResponse, { method, schema, secrets }: Reading): ToolResult {
	const isOfHeaders = OF_HEADERS.has(method);
	const shown = Object.entries(headers)
		.filter(([name]) => (isOfHeaders ? !KEPT_BACK.test(name) : PLACES.has(name)))
		.map(([name, value]): [string, string] => [name, withoutSecrets(value, secrets)]);
	if (!isOfHeaders && shown.length === 0) return textResult(statusLine(status));
	const structured = { status, headers: Object.fromEntries(shown) };
	const content: ToolResult['content'] = [{ type: 'text', text: JSON.stringify(structured) }];
	// Data would have to fit the schema of a body.
	return isOfHeaders || schema === null ? { content, structured } : { content };
}

function isUtf8(body: Buffer): boolean {
	try {
		new TextDecoder('utf-8', { fatal: true }).decode(body);
		return true;
	} catch {
		// `fatal` reports invalid text only by throwing.
		return false;
	}
}

/** Half a file is useless, so one that is too long is a failure, which says that the call itself was answered. */
function binary(contentType: string, { status, body }: OutboundResponse): ToolResult {
	const mimeType = mediaTypeOf(contentType) || 'application/octet-stream';
	if (body.length > MAX_FILE_BYTES) {
		const sizes = `${grouped(body.length)} bytes, and a result takes files of up to ${grouped(MAX_FILE_BYTES)}`;
		return {
			content: [{ type: 'text', text: `${statusLine(status)}, but the answer is left out: it is ${mimeType} of ${sizes}.` }],
			isError: true,
		};
	}
	const data = body.toString('base64');
	const kind = MEDIA_TYPE.exec(mimeType)?.[1];
	if (kind === 'image' || kind === 'audio') return { content: [{ type: kind, data, mimeType }] };
	// The URI is a random one, since the query of the URL may hold the credential.
	return { content: [{ type: 'resource', resource: { uri: `urn:uuid:${randomUUID()}`, mimeType, blob: data } }] };
}
