// Yields a document's operations one after the other; loaded only in the worker.

import { cleanText, type ImportContext, nameOperations, type Operation, type SchemaSource, type SchemaSummary } from '../../core/index.ts';
import { loadDocuments, refused } from './documents.ts';
import { convertOperation, identify, readService } from './operations.ts';
import type { ImportOptions } from './options.ts';
import type { LostPort } from './ports.ts';

const MAX_SERVERS = 20;
const MAX_LOST = 10;
/** Most lost ports that one message names. */
const MAX_SAID = 3;

export async function* parse(
	source: SchemaSource,
	options: ImportOptions,
	context: ImportContext,
): AsyncGenerator<Operation, SchemaSummary> {
	const documents = await loadDocuments(source, context);
	const service = readService(documents, options);
	const { operations, lost, name, addresses } = service.wsdl;
	if (operations.length === 0)
		throw refused(`The document has no operation with a SOAP binding over HTTP: there is nothing to call.${because(lost)}`);
	for (const { line, fault } of lost.slice(0, MAX_LOST)) context.log.warn({ pointer: `line ${line}` }, sentence(fault));
	const identities = identify(operations);
	const names = nameOperations(identities);
	for (const [index, identity] of identities.entries()) {
		const operation = operations[index];
		if (operation) yield convertOperation(operation, { identity, name: names[index] ?? '' }, service);
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
