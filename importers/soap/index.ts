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
import type { LostPort } from './ports.ts';
import { toTool } from './tool.ts';

const MAX_SERVERS = 20;
const MAX_LOST = 10;
/** Of what one message says. */
const MAX_SAID = 3;

async function* parse(source: SchemaSource, options: ImportOptions, context: ImportContext): AsyncGenerator<Operation, SchemaSummary> {
	const documents = await loadDocuments(source, context);
	const surroundings = readService(documents, options);
	const { entries, lost, name, addresses } = surroundings.wsdl;
	if (entries.length === 0)
		throw refused(`The document has no operation with a SOAP binding over HTTP: there is nothing to call.${because(lost)}`);
	for (const { line, fault } of lost.slice(0, MAX_LOST)) context.log.warn({ pointer: `line ${line}` }, sentence(fault));
	const identities = identify(entries);
	const names = nameOperations(identities);
	for (const [index, identity] of identities.entries()) {
		const entry = entries[index];
		if (entry) yield convertOperation(entry, { identity, name: names[index] ?? '' }, surroundings);
	}
	const servers = [...new Set(addresses)].filter((address) => /^https?:\/\/[^@]+$/.test(address)).slice(0, MAX_SERVERS);
	return { format: 'wsdl 1.1', title: name === null ? null : cleanText(name, 200), version: null, servers };
}

const sentence = (fault: string): string => `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
const because = (lost: readonly LostPort[]): string =>
	lost
		.slice(0, MAX_SAID)
		.map(({ line, fault }) => ` Line ${line}: ${fault}.`)
		.join('');

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
