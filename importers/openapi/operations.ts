// Operations of a document, each converted by itself: what is wrong with one is its own loss, never its neighbours'.

import { cleanText, type Json, type JsonObject, type Operation } from '../../core/index.ts';
import { readAnswer } from './answers.ts';
import { readParameters, spell } from './arguments.ts';
import { readBody } from './body.ts';
import { createDefinitions, type Definitions } from './definitions.ts';
import { type Document, isObject } from './document.ts';
import { follow } from './references.ts';
import { createConversion } from './schemas.ts';
import { type CredentialPlace, credentialPlaces, readSecurity } from './security.ts';
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
	credentialPlaces: ReadonlySet<CredentialPlace>;
	/** Where the document came from. */
	url: string | null;
	/** The document's first server, absolute if it can be. */
	server: string | null;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** They answer nothing that a tool could hand on. */
const WITHOUT_TOOL = ['OPTIONS', 'HEAD', 'TRACE'];
const MAX_DESCRIPTION_CHARS = 1000;
const MAX_TAGS = 20;
const MAX_REASONS = 20;

export function surroundingsOf(document: Document, url: string | null): Surroundings {
	const conversion = createConversion(document);
	const server = firstServer(document.root['servers']);
	return {
		document,
		requests: createDefinitions(conversion, 'request'),
		answers: createDefinitions(conversion, 'response'),
		credentialPlaces: credentialPlaces(document.root),
		url,
		server: server === null ? null : (absoluteUrl(server, url) ?? server),
	};
}

/** In the document's order. A path item that cannot be read is one entry, of method `*`. */
export function listOperations({ root }: Document): Entry[] {
	const paths = isObject(root['paths']) ? root['paths'] : {};
	return Object.entries(paths)
		.filter(([path]) => !path.startsWith('x-'))
		.flatMap(([path, value]) => listPathItem(path, value, root));
}

function listPathItem(path: string, value: Json, root: JsonObject): Entry[] {
	const at = follow(root, value);
	if ('fault' in at) return [{ method: '*', path, operationId: null, raw: null, item: {}, fault: `its path item is unknown: ${at.fault}` }];
	// Fields beside the `$ref` of a path item are read too: 3.1.1 leaves the choice (§4.8.9.1).
	const item = isObject(value) ? { ...at.object, ...value } : at.object;
	return METHODS.filter((method) => Object.hasOwn(item, method)).map((method) => {
		const raw = item[method] ?? null;
		const operationId = isObject(raw) && typeof raw['operationId'] === 'string' ? cleanText(raw['operationId'], 300) || null : null;
		return { method: method.toUpperCase(), path, operationId, raw, item, fault: null };
	});
}

export function convertOperation(entry: Entry, name: string, surroundings: Surroundings): Operation {
	const { method, path, operationId, raw } = entry;
	const operation = isObject(raw) ? raw : {};
	const common = {
		key: `${method} ${path}`,
		operationId,
		name,
		description: describe(operation, `${method} ${path}`),
		method,
		path,
		tags: tagsOf(operation['tags']),
		deprecated: operation['deprecated'] === true,
	};
	const fault = entry.fault ?? faultOf(entry);
	const result = fault === null ? convertCall(entry, operation, surroundings) : { skip: fault };
	if (!('skip' in result)) return { ...common, ...result };
	const nothing = { parameters: { type: 'object' }, outputSchema: null, definition: {} };
	return { ...common, ...nothing, outcome: 'skipped', reasons: [sentence(result.skip)] };
}

type Converted = Pick<Operation, 'parameters' | 'outputSchema' | 'definition' | 'outcome' | 'reasons'>;

function convertCall(entry: Entry, operation: JsonObject, surroundings: Surroundings): Converted | { skip: string } {
	const { requests, answers, document } = surroundings;
	const faults = new Set<string>();
	const lists = [entry.item['parameters'], operation['parameters']];
	const source = { lists, path: entry.path, credentialPlaces: surroundings.credentialPlaces };
	const args = readParameters(source, requests, faults);
	const body = readBody(operation['requestBody'], requests, faults);
	if (body && 'skip' in body) return body;
	const bodyArg = nameBody(args);
	const parameters = joinArguments(args, body && { ...body, arg: bodyArg }, requests, faults);
	const answer = readAnswer(operation['responses'], answers);
	const definition: JsonObject = { method: entry.method, path: sentPath(entry.path), ...serversOf(entry, operation, surroundings, faults) };
	if (args.length > 0) definition['parameters'] = args.map(({ wire }) => wire);
	if (body) definition['requestBody'] = { arg: bodyArg, ...body.wire };
	if (answer.accept !== null) definition['headers'] = { accept: answer.accept };
	const security = readSecurity(operation['security'] ?? document.root['security'], document.root, faults);
	if (security) definition['security'] = security;
	const reasons = [...faults].slice(0, MAX_REASONS).map(sentence);
	return { parameters, outputSchema: answer.schema, definition, outcome: reasons.length > 0 ? 'degraded' : 'converted', reasons };
}

/** Why there is no tool to make of it; null when there is. */
function faultOf({ method, path, raw }: Entry): string | null {
	if (!isObject(raw)) return 'it is not an object';
	if (WITHOUT_TOOL.includes(method)) return `no tool is made of ${method}`;
	if (!path.startsWith('/') || path.startsWith('//')) return 'its path does not begin with one slash';
	if (/[\p{Cc}\\]/u.test(path)) return 'its path has characters that no URL has';
	if (/[{}]/.test(path.replace(/\{[^{}]+\}/g, ''))) return 'the braces in its path do not match';
	return sentPath(path)
		.split('/')
		.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
		? 'its path has a segment that leads elsewhere'
		: null;
}

/** Some documents tell operations of one path apart by a fragment, which no client sends. */
const sentPath = (path: string): string => spell(path.replace(/#.*$/s, ''));

/** `server`: the operation's own; `rootServer`: the document's. Either may be relative to the API's base URL. */
function serversOf({ item }: Entry, operation: JsonObject, { url, server }: Surroundings, faults: Set<string>): JsonObject {
	const servers: JsonObject = server === null ? {} : { rootServer: server };
	const own = [operation['servers'], item['servers']].find((list) => Array.isArray(list) && list.length > 0);
	if (own === undefined) return servers;
	const first = firstServer(own);
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

function tagsOf(tags: Json | undefined): string[] {
	if (!Array.isArray(tags)) return [];
	return tags
		.filter((tag) => typeof tag === 'string')
		.map((tag) => cleanText(tag, 100))
		.slice(0, MAX_TAGS);
}

const sentence = (fault: string): string => `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
