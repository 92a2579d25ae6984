// From an upstream's answer to a tool's result: JSON as data, text as text, the rest as what it is. Headers stay behind.

import { randomUUID } from 'node:crypto';
import {
	decodeText,
	failedResult,
	isJsonType,
	isTextType,
	jsonResult,
	type OutboundResponse,
	statusLine,
	type ToolResult,
	textResult,
} from '../../../core/index.ts';

const MEDIA_TYPE = /^(image|audio)\//i;

export function readResponse(response: OutboundResponse): ToolResult {
	const { status, body } = response;
	const contentType = response.headers['content-type'] ?? '';
	if (status >= 400) return failedResult(response);
	if (body.length === 0) return textResult(statusLine(status));
	if (isJsonType(contentType)) return jsonResult(decodeText(body, contentType));
	if (isTextType(contentType)) return textResult(decodeText(body, contentType));
	if (contentType === '') return unnamed(body);
	return binary(contentType, body);
}

function unnamed(body: Buffer): ToolResult {
	if (body.includes(0) || !isUtf8(body)) return binary('application/octet-stream', body);
	return jsonResult(decodeText(body, ''));
}

function isUtf8(body: Buffer): boolean {
	try {
		new TextDecoder('utf-8', { fatal: true }).decode(body);
		return true;
	} catch {
		// `fatal` has no other way to say no.
		return false;
	}
}

function binary(contentType: string, body: Buffer): ToolResult {
	const data = body.toString('base64');
	const mimeType = (contentType.split(';')[0] ?? '').trim().toLowerCase();
	const kind = MEDIA_TYPE.exec(mimeType)?.[1];
	if (kind === 'image' || kind === 'audio') return { content: [{ type: kind, data, mimeType }] };
	// Not the URL: its query may hold the credential.
	return { content: [{ type: 'resource', resource: { uri: `urn:uuid:${randomUUID()}`, mimeType, blob: data } }] };
}
