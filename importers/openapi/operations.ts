// Operations of a document, each converted by itself: what is wrong with one is its own loss, never its neighbours'.

import { cleanText, isObject, type Json, type JsonObject, type Operation, quote, WholeSchemas } from '../../core/index.ts';
import { readAnswer } from './answers.ts';
import { readParameters, spell } from './arguments.ts';
import { readBody } from './body.ts';
import { createDefinitions, type Definitions } from './definitions.ts';
import type { Document } from './document.ts';
import { type ImportOptions, NO_OPTIONS, ON_REQUEST } from './options.ts';
import { follow } from './references.ts';
import { createConversion } from './schemas.ts';
import { place, placesOf, readSecurity, type Schemes, schemesIn } from './security.ts';
import { absoluteUrl, firstServer } from './servers.ts';
import { joinArguments, nameBody } from './signature.ts';

/** An operation as it lies in the document. */
export interface Entry {
	method: string;
	path: string;
	operationId: string | null;
	raw: Json;
	item: JsonObject;
	/** Why its path item cannot be read. */
	fault: string | null;
}

/** What all operations of one document share. */
export interface Surroundings {
	document: Document;
	requests: Definitions;
	answers: Definitions;
	wholes: WholeSchemas;
	schemes: Schemes;
	/** Where the document came from. */
	url: string | null;
	/** The document's first server, absolute if it can be. */
	server: string | null;
	options: ImportOptions;
	/** The tags above each tag (OpenAPI 3.2 §4.22.1, `parent`). */
	tagsAbove: ReadonlyMap<string, readonly string[]>;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** They answer nothing that a tool could hand on. */
const WITHOUT_TOOL = ['TRACE', 'CONNECT'];
/** Of the IANA registry, and one more: the `http` executor sends the same (`executor.test.ts`). */
export const ADDITIONAL: ReadonlySet<string> = new Set(
	[
		'ACL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MKWORKSPACE MOVE ORDERPATCH PROPFIND PROPPATCH',
		'PURGE REBIND REPORT SEARCH UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE GET PUT POST DELETE PATCH QUERY',
	].flatMap((methods) => methods.split(' ')),
);
const MAX_DESCRIPTION_CHARS = 1000;
const MAX_TAGS = 20;
const MAX_REASONS = 20;

/** @param url where the document came from */
export function surroundingsOf(document: Document, url: string | null, options: ImportOptions = NO_OPTIONS): Surroundings {
	const { serverVariables } = options;
	const conversion = createConversion(document);
	const server = firstServer(document.root['servers'], serverVariables);
	return {
		document,
		requests: createDefinitions(conversion, 'request'),
		answers: createDefinitions(conversion, 'response'),
		wholes: new WholeSchemas(),
		schemes: schemesIn(document.root),
		url,
		server: server === null ? null : (absoluteUrl(server, url) ?? server),
		options,
		tagsAbove: tagsAbove(document.root['tags']),
	};
}

/** In the document's order. A path item that cannot be read is one entry, of method `*`. */
export function listOperations(document: Document): Entry[] {
	const paths = follow(document.root, document.root['paths']);
	return Object.entries('object' in paths ? paths.object : {})
		.filter(([path]) => !path.startsWith('x-'))
		.flatMap(([path, value]) => listPathItem(path, value, document));
}

function listPathItem(path: string, value: Json, { root, version }: Document): Entry[] {
	const at = follow(root, value);
	if ('fault' in at) return [{ method: '*', path, operationId: null, raw: null, item: {}, fault: `its path item is unknown: ${at.fault}` }];
	// Fields beside the `$ref` of a path item are read too: 3.1.1 leaves the choice (§4.8.9.1).
	const item = isObject(value) ? { ...at.object, ...value } : at.object;
	const fields = version === '3.2' ? [...METHODS, 'query'] : METHODS;
	const listed = fields
		.filter((method) => Object.hasOwn(item, method))
		.map((method) => entryOf(method.toUpperCase(), path, item[method] ?? null, item));
	return version === '3.2' ? [...listed, ...additionalOperations(path, item)] : listed;
}

/** OpenAPI 3.2 §4.10.1: methods that have no field of their own, spelled as they are sent. */
function additionalOperations(path: string, item: JsonObject): Entry[] {
	const additional = isObject(item['additionalOperations']) ? item['additionalOperations'] : {};
	return Object.entries(additional).map(([method, raw]) => {
		if (Object.hasOwn(item, method.toLowerCase()) && [...METHODS, 'query'].includes(method.toLowerCase()))
			return { ...entryOf(`additionalOperations.${method}`, path, raw, item), fault: 'the path has an operation of this method already' };
		const entry = entryOf(method, path, raw, item);
		const isSent = ADDITIONAL.has(method) || [...WITHOUT_TOOL, ...ON_REQUEST].includes(method);
		return isSent ? entry : { ...entry, fault: `its method ${quote(method)} is not a registered one, spelled as it is sent` };
	});
}

function entryOf(method: string, path: string, raw: Json, item: JsonObject): Entry {
	const operationId = isObject(raw) && typeof raw['operationId'] === 'string' ? cleanText(raw['operationId'], 300) || null : null;
	return { method: cleanText(method, 60), path, operationId, raw, item, fault: null };
}

export function convertOperation(entry: Entry, name: string, surroundings: Surroundings): Operation {
	const { method, path, operationId, raw } = entry;
	const operation = isObject(raw) ? raw : {};
	const common = {
		key: `${method} ${path}`,
		operationId,
		name,
		description: describe(operation, inWords(operationId, `${method} ${path}`)),
		method,
		path,
		tags: tagsOf(operation['tags'], surroundings.tagsAbove),
		deprecated: operation['deprecated'] === true,
	};
	const fault = entry.fault ?? faultOf(entry, surroundings.options);
	const result = fault === null ? convertCall(entry, operation, surroundings) : { skip: fault };
	if (!('skip' in result)) return { ...common, ...result };
	const nothing = { parameters: { type: 'object' }, outputSchema: null, definition: {} };
	return { ...common, ...nothing, outcome: 'skipped', reasons: [sentence(result.skip)] };
}

type Converted = Pick<Operation, 'parameters' | 'whole' | 'outputSchema' | 'answerCut' | 'definition' | 'outcome' | 'reasons'>;

function convertCall(entry: Entry, operation: JsonObject, surroundings: Surroundings): Converted | { skip: string } {
	const { requests, answers, document, schemes } = surroundings;
	const faults = new Set<string>();
	const lists = [entry.item['parameters'], operation['parameters']];
	const source = { lists, path: barePath(entry.path), queryNames: queryNames(entry.path), document };
	const args = readParameters(source, requests, faults);
	const body = readBody(operation['requestBody'], requests, faults);
	if (body && 'skip' in body) return body;
	const bodyArg = nameBody(args);
	const signature = joinArguments(args, body && { ...body, arg: bodyArg }, surroundings, faults);
	const answer = readAnswer(operation['responses'], answers);
	const definition: JsonObject = { method: entry.method, path: sentPath(entry.path), ...serversOf(entry, operation, surroundings, faults) };
	if (args.length > 0) definition['parameters'] = args.map(({ wire }) => wire);
	if (body) definition['requestBody'] = { arg: bodyArg, ...body.wire };
	if (answer.accept !== null) definition['headers'] = { accept: answer.accept };
	const security = readSecurity(operation['security'] ?? document.root['security'], schemes, faults);
	if (security) definition['security'] = security;
	const keys = placesOf(security, schemes);
	const fillable = args.filter(({ wire }) => keys.has(place(wire['in'], wire['name'])));
	if (fillable.length > 0) definition['fillable'] = fillable.map(({ arg }) => ({ arg }));
	const reasons = [...faults].slice(0, MAX_REASONS).map(sentence);
	const schemas = { ...signature, outputSchema: answer.schema, answerCut: answer.isCut };
	return { ...schemas, definition, outcome: reasons.length > 0 ? 'degraded' : 'converted', reasons };
}

/** Why there is no tool to make of it; null when there is. */
function faultOf({ method, path, raw }: Entry, { methods }: ImportOptions): string | null {
	if (!isObject(raw)) return 'it is not an object';
	if (WITHOUT_TOOL.includes(method)) return `no tool is made of ${method}`;
	const isAsked = ON_REQUEST.every((one) => one !== method) || methods.some((one) => one === method);
	if (!isAsked) return `a tool of ${method} is made only where the import asks for it: options.methods`;
	if (!path.startsWith('/') || path.startsWith('//')) return 'its path does not begin with one slash';
	if (/[\p{Cc}\\]/u.test(path)) return 'its path has characters that no URL has';
	if (/[{}]/.test(path.replace(/\{[^{}]+\}/g, ''))) return 'the braces in its path do not match';
	return sentPath(path)
		.split('/')
		.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
		? 'its path has a segment that leads elsewhere'
		: null;
}

/** RFC 6570 §3.2.8 and §3.2.9, as frameworks write it into paths: `/pets{?limit,offset*}`. */
const QUERY_TEMPLATE = /\{[?&]([^{}]*)\}/g;

/** Without query templates, and without the fragment by which some documents tell operations of one path apart: no client sends it. */
const barePath = (path: string): string => path.replace(/#.*$/s, '').replace(QUERY_TEMPLATE, '');
const sentPath = (path: string): string => spell(barePath(path));

const queryNames = (path: string): string[] =>
	[...path.matchAll(QUERY_TEMPLATE)]
		.flatMap(([, names = '']) => names.split(',').map((name) => name.trim().replace(/(?:\*|:\d+)$/, '')))
		.filter(Boolean);

/** `server`: the operation's own; `rootServer`: the document's. Either may be relative to the API's base URL. */
function serversOf({ item }: Entry, operation: JsonObject, surroundings: Surroundings, faults: Set<string>): JsonObject {
	const { url, server, options } = surroundings;
	const { serverVariables } = options;
	const servers: JsonObject = server === null ? {} : { rootServer: server };
	const own = [operation['servers'], item['servers']].find((list) => Array.isArray(list) && list.length > 0);
	if (own === undefined) return servers;
	const first = firstServer(own, serverVariables);
	if (first === null || absoluteUrl(first, url ?? 'https://relative.invalid') === null) {
		faults.add("its own server has no usable URL: it is called at the API's base URL");
		return servers;
	}
	const resolved = absoluteUrl(first, url) ?? first;
	// Generators repeat the document's server everywhere; that must not bypass the base URL that the user gave.
	if (resolved !== server) servers['server'] = resolved;
	return servers;
}

function describe({ summary, description, deprecated }: JsonObject, fallback: string): string {
	const texts = [summary, description].map((part) => (typeof part === 'string' ? part.trim() : ''));
	const parts = texts.filter((text) => text !== '');
	// Many a description repeats the summary.
	if (parts.length === 2 && parts[1]?.startsWith(parts[0] ?? '')) parts.shift();
	if (deprecated === true) parts.unshift('Deprecated.');
	return cleanText(parts.join('\n\n'), MAX_DESCRIPTION_CHARS) || fallback;
}

/** `listUserRepos` as "List user repos (GET /users/{id}/repos)": without words of its own, a model has nothing else to choose by. */
function inWords(operationId: string | null, place: string): string {
	const words = (operationId ?? '')
		.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
		.replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
		.split(/[^\p{L}\p{N}]+/u)
		.filter(Boolean);
	const text = words.map((word) => (/^\p{Lu}{2,}$/u.test(word) ? word : word.toLowerCase())).join(' ');
	return text === '' ? place : `${text.charAt(0).toUpperCase()}${text.slice(1)} (${place})`;
}

/** Whoever chooses operations by a tag means those below it too. */
function tagsOf(tags: Json | undefined, above: Surroundings['tagsAbove']): string[] {
	if (!Array.isArray(tags)) return [];
	const own = tags.filter((tag) => typeof tag === 'string');
	const all = new Set([...own, ...own.flatMap((tag) => above.get(tag) ?? [])]);
	return [...all].map((tag) => cleanText(tag, 100)).slice(0, MAX_TAGS);
}

function tagsAbove(tags: Json | undefined): Map<string, string[]> {
	const parents = new Map<string, string>();
	for (const tag of Array.isArray(tags) ? tags : []) {
		if (isObject(tag) && typeof tag['name'] === 'string' && typeof tag['parent'] === 'string') parents.set(tag['name'], tag['parent']);
	}
	const above = [...parents.keys()].map((name): [string, string[]] => {
		const found = new Set<string>();
		for (let tag = parents.get(name); tag !== undefined && !found.has(tag) && found.size < MAX_TAGS; tag = parents.get(tag)) found.add(tag);
		return [name, [...found]];
	});
	return new Map(above);
}

const sentence = (fault: string): string => `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
