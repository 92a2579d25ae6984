// Converts Parameter Objects to arguments of a tool: path, query, header and cookie side by side, each with the location of its
// value in the request.

import { createHash } from 'node:crypto';
import { cleanText, headerNameFault, isObject, type Json, type JsonObject, quote } from '../../core/index.ts';
import type { Parameter as Wire } from '../../plugins/executors/http/config.ts';
import { convertBody } from './body.ts';
import type { Definitions } from './definitions.ts';
import type { Document } from './document.ts';
import type { ConvertedBody } from './forms.ts';
import { type MediaType, preferredMediaType, wireName } from './media-types.ts';
import { follow } from './references.ts';
import { type Converted, convertSchema } from './schemas.ts';
import { wireLocation } from './security.ts';

/** One argument: its name, the schema of its values, and its location in the request. */
export interface Argument extends Converted {
	arg: string;
	isRequired: boolean;
	/** The argument's entry in the executor's `parameters`. */
	wire: JsonObject;
}

/** A parameter of the document that has been found usable. */
interface Parameter {
	name: string;
	in: Location;
	raw: JsonObject;
}

const LOCATIONS: readonly Location[] = ['path', 'query', 'querystring', 'header', 'cookie'];
type Location = Wire['in'];

const STYLES: Readonly<Record<Location, readonly string[]>> = {
	path: ['simple', 'label', 'matrix'],
	query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
	querystring: [],
	header: ['simple'],
	cookie: ['form', 'cookie'],
};

/** Headers that are no parameters (OpenAPI 3.1.1 §4.8.12.2): "the parameter definition SHALL be ignored". */
const IGNORED_HEADERS = new Set(['accept', 'content-type', 'authorization']);
const COOKIE_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const PLACEHOLDER = /\{([^{}]+)\}/g;
const MAX_DESCRIPTION_CHARS = 800;
const MAX_EXAMPLE_CHARS = 500;
const ARG = /^[A-Za-z0-9_.-]{1,64}$/;

export interface ParameterSource {
	/** The parameter lists of the path item and of the operation; the latter overrides. */
	lists: (Json | undefined)[];
	path: string;
	/** Query parameters that the path itself names in a query template. */
	queryNames: readonly string[];
	document: Document;
}

/** Percent-encodes white space, which URLs cannot contain, in a path or in the name of a placeholder. */
export const spell = (path: string): string => path.replace(/\s/g, encodeURIComponent);

/** A parameter that a path's own query writes out under its name: `/pets?limit={limit}`. */
const WRITTEN_OUT = /(?<=[?&])([^?&={}]+)=\{\1\}(?:&|$)/g;

/** A value that a path's own query fixes, by which documents distinguish operations of one path: `/?restype=service&comp=list`. */
const FIXED = /(?<=[?&])([^?&={}]+)=[^&{}]*(?:&|$)/g;

/**
 * Reads the arguments, in the document's order.
 * @param faults learns of parameters that were left out or added
 * @returns them, and the path without what declared parameters of the query write
 */
export function readParameters(source: ParameterSource, definitions: Definitions, faults: Set<string>): { args: Argument[]; path: string } {
	const declared = declaredParameters(source, faults);
	const inQuery = (name: string): Parameter | undefined => declared.find((one) => one.in === 'query' && one.name === name);
	const path = source.path
		.replace(WRITTEN_OUT, (piece, name: string) => (inQuery(name) ? '' : piece))
		.replace(FIXED, (piece, name: string) => (inQuery(name)?.raw['required'] === true ? '' : piece))
		.replace(/[?&]$/, '');
	const placeholders = new Set([...path.matchAll(PLACEHOLDER)].map(([, name]) => name ?? ''));
	const usable = declared.filter((parameter) => isUsable(parameter, source, placeholders, faults));
	const add = (location: 'path' | 'query', name: string): void => {
		if (usable.some((parameter) => parameter.in === location && parameter.name === name)) return;
		faults.add(`the ${location} parameter ${quote(name)} is not declared: it is taken as a string`);
		usable.push({ name, in: location, raw: { schema: { type: 'string' } } });
	};
	for (const name of placeholders) add('path', name);
	for (const name of source.queryNames) add('query', name);
	const args = nameArguments(usable);
	return { args: usable.map((parameter, index) => toArgument(parameter, args[index] ?? parameter.name, definitions)), path };
}

function declaredParameters({ lists, document }: ParameterSource, faults: Set<string>): Parameter[] {
	const found = new Map<string, Parameter>();
	if (lists.some((list) => list !== undefined && !Array.isArray(list))) faults.add('its parameters are not a list and were left out');
	for (const raw of lists.flatMap((list) => (Array.isArray(list) ? list : []))) {
		const at = follow(document.root, raw);
		if ('fault' in at) {
			faults.add(`a parameter was left out: ${at.fault}`);
			continue;
		}
		const { name, in: location } = at.object;
		const known = LOCATIONS.find((candidate) => candidate === location && (candidate !== 'querystring' || document.version === '3.2'));
		if (typeof name !== 'string' || name === '' || !known) {
			faults.add(`the parameter ${quote(String(name))} in ${quote(String(location))} was left out`);
			continue;
		}
		found.set(wireLocation(known, name), { name, in: known, raw: at.object });
	}
	return [...found.values()];
}

