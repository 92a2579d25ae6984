// The `soap` importer: every operation of a WSDL 1.1 document becomes a tool.

import type { SchemaImporter } from '../../core/index.ts';
import { detect } from './detect.ts';
import { config, type ImportOptions } from './options.ts';
import { toTool } from './tool.ts';

export default {
	kind: 'importer',
	api: 1,
	name: 'soap',
	summary: 'Imports WSDL 1.1 with the schemas that it imports, and makes a tool of every operation of its SOAP services.',
	spec: 'WSDL 1.1; XML Schema 1.0; SOAP 1.1 and 1.2',
	config,
	rootless: true,
	messageTypes: ['namespaces', 'types', 'request', 'response'],
	detect,
	async *parse(source, options, context) {
		const { parse } = await import('./parse.ts');
		return yield* parse(source, options, context);
	},
	tool: toTool,
} satisfies SchemaImporter<ImportOptions>;
