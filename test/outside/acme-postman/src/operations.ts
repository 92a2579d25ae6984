// The requests of a collection as operations.

import { cleanText, headerNameFault, isObject, type Json, type JsonObject, nameOperations, type Operation, parsedUrl } from 'gatehouse';
import { listOf } from './index.ts';

/** A request with the names of its folders. */
interface Item {
	folders: string[];
	name: string;
	request: JsonObject | string;
	description: string;
}

interface Argument {
	arg: string;
	name: string;
	in: 'path' | 'query' | 'header';
	description: string;
}

/** The parts of a request that decide its place. */
interface RequestTarget {
	method: string;
	/** Null when only the variables of an environment tell it. */
	origin: string | null;
	path: string;
	query: JsonObject[];
}

const MAX_DEPTH = 50;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const LANGUAGES: Readonly<Record<string, string>> = {
	json: 'application/json',
	xml: 'application/xml',
	html: 'text/html',
	javascript: 'text/javascript',
};
/** Headers that the body, the credential or the connection decides. */
const OURS = ['content-type', 'accept', 'authorization', 'cookie', 'user-agent', 'cache-control', 'postman-token'];

export function operationsOf(
	collection: JsonObject,
	variables: ReadonlyMap<string, string>,
): { operations: Operation[]; servers: string[] } {
	const items = [...itemsOf(collection['item'], [])];
	const places = items.map((item) => placeOf(item, variables));
	const servers = [...new Set(places.flatMap(({ origin }) => (origin === null ? [] : [origin])))].sort();
	// The API has one address. Requests to another one keep theirs.
	const base = servers.length === 1 ? servers[0] : undefined;
	const names = nameOperations(items.map((item, at) => ({ ...namedPlace(places[at]), operationId: item.name })));
	const keys = new Map<string, number>();
	const operations = items.map((item, at) => {
		const place = places[at] as RequestTarget;
		const key = `${place.method} ${place.path} ${[...item.folders, item.name].join('/')}`.slice(0, 1000);
		const before = keys.get(key) ?? 0;
		keys.set(key, before + 1);
		const origin = place.origin === base ? null : place.origin;
		return operationOf(item, { ...place, origin }, names[at] ?? '', before === 0 ? key : `${key} ${before + 1}`);
	});
	return { operations, servers };
}

const namedPlace = (place: RequestTarget | undefined) => ({ method: place?.method ?? 'GET', path: place?.path ?? '/' });

function* itemsOf(list: Json | undefined, folders: string[]): Generator<Item> {
	if (folders.length > MAX_DEPTH) return;
	for (const item of listOf(list)) {
		const name = cleanText(typeof item['name'] === 'string' ? item['name'] : '', 120);
		if (Array.isArray(item['item'])) yield* itemsOf(item['item'], [...folders, name]);
		else {
			const request = isObject(item['request']) ? item['request'] : String(item['request'] ?? '');
			const description = textOf(isObject(request) ? request['description'] : undefined) || textOf(item['description']) || name;
			yield { folders, name, request, description: cleanText(description, 1000) };
		}
	}
}

/** A description is a text, or an object with one. */
const textOf = (value: Json | undefined): string => {
	const text = isObject(value) ? value['content'] : value;
	return typeof text === 'string' ? text : '';
};

