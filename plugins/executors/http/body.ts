// Writes a request's body in the media type that the config or the API's description names.

import { randomBytes } from 'node:crypto';
import { headerValueFault, invalid, isObject, type Json, type JsonObject } from '../../../core/index.ts';
import type { Spend } from './budget.ts';
import { inCharset, jsonInCharset } from './charset.ts';
import type { Part } from './config.ts';
import { formPieces, isStyled, partPairs, percentEncode } from './serialize.ts';
import { plainText } from './template.ts';
import { writeXml } from './xml.ts';

export interface Body {
	contentType: string;
	content: string | Buffer;
}

const RECORD_SEPARATOR = '\u001e';

type Parts = Readonly<Record<string, Part>>;

export interface Writing {
	parts?: Parts | undefined;
	/** The settings of fields that `parts` does not name. */
	otherParts?: Part | undefined;
	/** Hears of what forms and multipart bodies repeat. */
	spend: Spend;
}

/** Registered JSON media types, and those of vendors (`application/vnd.example.v1.json`). */
const JSON_TYPE = /^(?:text\/json|(?!text\/)[^;]*json[^;]*|\*\/\*|application\/\*)\s*(?:;|$)/i;
const FORM_TYPE = /^application\/(?:x-www-form-urlencoded|form-data)\s*(?:;|$)/i;
const MULTIPART_TYPE = /^multipart\//i;
/** One JSON text per line: https://jsonlines.org, https://github.com/ndjson/ndjson-spec. */
const LINES_TYPE = /^application\/(?:x-)?(?:jsonl|jsonlines|ndjson)\s*(?:;|$)/i;
/** JSON text sequences: RFC 7464, and RFC 8142 for the suffix. */
const SEQUENCE_TYPE = /^[^;]*[/+]json-seq\s*(?:;|$)/i;
/** Media types whose body is the argument's text as it is; the argument of any type not listed here or above is base64. */
const TEXT_TYPE = /^(?:text\/|[^;]*(?:\+xml|\+yaml|\/xml|\/yaml|\/x-yaml|\/graphql|\/javascript|\/sql|\/xml-dtd)\s*(?:;|$))/i;

/** @param at JSON pointer of the argument, for messages. @throws validation_failed */
export function writeBody(contentType: string, value: Json, at: string, writing: Writing): Body {
	if (isJson(contentType))
		return {
			contentType: contentType.includes('*') ? 'application/json' : contentType,
			content: jsonInCharset(JSON.stringify(value), contentType),
		};
	if (FORM_TYPE.test(contentType)) return { contentType: 'application/x-www-form-urlencoded', content: form(value, at, writing) };
	if (MULTIPART_TYPE.test(contentType)) return multipart(contentType, fields(value, at, 'a multipart body'), at, writing);
	const isLines = LINES_TYPE.test(contentType);
	const isSequence = isLines || SEQUENCE_TYPE.test(contentType);
	if (typeof value !== 'string' && isSequence)
		return { contentType, content: jsonInCharset(sequence(value, isLines ? '' : RECORD_SEPARATOR), contentType) };
	if (isSequence || TEXT_TYPE.test(contentType)) return { contentType, content: inCharset(plainText(value), contentType, at) };
	if (typeof value !== 'string') throw invalid(at, `${at} must be a base64 string: it is sent as ${contentType}.`);
	return { contentType, content: fromBase64(value, at) };
}

const isJson = (contentType: string): boolean =>
	JSON_TYPE.test(contentType) && !LINES_TYPE.test(contentType) && !SEQUENCE_TYPE.test(contentType);

/** Writes each item as one JSON text. */
function sequence(value: Json, before: string): string {
	return (Array.isArray(value) ? value : [value]).map((item) => `${before}${JSON.stringify(item)}\n`).join('');
}

/** Writes a form; a text is expected to be encoded already. */
function form(value: Json, at: string, writing: Writing): string {
	if (typeof value === 'string') return value;
	return Object.entries(fields(value, at, 'a form'))
		.flatMap(([name, item]) => fieldPieces(name, item, partFor(name, writing), writing.spend))
		.join('&');
}

/** Writes one field; objects are JSON unless the description asks for a style (OpenAPI 3.1 §4.8.15.1). */
function fieldPieces(name: string, value: Json, part: Part, spend: Spend): string[] {
	if (value === null) return [];
	const asJson = part.contentType === undefined ? !Array.isArray(value) : isJson(part.contentType);
	if (!isStyled(part) && typeof value === 'object' && asJson) return [`${percentEncode(name)}=${percentEncode(JSON.stringify(value))}`];
	return formPieces(name, part, value, spend);
}

interface Piece {
	headers: string[];
	content: Buffer;
}

const partFor = (name: string, { parts = {}, otherParts = {} }: Writing): Part =>
	Object.hasOwn(parts, name) ? (parts[name] ?? {}) : otherParts;

