// Parses the text of a document, JSON or YAML, and checks its version. Text that is not OpenAPI is refused here; later faults
// belong to single operations.

import { LineCounter, parseDocument, type YAMLParseError } from 'yaml';
import { cleanText, escapeToken, GatewayError, isObject, type Json, type JsonObject, type Log, quote } from '../../core/index.ts';

export interface Document {
	root: JsonObject;
	/** Whether no object occurs twice in it: aliases of YAML make that happen. */
	isTree?: boolean;
	/** Pointers to the first numbers that were left out: JSON cannot write them. */
	dropped: readonly string[];
	/** The version whose rules apply. */
	version: '2.0' | '3.0' | '3.1' | '3.2';
	/** Format and version as the document spells them: `openapi 3.0.3`. */
	format: string;
	/** Prefix of references to its schemas: `#/components/schemas/`. */
	schemas: string;
	/** Reason for reading it as another version than its own; null when it is not. */
	note: string | null;
}

const SUPPORTED = 'Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2 are supported';

/** The deepest nesting that every recursive function here survives. Real documents nest 30 to 60 levels. */
const MAX_DEPTH = 500;
/** The number of times one anchor may be expanded, nested ones multiplied. Large documents repeat an anchor some hundred times. */
const MAX_ALIASES = 5_000;

/** @throws schema_invalid naming line and column of a syntax error, or the reason why the document is not OpenAPI */
export function readDocument(text: string): Document {
	const { value, isTree, dropped } = readTree(text);
	if (!isObject(value)) throw refused(`The document is not OpenAPI: its root must be an object, not ${typeName(value)}.`);
	const version = versionOf(value);
	if (value['paths'] !== undefined && !isObject(value['paths']))
		throw refused(`/paths must be an object, not ${typeName(value['paths'])}.`, '/paths');
	return { root: value, isTree, dropped, schemas: version.version === '2.0' ? '#/definitions/' : '#/components/schemas/', ...version };
}

/** Warns of each number that was left out. @param at the pointer of the text's root in the document */
export function warnOfDropped(dropped: readonly string[], log: Log, at = ''): void {
	for (const pointer of dropped)
		log.warn({ pointer: at + pointer }, 'The value is no number that JSON can write (.inf, .nan, or beyond 1.8e308): it was left out.');
}

/** Parses any JSON or YAML. @throws schema_invalid naming line and column of a syntax error */
export function readTree(text: string): { value: Json; isTree: boolean; dropped: string[] } {
	const tree = parseText(text.replace(/^\ufeff/, ''));
	const dropped: string[] = [];
	if (hasInfinite(tree.value)) dropInfinite(tree.value, '', dropped);
	return { ...tree, dropped };
}

const MAX_DROPPED = 20;

/** Removes the numbers that would be written as null: members, and items of lists. A list of nothing else is removed whole. */
function dropInfinite(value: Json, at: string, dropped: string[], seen = new Set<object>()): void {
	if (value === null || typeof value !== 'object' || seen.has(value)) return;
	seen.add(value);
	for (const [name, child] of Object.entries(value)) {
		const pointer = `${at}/${escapeToken(name)}`;
		const isWhole = Array.isArray(child) && child.length > 0 && child.every(isInfinite);
		if (!isWhole && !isInfinite(child)) dropInfinite(child, pointer, dropped, seen);
		else {
			if (dropped.length < MAX_DROPPED) dropped.push(pointer);
			if (!Array.isArray(value)) delete value[name];
		}
	}
	if (Array.isArray(value) && value.some(isInfinite)) value.splice(0, value.length, ...value.filter((item) => !isInfinite(item)));
}

const isInfinite = (value: Json): boolean => typeof value === 'number' && !Number.isFinite(value);

/** Tries JSON first, which is ten times as fast; the YAML parser then names the line of a fault. */
function parseText(text: string): { value: Json; isTree: boolean } {
	try {
		return { value: JSON.parse(text) as Json, isTree: true };
	} catch {
		return { value: parseYaml(text), isTree: false };
	}
}

function parseYaml(text: string): Json {
	const lineCounter = new LineCounter();
	try {
		const document = parseDocument(text, { lineCounter, merge: true, prettyErrors: false });
		const [error] = document.errors;
		if (error) throw syntaxError(error, lineCounter);
		return document.toJS({ maxAliasCount: MAX_ALIASES }) as Json;
	} catch (error) {
		if (error instanceof GatewayError) throw error;
		if (error instanceof ReferenceError) throw refused('The YAML expands its aliases too often: it looks like an alias bomb.');
		if (error instanceof RangeError) throw refused('The document is nested too deeply to be read.');
		throw error;
	}
}

function syntaxError(error: YAMLParseError, lineCounter: LineCounter): GatewayError {
	const { line, col } = lineCounter.linePos(error.pos[0]);
	// The parser recurses, and reports an overflow of its own stack as a fault of the text.
	if (/call stack/i.test(error.message)) return refused(`The document is nested too deeply to be read: line ${line}, column ${col}.`);
	if (error.code === 'MULTIPLE_DOCS')
		return refused(`The text holds several YAML documents: the second begins at line ${line}. Import them as files.`);
	return refused(`Neither JSON nor YAML: line ${line}, column ${col}: ${cleanText(error.message, 200)}`);
}

/**
 * Whether a number is not finite. It walks by recursion, which ends at the depth that is refused, and neither lists nor collects anything, since it
 * visits each value. @throws schema_invalid for a document that is nested too deeply
 */
function hasInfinite(value: Json | undefined, depth = 0): boolean {
	if (typeof value === 'number') return !Number.isFinite(value);
	if (value === null || typeof value !== 'object') return false;
	if (depth > MAX_DEPTH) throw refused(`The document is nested deeper than ${MAX_DEPTH} levels.`);
	let isFound = false;
	if (Array.isArray(value)) for (const child of value) isFound = hasInfinite(child, depth + 1) || isFound;
	else for (const key in value) isFound = hasInfinite(value[key], depth + 1) || isFound;
	return isFound;
}

function versionOf(root: JsonObject): Pick<Document, 'version' | 'format' | 'note'> {
	const { openapi, swagger } = root;
	if (openapi === undefined && swagger === undefined) throw refused('The document is not OpenAPI: it has no field "openapi".');
	if (openapi === undefined) {
		// YAML reads an unquoted 2.0 as the number 2.
		if (/^2(?:\.0)?$/.test(String(swagger))) return { version: '2.0', format: 'swagger 2.0', note: null };
		throw refused(`This is a Swagger ${quote(String(swagger))} document; ${SUPPORTED}.`, '/swagger');
	}
	const spelled = openapi === 3 ? '3.0' : String(openapi);
	const [, minor] = /^3\.(\d{1,3})(?:\.\d+)?(?:-[\w.]+)?$/.exec(spelled) ?? [];
	if (minor === undefined) throw refused(`This is an OpenAPI ${quote(spelled)} document; ${SUPPORTED}.`, '/openapi');
	const format = `openapi ${spelled}`;
	const known = (['3.0', '3.1', '3.2'] as const)[Number(minor)];
	return known
		? { version: known, format, note: null }
		: { version: '3.2', format, note: `OpenAPI ${spelled} is not known: it was read as 3.2.` };
}

export function refused(message: string, path = ''): GatewayError {
	return new GatewayError('schema_invalid', message, { details: [{ path, message }] });
}

function typeName(value: Json | undefined): string {
	if (value === null) return 'null';
	if (Array.isArray(value)) return 'an array';
	return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