function placeOf({ request }: Item, variables: ReadonlyMap<string, string>): RequestTarget {
	const { method, url } = isObject(request) ? request : { method: 'GET', url: request };
	const raw = String((isObject(url) ? url['raw'] : url) ?? '');
	const known = raw.replace(/\{\{([^{}]+)\}\}/g, (whole, name: string) => variables.get(name.trim()) || whole);
	const [beforeQuery = ''] = known.split(/[?#]/);
	const [, origin = null, path = ''] = /^(https?:\/\/[^/]*|\{\{[^{}]+\}\})?(.*)$/s.exec(beforeQuery) ?? [];
	const isAbsolute = origin !== null && !/[{}]/.test(origin) && parsedUrl(origin) !== null;
	return {
		method: String(method ?? 'GET').toUpperCase(),
		origin: isAbsolute ? origin : null,
		path: templateOf(path),
		query: isObject(url) ? listOf(url['query']) : [...new URLSearchParams(known.split('?')[1])].map(([key]) => ({ key })),
	};
}

/** `/pets/:id/{{format}}` is `/pets/{id}/{format}`. Whatever no address holds is encoded. */
function templateOf(path: string): string {
	const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.' && segment !== '..');
	const shown = segments.map((segment) => {
		const variable = /^:([\w.-]+)$/.exec(segment) ?? /^\{\{([^{}]+)\}\}$/.exec(segment);
		return variable?.[1] === undefined ? encodeURIComponent(segment.toWellFormed()) : `{${argumentName(variable[1])}}`;
	});
	return `/${shown.join('/')}`.slice(0, 2000);
}

const argumentName = (name: string): string => name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 60) || 'value';

function operationOf(item: Item, place: RequestTarget, name: string, key: string): Operation {
	const found = argumentsOf(item, place);
	const body = bodyOf(isObject(item.request) ? item.request['body'] : undefined);
	const isKnown = METHODS.includes(place.method);
	const reasons = [
		...(isKnown ? [] : [`The method ${cleanText(place.method, 20)} is not supported.`]),
		...(body.reason === null ? [] : [body.reason]),
	];
	const properties = Object.fromEntries(
		found.map(({ arg, description }) => [arg, { type: 'string', ...(description !== '' && { description }) }]),
	);
	const required = found.filter((one) => one.in === 'path').map(({ arg }) => arg);
	return {
		...{ key, name, method: place.method, path: place.path, description: item.description, operationId: item.name || null },
		...{ tags: item.folders.slice(0, 1).filter(Boolean), deprecated: false, outputSchema: null, reasons },
		parameters: { type: 'object', properties: { ...properties, ...(body.schema && { body: body.schema }) }, required },
		definition: {
			origin: place.origin,
			arguments: found.map(({ arg, name, in: location }) => ({ arg, name, in: location })),
			requestBody: body.requestBody,
		},
		outcome: isKnown ? (reasons.length > 0 ? 'degraded' : 'converted') : 'skipped',
	};
}

function argumentsOf({ request }: Item, { path, query }: RequestTarget): Argument[] {
	const { url, header } = isObject(request) ? request : { url: null, header: null };
	const about = new Map(
		listOf(isObject(url) ? url['variable'] : undefined).map((one) => [argumentName(String(one['key'])), textOf(one['description'])]),
	);
	const inPath = [...new Set([...path.matchAll(/\{([\w.-]+)\}/g)].map(([, name = '']) => name))];
	const headers = listOf(header).filter(({ key }) => !OURS.includes(String(key).toLowerCase()) && headerNameFault(String(key)) === null);
	const taken = new Set(['body']);
	const add = (name: string, location: Argument['in'], description: string): Argument[] => {
		const arg = argumentName(name);
		if (name === '' || taken.has(arg)) return [];
		taken.add(arg);
		return [{ arg, name, in: location, description: cleanText(description, 500) }];
	};
	return [
		...inPath.flatMap((name) => add(name, 'path', about.get(name) ?? '')),
		...query.flatMap((one) => add(cleanText(String(one['key'] ?? ''), 200), 'query', textOf(one['description']))),
		...headers.flatMap((one) => add(String(one['key']), 'header', textOf(one['description']))),
	];
}

interface Body {
	schema: JsonObject | null;
	requestBody: JsonObject | null;
	reason: string | null;
}

function bodyOf(body: Json | undefined): Body {
	const none = { schema: null, requestBody: null, reason: null };
	if (!isObject(body) || body['disabled'] === true) return none;
	const mode = String(body['mode'] ?? '');
	if (mode === 'raw') return rawBody(body);
	if (mode === 'urlencoded') return formBody(listOf(body[mode]), 'application/x-www-form-urlencoded');
	if (mode === 'formdata') return formBody(listOf(body[mode]), 'multipart/form-data');
	if (mode === 'graphql') {
		const properties = { query: { type: 'string' }, variables: { type: 'object' } };
		return {
			...none,
			schema: { type: 'object', properties, required: ['query'] },
			requestBody: { arg: 'body', contentType: 'application/json' },
		};
	}
	return mode === '' ? none : { ...none, reason: `The body of the kind ${cleanText(mode, 20)} cannot be sent.` };
}

function rawBody({ raw, options }: JsonObject): Body {
	const settings = isObject(options) && isObject(options['raw']) ? options['raw'] : {};
	const language = String(settings['language'] ?? (/^\s*[[{]/.test(String(raw)) ? 'json' : 'text'));
	const contentType = (Object.hasOwn(LANGUAGES, language) ? LANGUAGES[language] : undefined) ?? 'text/plain';
	const schema = contentType === 'application/json' ? exampleOf(String(raw)) : { type: 'string' };
	return { schema, requestBody: { arg: 'body', contentType }, reason: null };
}

/** The names of an example's members, which its values may be secrets of. */
function exampleOf(raw: string): JsonObject {
	try {
		const value = JSON.parse(raw) as Json;
		if (Array.isArray(value)) return { type: 'array' };
		if (isObject(value))
			return { type: 'object', description: cleanText(`Members of the example: ${Object.keys(value).join(', ')}.`, 500) };
	} catch {
		// Placeholders make an example that is no JSON.
	}
	return {};
}

function formBody(fields: JsonObject[], contentType: string): Body {
	const named = fields.filter(({ key }) => typeof key === 'string' && key !== '' && argumentName(key) === key && key !== '__proto__');
	const properties = Object.fromEntries(
		named.map(({ key, description }) => [
			String(key),
			{ type: 'string', ...(textOf(description) !== '' && { description: cleanText(textOf(description), 500) }) },
		]),
	);
	const files = named.filter(({ type }) => type === 'file').map(({ key }) => [String(key), { binary: true }]);
	return {
		schema: { type: 'object', properties },
		requestBody: { arg: 'body', contentType, ...(files.length > 0 && { parts: Object.fromEntries(files) }) },
		reason: named.length < fields.length ? 'Fields of the form whose names are no names of arguments are left out.' : null,
	};
}
