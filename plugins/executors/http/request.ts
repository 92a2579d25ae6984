// Builds the HTTP request of a config and arguments. Sends nothing.

import {
	type Api,
	GatewayError,
	headerValueFault,
	invalid,
	type Json,
	type JsonObject,
	type OutboundRequest,
} from '../../../core/index.ts';
import { type Body, type Writing, writeBody } from './body.ts';
import { budgetOf, MAX_BODY_CHARS, MAX_HEAD_CHARS, type Spend } from './budget.ts';
import { inCharset } from './charset.ts';
import { climbs, type HttpConfig, type Parameter } from './config.ts';
import { type Plan, planOf } from './plan.ts';
import { cookiePieces, headerText, pathValue, percentEncode, queryPieces } from './serialize.ts';
import { fillJson, fillText, fillValue, plainText, type Read, reader } from './template.ts';
import { writeXml } from './xml.ts';

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

/** @throws validation_failed */
export function buildRequest(config: HttpConfig, args: JsonObject, api: Api | null): OutboundRequest {
	const plan = planOf(config, api);
	const used = plan.takesRest ? new Set<string>() : null;
	const read = reader(args, used);
	const spend = budgetOf('a URL and headers', MAX_HEAD_CHARS);
	const path = fillPath(plan, read);
	const pieces = queryOf(plan, read, spend);
	const headers = fillHeaders(plan, read, spend);
	const rest = used ? leftOver(args, used) : null;
	if (rest && plan.restInQuery) for (const name in rest) append(pieces, looseQuery(name, rest[name] ?? null, spend));
	const body = bodyOf(config, headers, read) ?? (rest && !plan.restInQuery ? looseBody(rest, headers) : null);
	const url = assertUnder(plan, path, pieces);
	const { method, timeoutMs } = config;
	const request: OutboundRequest = { method, url, headers, body };
	if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
	if (config.security) request.security = config.security;
	return request;
}

function fillPath({ path }: Plan, read: Read): string {
	let filled = '';
	for (const piece of path) filled += typeof piece === 'string' ? piece : pathText(piece, read(piece.arg));
	return filled;
}

function pathText(parameter: Parameter, value: Json | undefined): string {
	const { arg } = parameter;
	if (value === undefined || value === null) throw invalid(`/${arg}`, `${arg} is required: it is part of the URL's path.`);
	const text = pathValue(parameter, value);
	if (/^\.{0,2}$/.test(text)) throw invalid(`/${arg}`, `${arg} must not be empty, "." or "..": it is part of the URL's path.`);
	return text;
}

/** A list may have more items than a call can have arguments. */
function append(pieces: string[], more: readonly string[]): void {
	for (const piece of more) pieces.push(piece);
}

function queryOf(plan: Plan, read: Read, spend: Spend): string[] {
	if (plan.hasNoQuery) return [];
	const pieces = [...plan.query, ...fillQuery(plan.template, read, spend)];
	for (const [name, template] of plan.configured) {
		const value = typeof template === 'string' ? fillValue(template, read, spend) : template;
		if (value !== undefined) append(pieces, looseQuery(name, value, spend));
	}
	for (const parameter of plan.parameters.query) {
		const value = read(parameter.arg) ?? null;
		if (value !== null) append(pieces, queryPieces(parameter, value, spend));
	}
	for (const parameter of plan.parameters.querystring) {
		const value = read(parameter.arg) ?? null;
		if (value !== null) pieces.push(wholeQuery(parameter, value, spend));
	}
	return pieces;
}

/** Fills the pieces of the URL's own query; all but placeholders stays to the byte. */
function fillQuery(template: string[], read: Read, spend: Spend): string[] {
	return template.map((piece) => fillText(piece, read, spend, percentEncode)).filter((piece) => piece !== null);
}

/** Writes a query value that has no style: a list once per item, an object as JSON. */
function looseQuery(name: string, value: Json, spend: Spend): string[] {
	const key = percentEncode(name);
	const pieces: string[] = [];
	for (const item of Array.isArray(value) ? value : [value]) {
		if (item === null) continue;
		const piece = `${key}=${percentEncode(plainText(item))}`;
		spend(piece.length);
		pieces.push(piece);
	}
	return pieces;
}

