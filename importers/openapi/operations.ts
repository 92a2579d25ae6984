// Lists the operations of a document and converts each by itself, so that a fault in one does not affect the others.

import { cleanText, isObject, type Json, type JsonObject, type Operation, quote, WholeSchemas } from '../../core/index.ts';
import { readAnswer } from './answers.ts';
import { readParameters, spell } from './arguments.ts';
import { readBody } from './body.ts';
import { createDefinitions, type Definitions } from './definitions.ts';
import type { Document } from './document.ts';
import { type ImportOptions, NO_OPTIONS, ON_REQUEST } from './options.ts';
import { follow } from './references.ts';
import { createConversion } from './schemas.ts';
import { keyLocationsOf, readSecurity, type Schemes, schemesIn, wireLocation } from './security.ts';
import { absoluteUrl, firstServer } from './servers.ts';
import { joinArguments, nameBody } from './signature.ts';

/** An operation as the document has it. */
export interface ListedOperation {
	method: string;
	path: string;
	operationId: string | null;
	raw: Json;
	item: JsonObject;
	/** The reason why it cannot be read; null when it can. */
	fault: string | null;
}

/** The state that all operations of one document share. */
export interface DocumentContext {
	document: Document;
	requests: Definitions;
	answers: Definitions;
	wholes: WholeSchemas;
	schemes: Schemes;
	/** URL from which the document was fetched. */
	url: string | null;
	/** The document's first server, absolute if it can be. */
	server: string | null;
	options: ImportOptions;
	/** The tags above each tag (OpenAPI 3.2 §4.22.1, `parent`). */
	tagsAbove: ReadonlyMap<string, readonly string[]>;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** Methods whose responses are of no use to a tool. */
const WITHOUT_TOOL = ['TRACE', 'CONNECT'];
/** Methods in the IANA registry, and PURGE: the same that the `http` executor sends (`executor.test.ts`). */
export const ADDITIONAL: ReadonlySet<string> = new Set(
	[
		'ACL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MKWORKSPACE MOVE ORDERPATCH PROPFIND PROPPATCH',
		'PURGE REBIND REPORT SEARCH UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE GET PUT POST DELETE PATCH QUERY',
	].flatMap((methods) => methods.split(' ')),
);
const MAX_DESCRIPTION_CHARS = 1000;
const MAX_TITLE_CHARS = 120;
const MAX_TAGS = 20;
const MAX_REASONS = 20;

/** @param url from which the document was fetched */
export function createDocumentContext(document: Document, url: string | null, options: ImportOptions = NO_OPTIONS): DocumentContext {
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

/** Lists the operations in the document's order. A path item that cannot be read is listed once, with the method `*`. */
export function listOperations(document: Document): ListedOperation[] {
	const paths = follow(document.root, document.root['paths']);
	return Object.entries('object' in paths ? paths.object : {})
		.filter(([path]) => !path.startsWith('x-'))
		.flatMap(([path, value]) => listPathItem(path, value, document));
}

function listPathItem(path: string, value: Json, { root, version }: Document): ListedOperation[] {
	const at = follow(root, value);
	if ('fault' in at) return [{ method: '*', path, operationId: null, raw: null, item: {}, fault: `its path item is unknown: ${at.fault}` }];
	// Fields beside the `$ref` of a path item are read too, which 3.1.1 leaves undefined (§4.8.9.1).
	const item = isObject(value) ? { ...at.object, ...value } : at.object;
	const fields = version === '3.2' ? [...METHODS, 'query'] : METHODS;
	const listed = fields
		.filter((method) => Object.hasOwn(item, method))
		.map((method) => listedOperation(method.toUpperCase(), path, item[method] ?? null, item));
	return version === '3.2' ? [...listed, ...additionalOperations(path, item)] : listed;
}

/** Lists operations with methods that have no field of their own, spelled as they are sent (OpenAPI 3.2 §4.10.1). */
function additionalOperations(path: string, item: JsonObject): ListedOperation[] {
	const additional = isObject(item['additionalOperations']) ? item['additionalOperations'] : {};
	return Object.entries(additional).map(([method, raw]) => {
		if (Object.hasOwn(item, method.toLowerCase()) && [...METHODS, 'query'].includes(method.toLowerCase()))
			return {
				...listedOperation(`additionalOperations.${method}`, path, raw, item),
				fault: 'the path already has an operation with this method',
			};
		const listed = listedOperation(method, path, raw, item);
		const isSent = ADDITIONAL.has(method) || [...WITHOUT_TOOL, ...ON_REQUEST].includes(method);
		return isSent ? listed : { ...listed, fault: `its method ${quote(method)} is not a registered method in its exact spelling` };
	});
}

function listedOperation(method: string, path: string, raw: Json, item: JsonObject): ListedOperation {
	const operationId = isObject(raw) && typeof raw['operationId'] === 'string' ? cleanText(raw['operationId'], 300) || null : null;
	return { method: cleanText(method, 60), path, operationId, raw, item, fault: null };
}

export function convertOperation(listed: ListedOperation, name: string, context: DocumentContext): Operation {
	const { method, path, operationId, raw } = listed;
	const operation = isObject(raw) ? raw : {};
	const common = {
		key: `${method} ${path}`,
		operationId,
		name,
		title: titleOf(operation),
		description: describe(operation, inWords(operationId, `${method} ${path}`)),
		method,
		path,
		tags: tagsOf(operation['tags'], context.tagsAbove),
		deprecated: operation['deprecated'] === true,
	};
	const fault = listed.fault ?? faultOf(listed, context.options);
	const result = fault === null ? convertCall(listed, operation, context) : { skip: fault };
	if (!('skip' in result)) return { ...common, ...result };
	const nothing = { parameters: { type: 'object' }, outputSchema: null, definition: {} };
	return { ...common, ...nothing, outcome: 'skipped', reasons: [sentence(result.skip)] };
}

type Converted = Pick<Operation, 'parameters' | 'whole' | 'outputSchema' | 'answerCut' | 'definition' | 'outcome' | 'reasons'>;

function convertCall(listed: ListedOperation, operation: JsonObject, context: DocumentContext): Converted | { skip: string } {
	const { requests, answers, document, schemes } = context;
	const faults = new Set<string>();
	const lists = [listed.item['parameters'], operation['parameters']];
	const source = { lists, path: barePath(listed.path), queryNames: queryNames(listed.path), document };
	const { args, path } = readParameters(source, requests, faults);
	const body = readBody(operation['requestBody'], requests, faults);
	if (body && 'skip' in body) return body;
	const bodyArg = nameBody(args);
	const signature = joinArguments(args, body && { ...body, arg: bodyArg }, context, faults);
	const answer = readAnswer(operation['responses'], answers);
	const definition: JsonObject = { method: listed.method, path: spell(path), ...serversOf(listed, operation, context, faults) };
	if (args.length > 0) definition['parameters'] = args.map(({ wire }) => wire);
	if (body) definition['requestBody'] = { arg: bodyArg, ...body.wire };
	if (answer.accept !== null) definition['headers'] = { accept: answer.accept };
	const security = readSecurity(operation['security'] ?? document.root['security'], schemes, faults);
	if (security) definition['security'] = security;
	const keys = keyLocationsOf(security, schemes);
	const fillable = args.filter(({ wire }) => keys.has(wireLocation(wire['in'], wire['name'])));
	if (fillable.length > 0) definition['fillable'] = fillable.map(({ arg }) => ({ arg }));
	const reasons = [...faults].slice(0, MAX_REASONS).map(sentence);
	const schemas = { ...signature, outputSchema: answer.schema, answerCut: answer.isCut };
	return { ...schemas, definition, outcome: reasons.length > 0 ? 'degraded' : 'converted', reasons };
}

/** The executor takes no longer URLs. */
const MAX_PATH_CHARS = 8_000;

/** Returns the reason why the operation cannot become a tool; null when it can. */
function faultOf({ method, path, raw }: ListedOperation, { methods }: ImportOptions): string | null {
	if (!isObject(raw)) return 'it is not an object';
	if (WITHOUT_TOOL.includes(method)) return `${method} operations do not become tools`;
	const isAsked = ON_REQUEST.every((one) => one !== method) || methods.some((one) => one === method);
	if (!isAsked) return `${method} operations become tools only where options.methods of the import names them`;
	if (!path.startsWith('/') || path.startsWith('//')) return 'its path does not begin with a single slash';
	if (sentPath(path).length > MAX_PATH_CHARS) return `its path has more than ${MAX_PATH_CHARS} characters`;
	if (/[\p{Cc}\\]/u.test(path)) return 'its path has characters that a URL cannot contain';
	if (/[{}]/.test(path.replace(/\{[^{}]+\}/g, ''))) return 'the braces in its path do not match';
	return sentPath(path)
		.split('/')
		.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
		? 'its path has a segment “.” or “..”'
		: null;
}

/** A query template (RFC 6570 §3.2.8 and §3.2.9) as frameworks write it into paths: `/pets{?limit,offset*}`. */
const QUERY_TEMPLATE = /\{[?&]([^{}]*)\}/g;

/** Removes query templates, and the fragment by which some documents distinguish operations of one path: no client sends it. */
const barePath = (path: string): string => path.replace(/#.*$/s, '').replace(QUERY_TEMPLATE, '');
const sentPath = (path: string): string => spell(barePath(path));

const queryNames = (path: string): string[] =>
	[...path.matchAll(QUERY_TEMPLATE)]
		.flatMap(([, names = '']) => names.split(',').map((name) => name.trim().replace(/(?:\*|:\d+)$/, '')))
		.filter(Boolean);

/** @returns `server`, the operation's own, and `rootServer`, the document's. Either may be relative to the API's base URL. */
function serversOf({ item }: ListedOperation, operation: JsonObject, context: DocumentContext, faults: Set<string>): JsonObject {
	const { url, server, options } = context;
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
	// Generators repeat the document's server at each operation; that must not bypass the base URL that the user gave.
	if (resolved !== server) servers['server'] = resolved;
	return servers;
}

function describe({ summary, description, deprecated }: JsonObject, fallback: string): string {
	const texts = [summary, description].map((part) => (typeof part === 'string' ? part.trim() : ''));
	const parts = texts.filter((text) => text !== '');
	// Many descriptions repeat the summary.
	if (parts.length === 2 && parts[1]?.startsWith(parts[0] ?? '')) parts.shift();
	if (deprecated === true) parts.unshift('Deprecated.');
	return cleanText(parts.join('\n\n'), MAX_DESCRIPTION_CHARS) || fallback;
}

/** Returns the summary in one line, which names the operation for people; null where there is none. */
function titleOf({ summary }: JsonObject): string | null {
	if (typeof summary !== 'string') return null;
	return cleanText(summary.slice(0, MAX_DESCRIPTION_CHARS).replaceAll(/\s+/g, ' '), MAX_TITLE_CHARS).replace(/\.$/, '') || null;
}

/** Turns `listUserRepos` into "List user repos (GET /users/{id}/repos)", since a model needs some description to choose a tool by. */
function inWords(operationId: string | null, route: string): string {
	const words = (operationId ?? '')
		.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
		.replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
		.split(/[^\p{L}\p{N}]+/u)
		.filter(Boolean);
	const text = words.map((word) => (/^\p{Lu}{2,}$/u.test(word) ? word : word.toLowerCase())).join(' ');
	return text === '' ? route : `${text.charAt(0).toUpperCase()}${text.slice(1)} (${route})`;
}

/** Adds the parents of each tag, since a filter for a tag includes the tags below it. */
function tagsOf(tags: Json | undefined, above: DocumentContext['tagsAbove']): string[] {
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
