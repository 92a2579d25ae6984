// GraphQL schemas: every query and mutation becomes a tool that asks for the fields of its answer that are worth reading.

import type { SchemaImporter } from '../../core/index.ts';
import { config } from './config.ts';
import { detect } from './detect.ts';
import type { SelectionLimits } from './selection.ts';
import { toTool } from './tool.ts';

export default {
	kind: 'importer',
	api: 1,
	name: 'graphql',
	summary: 'Imports GraphQL schemas, as SDL or by introspection, and makes a tool of every query and mutation.',
	spec: 'GraphQL, September 2025',
	config,
	detect,
	async introspect(url, context) {
		const { introspect } = await import('./introspection.ts');
		return introspect(url, context);
	},
	async *parse(source, options, context) {
		const { parse } = await import('./parse.ts');
		return yield* parse(source, options, context);
	},
	tool: toTool,
} satisfies SchemaImporter<SelectionLimits>;
