// Checks what a plugin declares about itself: a fault stops the start.

import Joi, { type ObjectSchema } from 'joi';
import type { Kind, ManagementRoute, Plugin } from '../contract/kinds.ts';
import type { JsonSchemaSource } from './describe.ts';

/** The members that a plugin of each kind needs besides `name`, `summary` and `config`. */
const KINDS = {
	auth: ['authenticate'],
	transport: ['routes'],
	importer: ['detect', 'parse', 'tool'],
	executor: ['execute'],
	feature: ['register'],
} as const satisfies Record<Kind, readonly string[]>;

const NAME = /^[a-z][a-z0-9_]{0,31}$/;
const MANAGEMENT_METHODS: readonly unknown[] = ['GET', 'DELETE'];
/** The form of an operationId, which clients generated from the document use as a name. */
const WORD = /^[a-z][A-Za-z0-9]{0,63}$/;
/** The first segment is fixed, so that no plugin takes all that is below a gateway. */
const MANAGEMENT_PATH = /^\/[a-z0-9-]+(\/([a-z0-9-]+|\{[a-z][A-Za-z0-9]*\}))*$/;
/** Parameters of the gateway's own path. */
const TAKEN_PARAMETERS = ['id', 'orgId'];

/** @throws Error naming the plugin and the fault */
export function checkPlugin(candidate: unknown): Plugin {
	if (candidate === null || typeof candidate !== 'object') throw new Error('A plugin must be an object.');
	const plugin = candidate as Record<string, unknown>;
	const id = `${String(plugin['kind'])}:${String(plugin['name'])}`;
	const kind = plugin['kind'];
	if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind))
		throw new Error(`${id}: kind must be one of ${Object.keys(KINDS).join(', ')}.`);
	if (typeof plugin['name'] !== 'string' || !NAME.test(plugin['name'])) throw new Error(`${id}: name must match ${NAME}.`);
	if (typeof plugin['summary'] !== 'string' || plugin['summary'].length === 0) throw new Error(`${id}: summary must be a sentence.`);
	if (!isJoiObject(plugin['config'])) throw new Error(`${id}: config must be a Joi 18 object schema.`);
	for (const part of KINDS[kind as Kind]) {
		const ok = part === 'routes' ? Array.isArray(plugin[part]) : typeof plugin[part] === 'function';
		if (!ok) throw new Error(`${id}: ${part} is missing.`);
	}
	// All members that its kind requires were found above.
	return candidate as Plugin;
}

/** Identifiers that must be unique among routes: hapi tells path parameters apart by their position only. */
export const marksOf = ({ id, method, path }: ManagementRoute): string[] => [id, `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`];

/** Returns the fault of a management route, or null. */
export function managementFault(candidate: unknown): string | null {
	if (candidate === null || typeof candidate !== 'object') return 'it must be an object';
	// The candidate comes from outside code: none of its members can be trusted.
	const { method, path, id, summary, list, answer, handler } = candidate as Record<keyof ManagementRoute, unknown>;
	if (typeof id !== 'string' || !WORD.test(id)) return `id must match ${WORD}`;
	if (!MANAGEMENT_METHODS.includes(method)) return 'method must be GET or DELETE';
	if (typeof path !== 'string' || !MANAGEMENT_PATH.test(path)) return `path must match ${MANAGEMENT_PATH}`;
	const parameters = [...TAKEN_PARAMETERS, ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)];
	if (new Set(parameters).size < parameters.length) return `path must not repeat a parameter, nor have ${TAKEN_PARAMETERS.join(' or ')}`;
	if (typeof summary !== 'string' || summary.length === 0) return 'summary must be a sentence';
	if (list !== undefined && (method !== 'GET' || typeof list !== 'string' || !WORD.test(list) || list === 'nextCursor'))
		return `list names the records that a GET returns, and must match ${WORD}`;
	if (!isSchemaOfOurs(answer)) return `answer must be a schema of Joi ${Joi.version}`;
	return typeof handler === 'function' ? null : 'handler is missing';
}

/** Whether the value may become part of one of our schemas: it needs our version of Joi, in any copy. */
function isSchemaOfOurs(value: unknown): boolean {
	try {
		return Joi.isSchema(value);
	} catch {
		// The schema belongs to another version.
		return false;
	}
}

/** Checks by behaviour: an outside package has its own copy of Joi, 18 or later (the first version that writes JSON Schema). */
function isJoiObject(value: unknown): value is ObjectSchema {
	const schema = value as Partial<ObjectSchema> | null | undefined;
	const source = schema?.['~standard'] as Partial<JsonSchemaSource> | undefined;
	return schema?.type === 'object' && typeof schema.describe === 'function' && typeof source?.jsonSchema?.input === 'function';
}
