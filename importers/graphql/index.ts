// GraphQL schemas: every query and mutation becomes a tool that asks for the fields of its answer that are worth reading.

import Joi from 'joi';
import {
	type ImportContext,
	nameOperations,
	type Operation,
	type SchemaImporter,
	type SchemaSource,
	type SchemaSummary,
} from '../../core/index.ts';
import { createInputs } from './arguments.ts';
import { detect, readDescription } from './document.ts';
import { introspect } from './introspection.ts';
import { convertOperation, listOperations, named } from './operations.ts';
import { createSelector, type SelectionLimits } from './selection.ts';
import { toTool } from './tool.ts';

const config = Joi.object<SelectionLimits>({
	depth: Joi.number().integer().min(0).max(5).default(1).description('Levels of objects below an answer that a tool asks for by itself.'),
	maxLeaves: Joi.number().integer().min(1).max(1_000).default(200).description('Fields with a value that a tool asks for by itself.'),
	pageSize: Joi.number().integer().min(1).max(100).default(10).description('Items that a tool asks of a list that takes `first`.'),
});

async function* parse(source: SchemaSource, given: SelectionLimits, { log }: ImportContext): AsyncGenerator<Operation, SchemaSummary> {
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

export default {
	kind: 'importer',
	name: 'graphql',
	summary: 'Imports GraphQL schemas, as SDL or by introspection, and makes a tool of every query and mutation.',
	spec: 'GraphQL, September 2025',
	config,
	detect,
	introspect,
	parse,
	tool: toTool,
} satisfies SchemaImporter<SelectionLimits>;
