// OpenAPI documents: every operation becomes a tool that calls it over HTTP.

import Joi from 'joi';
import {
	cleanText,
	type ImportContext,
	nameOperations,
	type Operation,
	type SchemaImporter,
	type SchemaSource,
	type SchemaSummary,
} from '../../core/index.ts';
import { detect, isObject, readDocument } from './document.ts';
import { convertOperation, listOperations, surroundingsOf } from './operations.ts';
import { absoluteUrl, allServers } from './servers.ts';
import { toTool } from './tool.ts';
import { MAX_VALIDATED_CHARS, warnOfFaults } from './validation.ts';

const MAX_SERVERS = 20;

async function* parse(source: SchemaSource, _config: unknown, context: ImportContext): AsyncGenerator<Operation, SchemaSummary> {
	const document = readDocument(source.text);
	const surroundings = surroundingsOf(document, source.url);
	const entries = listOperations(document);
	const names = nameOperations(entries);
	for (const [index, entry] of entries.entries()) yield convertOperation(entry, names[index] ?? '', surroundings);
	const { info, servers } = document.root;
	const words = (text: unknown): string | null =>
		typeof text === 'string' || typeof text === 'number' ? cleanText(String(text), 200) : null;
	const summary: SchemaSummary = {
		format: `openapi ${document.spelledVersion}`,
		title: isObject(info) ? words(info['title']) : null,
		version: isObject(info) ? words(info['version']) : null,
		servers: allServers(servers)
			.flatMap((url) => absoluteUrl(url, source.url) ?? [])
			.slice(0, MAX_SERVERS),
	};
	if (source.text.length <= MAX_VALIDATED_CHARS) await warnOfFaults(document, context.log);
	return summary;
}

export default {
	kind: 'importer',
	name: 'openapi',
	summary: 'Imports OpenAPI documents, JSON or YAML, and makes a tool of every operation.',
	spec: 'OpenAPI 3.0.4 and 3.1.1',
	config: Joi.object({}),
	detect,
	parse,
	tool: toTool,
} satisfies SchemaImporter;
