// SOAP services: every operation of a WSDL 1.1 document becomes a tool.

import {
	cleanText,
	type ImportContext,
	nameOperations,
	type Operation,
	type SchemaImporter,
	type SchemaSource,
	type SchemaSummary,
} from '../../core/index.ts';
import { detect, loadDocuments, refused } from './documents.ts';
import { convertOperation, identify, readService } from './operations.ts';
import { config, type ImportOptions } from './options.ts';
import { toTool } from './tool.ts';

const MAX_SERVERS = 20;

async function* parse(source: SchemaSource, options: ImportOptions, context: ImportContext): AsyncGenerator<Operation, SchemaSummary> {
	const documents = await loadDocuments(source, context);
	const surroundings = readService(documents, options);
	const { entries, name, addresses } = surroundings.wsdl;
	if (entries.length === 0) throw refused('The document has no operation with a SOAP binding over HTTP: there is nothing to call.');
	const identities = identify(entries);
	const names = nameOperations(identities);
	for (const [index, identity] of identities.entries()) {
		const entry = entries[index];
		if (entry) yield convertOperation(entry, { identity, name: names[index] ?? '' }, surroundings);
	}
	const servers = [...new Set(addresses)].filter((address) => /^https?:\/\/[^@]+$/.test(address)).slice(0, MAX_SERVERS);
	return { format: 'wsdl 1.1', title: name === null ? null : cleanText(name, 200), version: null, servers };
}

export default {
	kind: 'importer',
	name: 'soap',
	summary: 'Imports WSDL 1.1 with the schemas that it imports, and makes a tool of every operation of its SOAP services.',
	spec: 'WSDL 1.1; XML Schema 1.0; SOAP 1.1 and 1.2',
	config,
	rootless: true,
	detect,
	parse,
	tool: toTool,
} satisfies SchemaImporter<ImportOptions>;
