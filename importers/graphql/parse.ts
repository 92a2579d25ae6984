// A schema's operations, one after the other: loaded in the worker alone, with the library that reads GraphQL.

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
	// A subscription becomes no tool, so it takes no tool's name.
	const callable = entries.filter(({ kind }) => kind !== 'subscription');
	const names = nameOperations(callable.map(named));
	for (const [index, entry] of entries.entries())
		yield convertOperation(entry, names[index] ?? `subscription_${entry.field.name}`.slice(0, 48), surroundings);
	return { format, title: null, version: null, servers: [] };
}
