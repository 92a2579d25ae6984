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
import { type Body, writeBody } from './body.ts';
import { climbs, type HttpConfig, type Parameter } from './config.ts';
import { cookiePieces, headerText, pathValue, percentEncode, queryPieces } from './serialize.ts';
import { fillJson, fillText, fillValue, plainText, type Read, reader } from './template.ts';
import { writeXml } from './xml.ts';

const IN_QUERY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

/** Prefers JSON, which becomes structured content, and accepts anything. */
const ACCEPT = 'application/json, text/*;q=0.9, */*;q=0.8';

/** @throws validation_failed */
export function buildRequest(config: HttpConfig, args: JsonObject, api: Api | null): OutboundRequest {
	const used = new Set<string>();
	const read = reader(args, used);
	const base = knownBase(config, api);
	const path = fillPath(base.path, config, read);
	const pieces = [...base.query, ...fillQuery(base.template, read), ...configuredQuery(config, read), ...parameterQuery(config, read)];
	const headers = fillHeaders(config, read);
	const rest = leftOver(config, args, used);
	if (IN_QUERY.has(config.method)) pieces.push(...Object.entries(rest).flatMap(([name, value]) => looseQuery(name, value)));
	const body = bodyOf(config, headers, read) ?? (IN_QUERY.has(config.method) ? null : looseBody(rest, headers));
	const url = assertUnder(base, path, pieces);
	return {
		method: config.method,
		url,
		headers,
		body,
		timeoutMs: config.timeoutMs,
		...(config.security ? { security: config.security } : {}),
	};
}

/** Split URLs, by configs, which are frozen; an API's URL may change beside them. */
const BASES = new WeakMap<HttpConfig, { baseUrl: string | undefined; base: BaseUrl }>();

function knownBase(config: HttpConfig, api: Api | null): BaseUrl {
	const known = BASES.get(config);
	if (known && known.baseUrl === api?.baseUrl) return known.base;
	const base = baseOf(config.url, api);
	if (Object.isFrozen(config)) BASES.set(config, { baseUrl: api?.baseUrl, base });
	return base;
}

interface BaseUrl {
	origin: string;
	/** The API's own path, which no argument may leave; empty for absolute URLs. */
	prefix: string;
	/** The path with its placeholders, `prefix` included. */
	path: string;
	/** Query of the API's base URL, unchanged. */
	query: string[];
	/** Query of the config's URL, with placeholders. */
	template: string[];
}

/** Splits the URL. A placeholder can stand only after the origin: config.ts refuses others. */
function baseOf(url: string, api: Api | null): BaseUrl {
	const [beforeQuery = '', ...queries] = url.split('?');
	const template = queries.join('?').split('&').filter(Boolean);
	if (!url.startsWith('/')) {
		const [authority = ''] = /^[a-z]+:\/\/[^/]*/i.exec(beforeQuery) ?? [];
		return { origin: new URL(authority).origin, prefix: '', path: beforeQuery.slice(authority.length) || '/', query: [], template };
	}
	if (api === null || !URL.canParse(api.baseUrl))
		throw invalid(
			'/url',
			'url must be absolute, such as https://api.example.com/pets: the tool has no API with a base URL to put before it.',
		);
	const base = new URL(api.baseUrl);
	const prefix = base.pathname.replace(/\/+$/, '');
	return { origin: base.origin, prefix, path: prefix + beforeQuery, query: base.search.slice(1).split('&').filter(Boolean), template };
}

function fillPath(path: string, config: HttpConfig, read: Read): string {
	return path.replace(/\{([^{}]+)\}/g, (_match, name: string) => {
		const parameter = config.parameters?.find((one) => one.in === 'path' && one.name === name) ?? { arg: name, name, in: 'path' as const };
		const value = read(parameter.arg);
		if (value === undefined || value === null)
			throw invalid(`/${parameter.arg}`, `${parameter.arg} is required: it is part of the URL's path.`);
		const text = pathValue(parameter, value);
		if (/^\.{0,2}$/.test(text))
			throw invalid(`/${parameter.arg}`, `${parameter.arg} must not be empty, "." or "..": it is part of the URL's path.`);
		return text;
	});
}

/** Fills the pieces of the URL's own query; all but placeholders stays to the byte. */
function fillQuery(template: string[], read: Read): string[] {
	return template.map((piece) => fillText(piece, read, percentEncode)).filter((piece) => piece !== null);
}

function configuredQuery(config: HttpConfig, read: Read): string[] {
	return Object.entries(config.query ?? {}).flatMap(([name, template]) => {
		const value = typeof template === 'string' ? fillValue(template, read) : template;
		return value === undefined ? [] : looseQuery(name, value);
	});
}