function multipart(contentType: string, value: JsonObject, at: string, writing: Writing): Body {
	// 128 random bits, which no content holds by chance.
	const boundary = `gatehouse-${randomBytes(16).toString('hex')}`;
	const pieces = Object.entries(value).flatMap(([name, item]) =>
		partsOf(name, item, partFor(name, writing)).map(([own, one, part]) => {
			const made = piece(own, one, `${at}/${name}`, part);
			writing.spend(made.headers.reduce((sum, header) => sum + header.length, made.content.length));
			return made;
		}),
	);
	const chunks = pieces.flatMap(({ headers, content }) => [
		Buffer.from(`--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n`),
		content,
		Buffer.from('\r\n'),
	]);
	// Names of parts are UTF-8, and each part names its own charset.
	const type = contentType.replace(/\s*;\s*(?:boundary|charset)\s*=[^;]*/gi, '');
	return { contentType: `${type}; boundary=${boundary}`, content: Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]) };
}

/** Returns the name, value and settings of each part that one field becomes. */
function partsOf(name: string, value: Json, part: Part): [name: string, value: Json, part: Part][] {
	if (isSpelled(value, part)) {
		// The media type of a field in a style is ignored (OpenAPI 3.1.1 §4.8.15.1.2).
		const { contentType: _, xml: __, ...rest } = part;
		return partPairs(name, part, value).map(([own, text]) => [own, text, rest]);
	}
	const items = Array.isArray(value) && !isJson(part.contentType ?? '') ? value : [value];
	return items.filter((one) => one !== null).map((one) => [name, one, part]);
}

/** Whether a style makes other parts of a value than multipart does anyway: one for each item of a list, each in its own media type. */
function isSpelled(value: Json, part: Part): boolean {
	if (part.binary || !isStyled(part) || value === null || typeof value !== 'object') return false;
	const { style = 'form', explode = style === 'form' } = part;
	return !(Array.isArray(value) && style === 'form' && explode);
}

function piece(name: string, value: Json, at: string, part: Part): Piece {
	if (part.binary) return file(name, value, at, part);
	if (part.xml && typeof value !== 'string') {
		const { contentType, content } = writeXml(part.contentType ?? 'application/xml', part.xml, value, at);
		return { headers: partHeaders({ name, contentType, more: part.headers }), content: Buffer.from(content) };
	}
	const type = part.contentType ?? (typeof value === 'object' ? 'application/json' : undefined);
	const content =
		type !== undefined && isJson(type) ? jsonInCharset(JSON.stringify(value), type) : inCharset(plainText(value), type ?? '', at);
	return { headers: partHeaders({ name, contentType: type, more: part.headers }), content: Buffer.from(content) };
}

/** Writes the part of a file, given as `{ data (base64), filename, contentType }` or as base64 alone. */
function file(name: string, value: Json, at: string, part: Part): Piece {
	const given: JsonObject = isObject(value) ? value : { data: value };
	const { data, filename = name, contentType = firstType(part.contentType) } = given;
	if (typeof data !== 'string' || typeof filename !== 'string' || typeof contentType !== 'string')
		throw invalid(at, `${at} must be a base64 string or { data: base64, filename, contentType }.`);
	if (headerValueFault(contentType) !== null) throw invalid(`${at}/contentType`, `${at}/contentType must be a media type.`);
	return { headers: partHeaders({ name, filename, contentType, more: part.headers }), content: fromBase64(data, at) };
}

/** Picks the first media type, since an encoding object may list several, or a range of them. */
function firstType(listed = ''): string {
	const first = listed.split(',')[0]?.trim() ?? '';
	return first === '' || first.includes('*') ? 'application/octet-stream' : first;
}

interface PartHeaders {
	name: string;
	filename?: string;
	contentType: string | undefined;
	more: Record<string, string> | undefined;
}

function partHeaders({ name, filename, contentType, more = {} }: PartHeaders): string[] {
	const disposition = `Content-Disposition: form-data; name="${quoted(name)}"`;
	return [
		filename === undefined ? disposition : `${disposition}; filename="${quoted(filename)}"`,
		...(contentType === undefined ? [] : [`Content-Type: ${contentType}`]),
		...Object.entries(more).map(([header, value]) => `${header}: ${value}`),
	];
}

/** Percent-encodes the three characters that https://html.spec.whatwg.org/#multipart-form-data names. */
function quoted(text: string): string {
	return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function fields(value: Json, at: string, what: string): JsonObject {
	if (!isObject(value)) throw invalid(at, `${at} must be an object: it is sent as ${what}.`);
	return value;
}

function fromBase64(text: string, at: string): Buffer {
	const compact = text.replace(/[\r\n]/g, '');
	if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(compact)) throw invalid(at, `${at} must be base64.`);
	return Buffer.from(compact, 'base64');
}