function isUsable(parameter: Parameter, source: ParameterSource, placeholders: ReadonlySet<string>, faults: Set<string>): boolean {
	const { name, in: location } = parameter;
	if (location === 'path' && !placeholders.has(name)) {
		faults.add(`the path parameter ${quote(name)} is not in the path and was left out`);
		return false;
	}
	if (location === 'querystring' && !wholeQuery(parameter.raw, source.document.root)) {
		faults.add(`the query ${quote(name)} has a media type that a URL cannot hold and was left out`);
		return false;
	}
	if (location === 'header' && IGNORED_HEADERS.has(name.toLowerCase())) return false;
	const isWireName = location === 'header' ? headerNameFault(name) === null : location !== 'cookie' || COOKIE_NAME.test(name);
	if (!isWireName) faults.add(`the ${location} parameter ${quote(name)} cannot be sent and was left out`);
	return isWireName;
}

function toArgument({ name, in: location, raw }: Parameter, arg: string, definitions: Definitions): Argument {
	const { root } = definitions.conversion.document;
	const whole = location === 'querystring' ? wholeQuery(raw, root) : null;
	const { wire: how, ...converted } = whole ? convertBody(whole, definitions) : convertValue(raw, location, definitions);
	annotate(converted.schema, raw);
	const wire: JsonObject = { arg, name: location === 'path' ? spell(name) : name, in: location, ...how };
	return { ...converted, arg, wire, isRequired: location === 'path' || raw['required'] === true };
}

function convertValue(raw: JsonObject, location: Location, { mode, conversion }: Definitions): ConvertedBody {
	const { contentType, schema, fault } = describedBy(raw, conversion.document.root);
	const wire = contentType === null ? serialization(raw, location) : { contentType };
	const converted = convertSchema(schema, mode, null, conversion);
	return { ...converted, ...(fault !== null && { faults: new Set([...converted.faults, fault]) }), wire };
}

interface Described {
	/** Null: the value is written in a style. */
	contentType: string | null;
	schema: Json;
	fault: string | null;
}

/** Reads the schema from `schema`, or from the one media type of `content`. */
function describedBy({ content, schema }: JsonObject, root: JsonObject): Described {
	const [entry] = isObject(content) ? Object.entries(content) : [];
	if (!entry) return { contentType: null, schema: schema ?? { type: 'string' }, fault: null };
	const [name, mediaType] = entry;
	const at = follow(root, mediaType);
	const known = wireName(name);
	const contentType = known ?? (/json/i.test(name) ? 'application/json' : null);
	const fault =
		known === null ? `${quote(name)} is no media type: a parameter is sent ${contentType ? `as ${contentType}` : 'without one'}` : null;
	return { contentType, schema: ('object' in at ? at.object['schema'] : undefined) ?? {}, fault };
}

/** Returns the media type of a whole query string (OpenAPI 3.2 §4.12.1); null where it is not a text format. */
function wholeQuery({ content }: JsonObject, root: JsonObject): MediaType | null {
	const mediaType = preferredMediaType(content, root);
	return mediaType?.kind === 'binary' || mediaType?.kind === 'multipart' ? null : mediaType;
}

function annotate(schema: JsonObject, raw: JsonObject): void {
	if (typeof raw['description'] === 'string') schema['description'] = cleanText(raw['description'], MAX_DESCRIPTION_CHARS);
	if (raw['deprecated'] === true) schema['deprecated'] = true;
	if (raw['example'] !== undefined && schema['examples'] === undefined && JSON.stringify(raw['example']).length <= MAX_EXAMPLE_CHARS)
		schema['examples'] = [raw['example']];
	// `readOnly` has no meaning here: a parameter is always sent.
	delete schema['readOnly'];
}

/** The name that Azure's documents have for `allowReserved` (AutoRest extensions). */
const SKIPS_ENCODING = 'x-ms-skip-url-encoding';

/** Names only the settings that the document gives; the executor knows the defaults of each location. */
function serialization(raw: JsonObject, location: Location): JsonObject {
	const { style, explode, allowReserved } = raw;
	const wire: JsonObject = {};
	if (typeof style === 'string' && STYLES[location].includes(style)) wire['style'] = style;
	if (typeof explode === 'boolean') wire['explode'] = explode;
	const isReserved = allowReserved === true || raw[SKIPS_ENCODING] === true;
	if (isReserved && (location === 'query' || location === 'path')) wire['allowReserved'] = true;
	return wire;
}

/** Gives each parameter a valid and unique name, independent of their order: names that collide get the location as a suffix. */
function nameArguments(parameters: readonly Parameter[]): string[] {
	const plain = parameters.map(({ name }) => argName(name));
	const placed = plain.map((name, index) => (countOf(plain, name) > 1 ? `${name.slice(0, 57)}_${parameters[index]?.in}` : name));
	return placed.map((name, index) => (countOf(placed, name) > 1 ? `${name.slice(0, 55)}_${hash(parameters[index])}` : name));
}

const countOf = (names: readonly string[], name: string): number => names.filter((other) => other === name).length;

function argName(name: string): string {
	if (ARG.test(name) && name !== '__proto__') return name;
	const clean = name.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^_+|_+$/g, '');
	return clean.slice(0, 64) || 'value';
}

const hash = (parameter: Parameter | undefined): string =>
	createHash('sha256').update(`${parameter?.in} ${parameter?.name}`).digest('hex').slice(0, 8);
