// Converts Swagger 2.0 to OpenAPI 3.0: fields are moved to their new locations, operation by operation. Schemas stay where they
// are, since references use pointers. A parameter's kind is known only after its reference was followed, so it is converted then.

import { isObject, type Json, type JsonObject } from '../../../core/index.ts';
import type { Document } from '../document.ts';
import { follow } from '../references.ts';
import { convertForm, convertParameter } from './parameters.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];
const ANY = '*/*';

/** @param url from which the document was fetched: scheme and host default to it (§ Fixed Fields, `host`) */
export function fromSwagger(document: Document, url: string | null): Document {
	const { root } = document;
	const converted: JsonObject = {
		...root,
		servers: serversOf(root, schemesOf(root, url)),
		paths: mapValues(pathsOf(root), (item, path) => (path.startsWith('x-') ? item : convertItem(item, root, url))),
		components: { securitySchemes: mapValues(objectOf(root['securityDefinitions']), convertScheme) },
	};
	return { ...document, root: converted, version: '3.0' };
}

/** Returns the paths, with those of `x-ms-paths`, where Azure's documents have what differs only in its query (AutoRest extensions). */
function pathsOf(root: JsonObject): JsonObject {
	const paths = follow(root, root['paths']);
	return { ...('object' in paths ? paths.object : {}), ...objectOf(root['x-ms-paths']) };
}

const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

const mapValues = (values: JsonObject, map: (value: Json, key: string) => Json): JsonObject =>
	Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, key)]));

const textsOf = (value: Json | undefined): string[] =>
	[value].flat().filter((text): text is string => typeof text === 'string' && text !== '');

function convertItem(raw: Json, root: JsonObject, url: string | null): Json {
	const at = follow(root, raw);
	// It is left as it is, so that `listOperations` reports the fault.
	if ('fault' in at) return raw;
	const { parameters, ...item } = isObject(raw) ? { ...at.object, ...raw } : at.object;
	delete item['$ref'];
	for (const method of METHODS) {
		const operation = item[method];
		if (isObject(operation)) item[method] = convertOperation(operation, parameters, root, url);
	}
	return item;
}

function convertOperation(operation: JsonObject, shared: Json | undefined, root: JsonObject, url: string | null): JsonObject {
	const { parameters, consumes, produces, schemes, responses, ...rest } = operation;
	const { plain, body } = sortParameters([shared, parameters], root, textsOf(consumes ?? root['consumes']));
	const converted: JsonObject = { ...rest, parameters: plain };
	if (body) converted['requestBody'] = body;
	const types = textsOf(produces ?? root['produces']);
	converted['responses'] = mapValues(objectOf(responses), (response) => convertResponse(response, types.length > 0 ? types : [ANY], root));
	const own = textsOf(schemes);
	if (own.length > 0 && !own.includes(schemesOf(root, url)[0] ?? '')) converted['servers'] = serversOf(root, own);
	return converted;
}

/** Separates the body from other parameters. Those of the operation override those of the path (§ Operation Object), body included. */
function sortParameters(lists: (Json | undefined)[], root: JsonObject, consumes: string[]): { plain: Json[]; body: JsonObject | null } {
	const plain = new Map<string, Json>();
	const fields = new Map<string, JsonObject>();
	let body: JsonObject | null = null;
	for (const raw of lists.flatMap((list) => (Array.isArray(list) ? list : []))) {
		const at = follow(root, raw);
		if ('fault' in at) plain.set(JSON.stringify(raw), raw);
		else if (at.object['in'] === 'body') body = at.object;
		else if (at.object['in'] === 'formData') fields.set(String(at.object['name']), at.object);
		else plain.set(`${String(at.object['in'])} ${String(at.object['name'])}`, convertParameter(at.object));
	}
	return { plain: [...plain.values()], body: body ? convertBody(body, consumes) : convertForm([...fields.values()], consumes) };
}

function convertBody({ schema, description, required }: JsonObject, consumes: string[]): JsonObject {
	const types = consumes.length > 0 ? consumes : ['application/json'];
	const content = Object.fromEntries(types.map((type) => [type, { schema: schema ?? {} }]));
	return { content, required: required === true, ...(description === undefined ? {} : { description }) };
}

function convertResponse(raw: Json, produces: string[], root: JsonObject): Json {
	const at = follow(root, raw);
	if ('fault' in at) return raw;
	const { schema, examples, ...rest } = at.object;
	// Without a schema "no content is returned as part of the response" (§ Response Object), unless there are examples of it.
	if (schema === undefined && examples === undefined) return rest;
	const mediaType: JsonObject = schema === undefined ? {} : { schema };
	return { ...rest, content: Object.fromEntries(produces.map((type) => [type, mediaType])) };
}

const FLOWS: Readonly<Record<string, string>> = { application: 'clientCredentials', accessCode: 'authorizationCode' };

function convertScheme(raw: Json): Json {
	if (!isObject(raw)) return raw;
	const { type, flow, authorizationUrl, tokenUrl, scopes, ...rest } = raw;
	if (type === 'basic') return { ...rest, type: 'http', scheme: 'basic' };
	if (type !== 'oauth2' || typeof flow !== 'string') return raw;
	const urls = { ...(authorizationUrl === undefined ? {} : { authorizationUrl }), ...(tokenUrl === undefined ? {} : { tokenUrl }) };
	return { ...rest, type, flows: { [FLOWS[flow] ?? flow]: { ...urls, scopes: scopes ?? {} } } };
}

/** Returns the URL schemes, `https` first: the first server is the one that is called, with credentials. */
function schemesOf({ schemes }: JsonObject, url: string | null): string[] {
	const told = textsOf(schemes).filter((scheme) => /^https?$/.test(scheme));
	const fetched = url?.startsWith('http:') ? 'http' : 'https';
	return told.length > 0 ? told.toSorted((a, b) => b.length - a.length) : [fetched];
}

/** Makes server URLs; without a `host` they are relative to the URL of the document (§ Fixed Fields). */
function serversOf({ host, basePath }: JsonObject, schemes: string[]): Json {
	const path = typeof basePath === 'string' ? `/${basePath.replace(/^\/+|\/+$/g, '')}`.replace(/^\/$/, '') : '';
	if (typeof host === 'string' && host !== '') return schemes.map((scheme) => ({ url: `${scheme}://${host}${path}` }));
	return path === '' ? [] : [{ url: path }];
}