/** Writes a query value that has no style: a list once per item, an object as JSON. */
function looseQuery(name: string, value: Json): string[] {
	const items = Array.isArray(value) ? value : [value];
	return items.filter((item) => item !== null).map((item) => `${percentEncode(name)}=${percentEncode(plainText(item))}`);
}

function parameterQuery(config: HttpConfig, read: Read): string[] {
	const pieces = present(config, 'query', read).flatMap(({ parameter, value }) => queryPieces(parameter, value));
	return [...pieces, ...present(config, 'querystring', read).map(({ parameter, value }) => wholeQuery(parameter, value))];
}

/** Writes the whole query: a form is one already; a text of any other media type is percent-encoded (OpenAPI 3.2 §4.12.4). */
function wholeQuery({ arg, contentType = '', parts }: Parameter, value: Json): string {
	const { content } = writeBody(contentType, value, `/${arg}`, parts);
	return FORM.test(contentType) ? String(content) : percentEncode(String(content));
}

type ParameterLocation = Parameter['in'];

/** Finds the parameters that have a value. Absent arguments send nothing, and neither does null: no style can write it. */
function present(config: HttpConfig, location: ParameterLocation, read: Read) {
	return (config.parameters ?? [])
		.filter((parameter) => parameter.in === location)
		.map((parameter) => ({ parameter, value: read(parameter.arg) ?? null }))
		.filter(({ value }) => value !== null);
}

function fillHeaders(config: HttpConfig, read: Read): Record<string, string> {
	const headers: Record<string, string> = { accept: ACCEPT };
	const put = (name: string, value: string | null): void => {
		if (value !== null) headers[name.toLowerCase()] = checkedHeader(name, value);
	};
	for (const [name, template] of Object.entries(config.headers ?? {})) put(name, fillText(template, read));
	for (const { parameter, value } of present(config, 'header', read)) put(parameter.name, headerText(parameter, value));
	const cookies = present(config, 'cookie', read).flatMap(({ parameter, value }) => cookiePieces(parameter, value));
	if (cookies.length > 0) put('cookie', [headers['cookie'], ...cookies].filter(Boolean).join('; '));
	return headers;
}

function checkedHeader(name: string, value: string): string {
	const fault = headerValueFault(value);
	if (fault !== null) throw invalid(`/${name}`, `The value for header ${name} ${fault}.`);
	return value;
}

/** Returns the arguments that no placeholder used, if the config says by placeholders alone where arguments go. */
function leftOver(config: HttpConfig, args: JsonObject, used: ReadonlySet<string>): JsonObject {
	const explicit = config.query ?? config.body ?? config.parameters ?? config.requestBody;
	return explicit === undefined ? Object.fromEntries(Object.entries(args).filter(([name]) => !used.has(name))) : {};
}

/** Writes the body, and sets the content type in `headers`. */
function bodyOf(config: HttpConfig, headers: Record<string, string>, read: Read): string | Buffer | null {
	if (config.requestBody) {
		const { arg, contentType, parts, isText, xml } = config.requestBody;
		const value = read(arg);
		// A text is the finished XML document.
		if (xml && value !== undefined && typeof value !== 'string') return withBody(headers, writeXml(contentType, xml, value, `/${arg}`));
		if (isText && typeof value === 'string') {
			headers['content-type'] = contentType;
			return value;
		}
		return value === undefined ? null : write(headers, contentType, value, { at: `/${arg}`, parts });
	}
	if (config.body === undefined) return null;
	const value = fillJson(config.body, read);
	return value === undefined
		? null
		: write(headers, headers['content-type'] ?? 'application/json', value, { at: '/body', parts: undefined });
}

function looseBody(rest: JsonObject, headers: Record<string, string>): string | Buffer | null {
	if (Object.keys(rest).length === 0) return null;
	return write(headers, headers['content-type'] ?? 'application/json', rest, { at: '', parts: undefined });
}

type Written = { at: string; parts: NonNullable<HttpConfig['requestBody']>['parts'] | undefined };

function write(headers: Record<string, string>, contentType: string, value: Json, { at, parts }: Written): string | Buffer {
	return withBody(headers, writeBody(contentType, value, at, parts));
}

function withBody(headers: Record<string, string>, { contentType, content }: Body): string | Buffer {
	headers['content-type'] = contentType;
	return content;
}

/** Checks the finished URL: whatever the arguments are, the request stays on its origin, under its prefix, on the path as it was written. */
function assertUnder({ origin, prefix }: BaseUrl, path: string, pieces: string[]): string {
	const query = pieces.length > 0 ? `?${pieces.join('&')}` : '';
	const url = new URL(origin + path + query);
	if (climbs(path) || url.origin !== origin || !url.pathname.startsWith(prefix) || url.hash !== '')
		throw new GatewayError('validation_failed', 'The arguments would make the URL leave the path that the tool was made for.');
	return url.href;
}