/** Writes the whole query: a form is one already; a text of any other media type is percent-encoded (OpenAPI 3.2 §4.12.4). */
function wholeQuery({ arg, contentType = '', parts }: Parameter, value: Json, spend: Spend): string {
	const { content } = writeBody(contentType, value, `/${arg}`, { parts, spend });
	return FORM.test(contentType) ? String(content) : percentEncode(String(content));
}

function fillHeaders(plan: Plan, read: Read, spend: Spend): Record<string, string> {
	const headers = { ...plan.headers };
	for (const { name, template } of plan.filledHeaders) put(headers, name, fillText(template, read, spend));
	// Absent arguments send nothing, and neither does null: no style can write it.
	for (const parameter of plan.parameters.header) {
		const value = read(parameter.arg) ?? null;
		if (value !== null) put(headers, parameter.name, headerText(parameter, value));
	}
	const cookies = plan.parameters.cookie.flatMap((parameter) => {
		const value = read(parameter.arg) ?? null;
		return value === null ? [] : cookiePieces(parameter, value, spend);
	});
	if (cookies.length > 0) put(headers, 'cookie', [headers['cookie'], ...cookies].filter(Boolean).join('; '));
	return headers;
}

function put(headers: Record<string, string>, name: string, value: string | null): void {
	if (value !== null) headers[name.toLowerCase()] = checkedHeader(name, value);
}

function checkedHeader(name: string, value: string): string {
	const fault = headerValueFault(value);
	if (fault !== null) throw invalid(`/${name}`, `The value for header ${name} ${fault}.`);
	return value;
}

/** Returns the arguments that no placeholder used. */
const leftOver = (args: JsonObject, used: ReadonlySet<string>): JsonObject =>
	Object.fromEntries(Object.entries(args).filter(([name]) => !used.has(name)));

/** Writes the body, and sets the content type in `headers`. */
function bodyOf(config: HttpConfig, headers: Record<string, string>, read: Read): string | Buffer | null {
	if (config.requestBody) {
		const { arg, contentType, parts, otherParts, isText, xml } = config.requestBody;
		const value = read(arg);
		// A text is the finished XML document.
		if (xml && value !== undefined && typeof value !== 'string') return withBody(headers, writeXml(contentType, xml, value, `/${arg}`));
		if (isText && typeof value === 'string') {
			headers['content-type'] = contentType;
			return inCharset(value, contentType, `/${arg}`);
		}
		return value === undefined ? null : write(headers, contentType, value, { at: `/${arg}`, parts, otherParts });
	}
	if (config.body === undefined) return null;
	const value = fillJson(config.body, read, budgetOf('a body', MAX_BODY_CHARS));
	return value === undefined ? null : write(headers, headers['content-type'] ?? 'application/json', value, { at: '/body' });
}

function looseBody(rest: JsonObject, headers: Record<string, string>): string | Buffer | null {
	if (Object.keys(rest).length === 0) return null;
	return write(headers, headers['content-type'] ?? 'application/json', rest, { at: '' });
}

type Written = { at: string } & Omit<Writing, 'spend'>;

function write(headers: Record<string, string>, contentType: string, value: Json, { at, ...parts }: Written): string | Buffer {
	return withBody(headers, writeBody(contentType, value, at, { ...parts, spend: budgetOf('a body', MAX_BODY_CHARS) }));
}

function withBody(headers: Record<string, string>, { contentType, content }: Body): string | Buffer {
	headers['content-type'] = contentType;
	return content;
}

/** Checks the finished URL: whatever the arguments are, the request stays on its origin, under its prefix, on the path as it was written. */
function assertUnder({ origin, prefix }: Plan, path: string, pieces: string[]): string {
	const query = pieces.length > 0 ? `?${pieces.join('&')}` : '';
	const url = new URL(origin + path + query);
	if (climbs(path) || url.origin !== origin || !url.pathname.startsWith(prefix) || url.hash !== '')
		throw new GatewayError('validation_failed', 'The arguments would make the URL leave the path that the tool was made for.');
	return url.href;
}
