// Checks what a plugin declares about itself by the schema of its kind: each fault stops the start, with its place in the manifest.

import Joi, { type Description, type ObjectSchema, type ValidationErrorItem } from 'joi';
import { VERSION } from '../config/version.ts';
import type { Kind, ManagementRoute, Plugin } from '../contract/kinds.ts';
import { COMMON, KIND_NAMES, KINDS } from './kinds.ts';

/** The version of the plugin contract that this service has. */
export const CONTRACT = 1;

const MESSAGES = {
	'any.required': '{{#label}} is missing',
	'any.only': '{{#label}} must be one of {{#valids}}',
	'any.invalid': '{{#label}} must be another word',
	'array.includesRequiredUnknowns': '{{#label}} is empty',
	'array.min': '{{#label}} is empty',
	'boolean.base': '{{#label}} must be true or false',
	'number.base': '{{#label}} must be a number',
	'object.base': '{{#label}} must be of type {{#type}}',
	'string.base': '{{#label}} must be a text',
	'string.empty': '{{#label}} must be a sentence',
	'string.pattern.base': '{{#label}} must match {{#regex}}',
};

const OPTIONS = { abortEarly: false, convert: false, messages: MESSAGES, errors: { wrap: { label: false, array: false } } } as const;

/** @throws Error with a line for each fault, which names the plugin and the member */
export function checkPlugin(candidate: unknown): Plugin {
	if (candidate === null || typeof candidate !== 'object') throw new Error('A plugin must be an object.');
	const { kind, name, api } = candidate as Record<string, unknown>;
	const id = typeof kind === 'string' && typeof name === 'string' ? `${kind}:${name}` : 'the plugin';
	const fail = (faults: string[]): never => {
		throw new Error(faults.map((fault) => `${id}: ${fault}.`).join('\n'));
	};
	if (!isKind(kind))
		return fail([`kind ${kind === undefined ? 'is missing: it' : `is ${show(kind)} and`} must be one of ${KIND_NAMES.join(', ')}`]);
	// A later contract may have any member, so nothing else is judged.
	const versionFault = contractFault(api);
	if (versionFault !== null) return fail([versionFault]);
	const schema = schemaOf(kind);
	const { error } = schema.validate(candidate, OPTIONS);
	if (error) fail(error.details.map((fault) => sentence(fault, schema, kind)));
	// All members that its kind requires were found above.
	return candidate as Plugin;
}

const isKind = (value: unknown): value is Kind => typeof value === 'string' && Object.hasOwn(KINDS, value);

const show = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : `a ${typeof value}`);

function contractFault(api: unknown): string | null {
	if (api === undefined || api === CONTRACT) return null;
	if (typeof api !== 'number' || !Number.isInteger(api) || api < 1) return `api must be ${CONTRACT}, the version of the plugin contract`;
	return `api is ${api}, and Gatehouse ${VERSION} has version ${CONTRACT} of the plugin contract: take a newer Gatehouse, or an older version of the plugin`;
}

const notHere = Joi.forbidden().messages({ 'any.unknown': '{{#label}} is not for this kind: its config is the operator’s, and in no row' });
const NOT_IN_ROWS = { operator: notHere, version: notHere, upgrade: notHere };

/** Its plugins run in workers, which have nothing but a description. */
const NO_JOBS = { jobs: Joi.forbidden().messages({ 'any.unknown': '{{#label}} is not for this kind: it has no calls' }) };

/** Made once per kind: a service loads some thirty plugins. */
const schemas = new Map<Kind, ObjectSchema>();

function schemaOf(kind: Kind): ObjectSchema {
	const { members, inRows } = KINDS[kind];
	const schema =
		schemas.get(kind) ?? Joi.object({ ...COMMON, ...members, ...(inRows ? {} : NOT_IN_ROWS), ...(kind === 'importer' ? NO_JOBS : {}) });
	schemas.set(kind, schema);
	return schema;
}

function sentence({ type, path, message }: ValidationErrorItem, schema: ObjectSchema, kind: Kind): string {
	if (type !== 'object.unknown') return message;
	const [field, parents] = [String(path.at(-1)), path.slice(0, -1)];
	const { keys = {}, patterns } = describedAt(schema, parents);
	if (patterns) return `${placeOf(path)} must have a name that matches ${patterns[0].regex}`;
	const known = Object.keys(keys);
	const near = known.find((name) => isNear(name, field));
	const where = parents.length === 0 ? `a plugin of kind ${kind}` : placeOf(parents);
	return `${placeOf(path)} is no member of ${where}${near === undefined ? `, which are ${known.join(', ')}` : `, but ${near} is`}`;
}

/** Writes a path as code does: `routes[2].method`. */
const placeOf = (path: readonly (string | number)[]): string =>
	path
		.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
		.join('')
		.replace(/^\./, '');

/** Describes the part of a schema to which a path leads. */
function describedAt(schema: ObjectSchema, path: readonly (string | number)[]): Description {
	const inside = ({ items, keys, patterns }: Description, step: string | number): Description =>
		typeof step === 'number' ? items[0] : (keys?.[step] ?? patterns[0].rule);
	return path.reduce(inside, schema.describe());
}

/** Whether two names differ by a slip: other case, or one or two letters. */
function isNear(one: string, other: string): boolean {
	const [a, b] = [one.toLowerCase(), other.toLowerCase()];
	return a === b || (Math.min(a.length, b.length) > 3 && editsBetween(a, b) <= 2);
}

/** The least number of letters to insert, remove or replace (Levenshtein). */
function editsBetween(a: string, b: string): number {
	let row = Array.from({ length: b.length + 1 }, (_, at) => at);
	for (const [above, letter] of [...a].entries()) {
		const next = [above + 1];
		for (const [at, other] of [...b].entries())
			next.push(Math.min((row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1, (row[at] ?? 0) + (letter === other ? 0 : 1)));
		row = next;
	}
	return row.at(-1) ?? 0;
}

/** Identifiers that must be unique among routes: hapi tells path parameters apart by their position only. */
export const marksOf = ({ id, method, path }: ManagementRoute): string[] => [id, `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`];
