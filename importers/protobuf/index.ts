// The `protobuf` importer: every method of a service becomes a tool that calls it by gRPC, or by HTTP if it has a rule for that.

import type { SchemaImporter } from '../../core/index.ts';
import { config } from './config.ts';
import { detect } from './detect.ts';
import type { ImportOptions } from './operations.ts';
import { toTool } from './tool.ts';

export default {
	kind: 'importer',
	api: 1,
	name: 'protobuf',
	summary: 'Imports Protobuf services, as .proto files or descriptor sets, and makes a tool of every method.',
	spec: 'Protocol Buffers, proto2, proto3 and editions 2023 and 2024; google.api.http',
	config,
	rootless: true,
	messageTypes: ['descriptors'],
	detect,
	async *parse(source, options, context) {
		const { parse } = await import('./parse.ts');
		return yield* parse(source, options, context);
	},
	tool: toTool,
} satisfies SchemaImporter<ImportOptions>;
