// Assertions about every operation of whole documents, whichever importer read them.

import assert from 'node:assert/strict';
import { compileArguments } from '../../core/arguments/compile.ts';
import { assertBounded } from '../../core/arguments/looks.ts';
import type { JsonObject, Operation } from '../../core/contract/nouns.ts';

/** Asserts that the names of one document are valid, short enough for a prefix, and unique regardless of case. */
export function assertNames(operations: readonly Operation[], label: string): void {
	const names = operations.map(({ name }) => name);
	for (const name of names) assert.match(name, /^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$/, label);
	assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length, label);
}

/** Asserts that the schema of the arguments is a plain object, is JSON, compiles, and cannot be made to run long. */
export function assertArguments({ parameters }: Operation, label: string): void {
	assert.deepEqual([parameters['type'], parameters['additionalProperties']], ['object', false], label);
	for (const keyword of ['allOf', 'anyOf', 'oneOf', 'not', '$ref', 'enum']) assert.ok(!(keyword in parameters), `${label}: ${keyword}`);
	for (const arg of Object.keys(parameters['properties'] as JsonObject)) assert.match(arg, /^[A-Za-z0-9_.-]{1,64}$/, label);
	assert.deepEqual(JSON.parse(JSON.stringify(parameters)), parameters, label);
	assert.doesNotThrow(() => compileArguments(parameters), label);
	assert.doesNotThrow(() => assertBounded(parameters, '/parameters'), label);
}
