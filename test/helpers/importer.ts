// What an importer makes of a text, read to the end without a worker or a store.

import type { ImportContext, Operation, SchemaImporter, SchemaSummary } from '../../core/index.ts';

export interface Reading {
	operations: Operation[];
	summary: SchemaSummary;
	warnings: { message: string; fields: object }[];
}

/** Neither calls out: an importer that tries fails its test. */
const noWayOut = (): never => {
	throw new Error('The importer called out.');
};

export async function readWith(importer: SchemaImporter, text: string, url: string | null = null): Promise<Reading> {
	const warnings: Reading['warnings'] = [];
	const warn = (fields: object, message: string): void => void warnings.push({ fields, message });
	const quiet = (): void => undefined;
	const context: ImportContext = {
		log: { debug: quiet, info: quiet, warn, error: warn },
		fetch: noWayOut,
		request: noWayOut,
		signal: new AbortController().signal,
	};
	const operations: Operation[] = [];
	const reading = importer.parse({ text, url }, {}, context);
	let next = await reading.next();
	for (; !next.done; next = await reading.next()) operations.push(next.value);
	return { operations, summary: next.value, warnings };
}
