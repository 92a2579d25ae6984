// Yields the operations of a document one by one. Only the worker loads this file, with the libraries that read YAML and validate.

import {
	cleanText,
	escapeToken,
	type ImportContext,
	isObject,
	nameOperations,
	type Operation,
	type SchemaSource,
	type SchemaSummary,
} from '../../core/index.ts';
import { type Document, readDocument, warnOfDropped } from './document.ts';
import { libraryOf } from './library.ts';
import { linkDocuments } from './linking.ts';
import { convertOperation, createDocumentContext, type ListedOperation, listOperations } from './operations.ts';
import { type ImportOptions, NO_OPTIONS } from './options.ts';
import { readPresets } from './presets.ts';
import { absoluteUrl, allServers, checkVariables, type ServerVariables } from './servers.ts';
import { fromSwagger } from './swagger/conversion.ts';
import { MAX_VALIDATED_CHARS, warnOfFaults } from './validation/faults.ts';

const MAX_SERVERS = 20;
const MAX_FRAGMENTS = 20;

export async function* parse(
	source: SchemaSource,
	given: Partial<ImportOptions>,
	context: ImportContext,
): AsyncGenerator<Operation, SchemaSummary> {
	const options = { ...NO_OPTIONS, ...given };
	const { serverVariables } = options;
	const written = readDocument(source.text);
	if (written.note !== null) context.log.warn({ pointer: '/openapi' }, written.note);
	warnOfDropped(written.dropped, context.log);
	await linkDocuments(written, libraryOf(source, context), context.log);
	const document = written.version === '2.0' ? fromSwagger(written, source.url) : written;
	const operations = listOperations(document);
	warnOfFragments(operations, context);
	const { root } = document;
	checkVariables(serverVariables, [
		root['servers'],
		...operations.flatMap(({ item, raw }) => [item['servers'], isObject(raw) ? raw['servers'] : undefined]),
	]);
	const shared = createDocumentContext(document, source.url, options);
	const names = nameOperations(operations);
	let writtenAsXml = 0;
	for (const [index, listed] of operations.entries()) {
		const operation = convertOperation(listed, names[index] ?? '', shared);
		const body = operation.definition['requestBody'];
		if (isObject(body) && body['xml'] !== undefined) writtenAsXml++;
		yield operation;
	}
	if (writtenAsXml > 0)
		context.log.warn({}, `XML bodies that are written from JSON arguments, by the XML Objects of their schemas: ${writtenAsXml}.`);
	const summary = summarize(document, source.url, serverVariables);
	if (source.text.length <= MAX_VALIDATED_CHARS) await warnOfFaults(written, context.log);
	return summary;
}

/** Tells which paths lose a fragment, by which some documents distinguish operations of one path: no client sends it. */
function warnOfFragments(operations: readonly ListedOperation[], { log }: ImportContext): void {
	const paths = new Set(operations.filter(({ path }) => path.includes('#')).map(({ path }) => path));
	for (const path of [...paths].slice(0, MAX_FRAGMENTS))
		log.warn({ pointer: `/paths/${escapeToken(path)}` }, 'The path has a fragment, which no client sends: tools call it without.');
}

function summarize({ root, format }: Document, url: string | null, variables: ServerVariables): SchemaSummary {
	const { info, servers } = root;
	const words = (text: unknown): string | null =>
		typeof text === 'string' || typeof text === 'number' ? cleanText(String(text), 200) : null;
	return {
		format: cleanText(format, 60),
		title: isObject(info) ? words(info['title']) : null,
		version: isObject(info) ? words(info['version']) : null,
		servers: allServers(servers, variables)
			.flatMap((server) => absoluteUrl(server, url) ?? [])
			.slice(0, MAX_SERVERS),
		credentials: readPresets(root, url),
	};
}
