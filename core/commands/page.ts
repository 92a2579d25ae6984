// Writes the page that `gatehouse check` prints: each plugin with the fields of its config.

import type { Json, JsonSchema } from '../contract/nouns.ts';
import { cleanText } from '../kit/clean-text.ts';
import { isObject } from '../kit/json.ts';
import type { PluginDescription } from '../registry/describe.ts';
import type { CheckReport } from './check.ts';

const MAX_DEPTH = 8;
const MAX_LINE = 500;

/** @returns lines that end in a line break; none if the package was not found */
export function pageOf({ package: found, plugins, faults }: CheckReport): string {
	if (!found || (faults.length > 0 && plugins.length === 0)) return '';
	const title = `${found.name} ${found.version ?? '(no version)'} in ${found.folder}`;
	return `${[title, ...plugins.map(pluginPage)].map((part) => `${part}\n`).join('\n')}`;
}

function pluginPage({ kind, name, api, summary, spec, config, operator }: PluginDescription): string {
	return [
		`${kind}:${name}, contract ${api ?? '1 (not declared)'}`,
		`  ${line(summary)}`,
		...(spec === null ? [] : [`  Implements ${line(spec)}.`]),
		...fieldTable(kind === 'feature' ? 'config, by the operator' : 'config', config),
		...(operator === null ? [] : fieldTable('config, by the operator', operator)),
		...(kind === 'feature' ? ['  Its routes are registered with a service only: gatehouse dev starts one.'] : []),
	].join('\n');
}

interface Field {
	path: string;
	type: string;
	traits: string;
	description: string;
}

function fieldTable(title: string, schema: JsonSchema): string[] {
	const fields = fieldsOf(schema, '', 0);
	if (fields.length === 0) return [`  ${title}: no fields`];
	const width = (pick: (field: Field) => string): number => Math.max(...fields.map((field) => pick(field).length));
	const [paths, types, traits] = [width(({ path }) => path), width(({ type }) => type), width((field) => field.traits)];
	const row = (field: Field): string =>
		`    ${field.path.padEnd(paths)}  ${field.type.padEnd(types)}  ${field.traits.padEnd(traits)}  ${field.description}`.trimEnd();
	return [`  ${title}:`, ...fields.map(row)];
}

/** Lists fields with those inside of them, as `a.b` and `list[].c`. */
function fieldsOf(schema: JsonSchema, at: string, depth: number): Field[] {
	const { properties, required, items } = schema;
	const needed = Array.isArray(required) ? required : [];
	const members = isObject(properties) ? Object.entries(properties) : [];
	const below = members.flatMap(([name, member]) => {
		const path = at === '' ? name : `${at}.${name}`;
		return isObject(member) ? fieldOf(member as JsonSchema, path, needed.includes(name), depth) : [];
	});
	const inside = isObject(items) && depth < MAX_DEPTH ? fieldsOf(items as JsonSchema, `${at}[]`, depth + 1) : [];
	return [...below, ...inside];
}

function fieldOf(schema: JsonSchema, path: string, isRequired: boolean, depth: number): Field[] {
	const { description, writeOnly } = schema;
	const traits = [isRequired && 'required', writeOnly === true && 'secret, write-only', ...valuesOf(schema)].filter(
		(trait) => trait !== false,
	);
	const field = { path, type: typeOf(schema), traits: traits.join('; '), description: line(description) };
	return [field, ...(depth < MAX_DEPTH ? fieldsOf(schema, path, depth + 1) : [])];
}

function valuesOf({ default: preset, enum: values, const: only }: JsonSchema): string[] {
	const allowed = only === undefined ? values : [only];
	return [
		...(Array.isArray(allowed) ? [`one of ${allowed.map(show).join(', ')}`] : []),
		...(preset === undefined ? [] : [`default ${show(preset)}`]),
	];
}

function typeOf({ type, items, anyOf, oneOf, enum: values }: JsonSchema): string {
	if (type === 'array') return isObject(items) ? `list of ${typeOf(items as JsonSchema)}` : 'list';
	if (typeof type === 'string') return type;
	if (Array.isArray(type)) return type.join(' or ');
	const branches = [anyOf, oneOf].find((list) => Array.isArray(list)) as Json[] | undefined;
	const types = branches?.filter(isObject).map((branch) => typeOf(branch as JsonSchema));
	if (types && types.length > 0) return [...new Set(types)].join(' or ');
	return Array.isArray(values) ? [...new Set(values.map((value) => typeof value))].join(' or ') : 'any';
}

const show = (value: Json): string => JSON.stringify(value);

/** Makes one line of a text, which comes from the package. */
const line = (text: unknown): string => (typeof text === 'string' ? cleanText(text, MAX_LINE).replaceAll(/\s+/g, ' ') : '');
