// Yields a schema's operations one by one. Only the worker loads this file, with the library that reads GraphQL.

import Joi from 'joi';
import { type ImportContext, nameOperations, type Operation, type SchemaSource, type SchemaSummary } from '../../core/index.ts';
import { createInputs } from './arguments.ts';
import { config } from './config.ts';
import { readDescription } from './document.ts';
import { convertOperation, listOperations, named } from './operations.ts';
import { createSelector, type SelectionLimits } from './selection.ts';

export async function* parse(
	source: SchemaSource,
	given: SelectionLimits,
	{ log }: ImportContext,
): AsyncGenerator<Operation, SchemaSummary> {
	const limits: SelectionLimits = Joi.attempt(given, config);
	const { schema, format } = readDescription(source.text, log);
	const surroundings = { schema, inputs: createInputs(), select: createSelector(schema, limits) };
	const entries = listOperations(schema);
	// Subscriptions become no tools, so they take no names from tools.
	const callable = entries.filter(({ kind }) => kind !== 'subscription');
	const names = nameOperations(callable.map(named));
	for (const [index, entry] of entries.entries())
		yield convertOperation(entry, names[index] ?? `subscription_${entry.field.name}`.slice(0, 48), surroundings);
	return { format, title: null, version: null, servers: [] };
}
