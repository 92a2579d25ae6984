// Imports OpenAPI documents: every operation becomes a tool that calls it over HTTP.

import type { SchemaImporter } from '../../core/index.ts';
import { detect } from './detect.ts';
import { normalize } from './normalize.ts';
import { config, type ImportOptions } from './options.ts';
import { toTool } from './tool.ts';

export default {
	kind: 'importer',
	api: 1,
	name: 'openapi',
	summary: 'Imports OpenAPI documents, JSON or YAML, and makes a tool of every operation.',
	spec: 'OpenAPI 3.0.4, 3.1.1 and 3.2.0, Swagger 2.0',
	config,
	detect,
	async *parse(source, options, context) {
		const { parse } = await import('./parse.ts');
		return yield* parse(source, options, context);
	},
	normalize,
	tool: toTool,
} satisfies SchemaImporter<ImportOptions>;
