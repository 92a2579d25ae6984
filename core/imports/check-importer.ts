// Checks what importers return: descriptions, operations, the summary of a document, certainties, drafts of tools, and definitions to compare.
// A fault fails the import that it belongs to, and is logged under the importer's name.

import { PluginFault } from '../contract/errors.ts';
import type { JsonObject, Operation, SchemaSource, SchemaSummary, ToolDraft } from '../contract/nouns.ts';
import { isObject, measureJson } from '../kit/json.ts';

/** The most characters of a draft as JSON: 4 Mi. The parameters of an operation have 1 Mi at most. */
const MAX_DRAFT_CHARS = 4 * 1024 * 1024;

type Check = readonly [is: (value: unknown) => boolean, expected: string];

const isText = (value: unknown): boolean => typeof value === 'string';
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const TEXT: Check = [isText, 'a string'];
const NAME: Check = [(value) => isText(value) && value !== '', 'a string that is not empty'];
const TEXT_OR_NULL: Check = [(value) => value === null || isText(value), 'a string or null'];
const TEXTS: Check = [areTexts, 'a list of strings'];
const OBJECT: Check = [isObject, 'an object'];
const OBJECT_OR_NULL: Check = [(value) => value === null || isObject(value), 'an object or null'];
const OUTCOMES = ['converted', 'degraded', 'skipped'];

const OPERATION: Readonly<Record<string, Check>> = {
	key: NAME,
	operationId: TEXT_OR_NULL,
	name: TEXT,
	title: [(value) => value === undefined || value === null || isText(value), 'a string, if any'],
	description: TEXT,
	method: TEXT,
	path: TEXT,
	tags: TEXTS,
	deprecated: [(value) => typeof value === 'boolean', 'a boolean'],
	parameters: OBJECT,
	outputSchema: OBJECT_OR_NULL,
	definition: OBJECT,
	outcome: [(value) => OUTCOMES.includes(value as string), `one of ${OUTCOMES.join(', ')}`],
	reasons: TEXTS,
};
const DESCRIPTION: Readonly<Record<string, Check>> = { text: TEXT, url: TEXT_OR_NULL };
const SUMMARY: Readonly<Record<string, Check>> = {
	format: TEXT,
	title: TEXT_OR_NULL,
	version: TEXT_OR_NULL,
	servers: TEXTS,
	credentials: [(value) => value === undefined || (Array.isArray(value) && value.every(isPreset)), 'a list of credentials'],
};
const DRAFT: Readonly<Record<string, Check>> = {
	name: NAME,
	description: TEXT,
	executor: NAME,
	parameters: OBJECT,
	outputSchema: OBJECT_OR_NULL,
	annotations: OBJECT,
	executionConfig: OBJECT,
};

const isPreset = (value: unknown): boolean =>
	isObject(value) && isText(value['scheme']) && isText(value['type']) && isObject(value['credentials']);

/** @throws PluginFault naming the member */
export function checkOperation(importer: string, value: unknown): Operation {
	assertShape(importer, 'an operation that parse yields', value, OPERATION);
	return value as Operation;
}

/** @throws PluginFault naming the member */
export function checkIntrospected(importer: string, value: unknown): Pick<SchemaSource, 'text' | 'url'> {
	assertShape(importer, 'the description that introspect returns', value, DESCRIPTION);
	return value as Pick<SchemaSource, 'text' | 'url'>;
}

/** @throws PluginFault */
export function checkNormalized(importer: string, value: unknown): JsonObject {
	if (isObject(value) && !((value as unknown) instanceof Promise)) return value;
	throw new PluginFault(`importer:${importer}`, 'normalize must return an object, and no promise.');
}

/** @throws PluginFault naming the member */
export function checkSummary(importer: string, value: unknown): SchemaSummary {
	assertShape(importer, 'the summary that parse returns', value, SUMMARY);
	return value as SchemaSummary;
}

/** @throws PluginFault naming the member */
export function checkDraft(importer: string, value: unknown): ToolDraft {
	const what = 'the draft that tool returns';
	assertShape(importer, what, value, DRAFT);
	const { fault, chars } = measureJson(value, MAX_DRAFT_CHARS);
	if (fault !== null) throw new PluginFault(`importer:${importer}`, `${what} must be JSON: ${fault}.`);
	if (chars > MAX_DRAFT_CHARS) throw new PluginFault(`importer:${importer}`, `${what} must have at most ${MAX_DRAFT_CHARS} characters.`);
	return value as ToolDraft;
}

/** @throws PluginFault when it is no number from 0 to 1 */
export function checkCertainty(importer: string, value: unknown): number {
	if (typeof value === 'number' && value >= 0 && value <= 1) return value;
	throw new PluginFault(`importer:${importer}`, 'detect must return a number from 0 to 1.');
}

function assertShape(importer: string, what: string, value: unknown, shape: Readonly<Record<string, Check>>): void {
	if (!isObject(value)) throw new PluginFault(`importer:${importer}`, `${what} must be an object.`);
	for (const [name, [is, expected]] of Object.entries(shape))
		if (!is(value[name])) throw new PluginFault(`importer:${importer}`, `${what} must have ${expected} as ${name}.`);
}
