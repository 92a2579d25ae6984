// Splits answers of several parts (MTOM, SOAP with Attachments; RFC 2387) into the message and attachments by content id.

import type { OutboundResponse } from '../../../core/index.ts';

export interface Parts {
	/** The message, with its own content type. */
	root: { body: Buffer; contentType: string };
	attachments: Map<string, Buffer>;
}

const MAX_PARTS = 1_000;
const MAX_HEADER_BYTES = 64 * 1024;
const BLANK_LINE = Buffer.from('\r\n\r\n');

/** @throws Error with the rest of a sentence about the answer */
export function readParts({ headers, body }: OutboundResponse): Parts {
	const contentType = headers['content-type'] ?? '';
	if (!/^multipart\/related\s*(?:;|$)/i.test(contentType)) return { root: { body, contentType }, attachments: new Map() };
	const boundary = parameterOf(contentType, 'boundary');
	if (!boundary) throw new Error('it has several parts, but no boundary between them');
	const parts = split(body, Buffer.from(`--${boundary}`));
	const start = bare(parameterOf(contentType, 'start') ?? '');
	const root = parts.find(({ id }) => start !== '' && id === start) ?? parts[0];
	if (!root) throw new Error('it has no parts');
	return { root, attachments: new Map(parts.filter((part) => part !== root).map(({ id, body: bytes }) => [id, bytes])) };
}

interface Part {
	id: string;
	contentType: string;
	body: Buffer;
}

function split(body: Buffer, delimiter: Buffer): Part[] {
	const parts: Part[] = [];
	let from = body.indexOf(delimiter);
	for (let seen = 0; from >= 0; seen++) {
		if (seen > MAX_PARTS) throw new Error(`it has more than ${MAX_PARTS} parts`);
		const begin = from + delimiter.length;
		const end = body.indexOf(delimiter, begin);
		if (end < 0) return parts;
		const part = partOf(body.subarray(begin, end));
		if (part) parts.push(part);
		from = end;
	}
	return parts;
}

/** Reads one part; null if it has no header. */
function partOf(bytes: Buffer): Part | null {
	const end = bytes.subarray(0, MAX_HEADER_BYTES).indexOf(BLANK_LINE);
	if (end < 0) return null;
	const header = bytes
		.subarray(0, end)
		.toString('latin1')
		.replace(/\r\n[ \t]+/g, ' ');
	const field = (name: string): string => new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(header)?.[1]?.trim() ?? '';
	const content = bytes.subarray(end + BLANK_LINE.length);
	// The line break before a delimiter belongs to the delimiter.
	const body = content.subarray(0, Math.max(0, content.length - 2));
	const isBase64 = field('content-transfer-encoding').toLowerCase() === 'base64';
	return {
		id: bare(field('content-id')),
		contentType: field('content-type'),
		body: isBase64 ? Buffer.from(body.toString('latin1'), 'base64') : body,
	};
}

const bare = (id: string): string => id.trim().replace(/^<|>$/g, '');

function parameterOf(contentType: string, name: string): string | null {
	const match = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^;\\s]+))`, 'i').exec(contentType);
	return match?.[1] ?? match?.[2] ?? null;
}
