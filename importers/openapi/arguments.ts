// Parameter objects as arguments of a tool: path, query, header and cookie side by side, each with the place where its
// value goes on the wire.

import { createHash } from 'node:crypto';
import { cleanText, headerNameFault, isObject, type Json, type JsonObject, quote } from '../../core/index.ts';
import { convertBody } from './body.ts';
import type { Definitions } from './definitions.ts';
import type { Document } from './document.ts';
import type { ConvertedBody } from './forms.ts';
import { type MediaType, preferredMediaType } from './media-types.ts';
import { follow } from './references.ts';
import { type Converted, convertSchema } from './schemas.ts';
import { place } from './security.ts';

/** One argument: how the tool calls it, what it accepts, and where it goes. */
export interface Argument extends Converted {
	arg: string;
	isRequired: boolean;
	/** An entry of the executor's `parameters`. */
	wire: JsonObject;
}

/** A parameter of the document that has been found usable. */
interface Parameter {
	name: string;
	in: Location;
	raw: JsonObject;
}

const LOCATIONS = ['path', 'query', 'querystring', 'header', 'cookie'] as const;
type Location = (typeof LOCATIONS)[number];

const STYLES: Readonly<Record<Location, readonly string[]>> = {
	path: ['simple', 'label', 'matrix'],
	query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
	querystring: [],
	header: ['simple'],
	cookie: ['form', 'cookie'],
};

/** OpenAPI 3.1.1 §4.8.12.2: "the parameter definition SHALL be ignored". */
const IGNORED_HEADERS = new Set(['accept', 'content-type', 'authorization']);
const COOKIE_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const PLACEHOLDER = /\{([^{}]+)\}/g;
const MAX_DESCRIPTION_CHARS = 800;
const MAX_EXAMPLE_CHARS = 500;
const ARG = /^[A-Za-z0-9_.-]{1,64}$/;

export interface ParameterSource {
	/** Of the path item, then of the operation, which override. */
	lists: (Json | undefined)[];
	path: string;
	/** Those that the path itself names, as a query template. */
	queryNames: readonly string[];
	document: Document;
}

/** A path, or a placeholder's name in it, without the blanks that no URL has. */
export const spell = (path: string): string => path.replace(/\s/g, encodeURIComponent);

/** Arguments in the document's order; what is left out or made up is named in `faults`. */
export function readParameters(source: ParameterSource, definitions: Definitions, faults: Set<string>): Argument[] {
	const declared = declaredParameters(source, faults);
	const placeholders = new Set([...source.path.matchAll(PLACEHOLDER)].map(([, name]) => name ?? ''));
	const usable = declared.filter((parameter) => isUsable(parameter, source, placeholders, faults));
	const add = (location: 'path' | 'query', name: string): void => {
		if (usable.some((parameter) => parameter.in === location && parameter.name === name)) return;
		faults.add(`the ${location} parameter ${quote(name)} is not declared: it is taken as a string`);
		usable.push({ name, in: location, raw: { schema: { type: 'string' } } });
	};
	for (const name of placeholders) add('path', name);
	for (const name of source.queryNames) add('query', name);
	const args = nameArguments(usable);
	return usable.map((parameter, index) => toArgument(parameter, args[index] ?? parameter.name, definitions));
}

function declaredParameters({ lists, document }: ParameterSource, faults: Set<string>): Parameter[] {
	const found = new Map<string, Parameter>();
	if (lists.some((list) => list !== undefined && !Array.isArray(list))) faults.add('its parameters are no list and were left out');
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
		found.set(place(known, name), { name, in: known, raw: at.object });
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
		faults.add(`the query ${quote(name)} has a media type that no URL can hold and was left out`);
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
	const { contentType, schema } = describedBy(raw, conversion.document.root);
	const wire = contentType === null ? serialization(raw, location) : { contentType };
	return { ...convertSchema(schema, mode, null, conversion), wire };
}

/** By `schema`, or by the one media type of `content`. */
function describedBy({ content, schema }: JsonObject, root: JsonObject): { contentType: string | null; schema: Json } {
	const [entry] = isObject(content) ? Object.entries(content) : [];
	if (!entry) return { contentType: null, schema: schema ?? { type: 'string' } };
	const at = follow(root, entry[1]);
	return { contentType: entry[0], schema: ('object' in at ? at.object['schema'] : undefined) ?? {} };
}

/** OpenAPI 3.2 §4.12.1: the whole query in one media type. Null where it is none that is text. */
function wholeQuery({ content }: JsonObject, root: JsonObject): MediaType | null {
	const mediaType = preferredMediaType(content, root);
	return mediaType?.kind === 'binary' || mediaType?.kind === 'multipart' ? null : mediaType;
}

function annotate(schema: JsonObject, raw: JsonObject): void {
	if (typeof raw['description'] === 'string') schema['description'] = cleanText(raw['description'], MAX_DESCRIPTION_CHARS);
	if (raw['deprecated'] === true) schema['deprecated'] = true;
	if (raw['example'] !== undefined && schema['examples'] === undefined && JSON.stringify(raw['example']).length <= MAX_EXAMPLE_CHARS)
		schema['examples'] = [raw['example']];
	// Nobody reads an argument's `readOnly`: a parameter is always sent.
	delete schema['readOnly'];
}

/** Only what differs from the defaults of its place is said; the executor knows those. */
function serialization(raw: JsonObject, location: Location): JsonObject {
	const { style, explode, allowReserved } = raw;
	const wire: JsonObject = {};
	if (typeof style === 'string' && STYLES[location].includes(style)) wire['style'] = style;
	if (typeof explode === 'boolean') wire['explode'] = explode;
	if (allowReserved === true && location === 'query') wire['allowReserved'] = true;
	return wire;
}

/** Names that are valid and differ, the same whatever the order: of those that collide, each says where it goes. */
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
