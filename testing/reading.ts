// Reads a text with an importer to the end, without a worker or a store.

import { checkOperation, checkSummary } from '../core/imports/check-importer.ts';
import type { ImportContext, JsonObject, Operation, SchemaImporter, SchemaSource, SchemaSummary } from '../core/index.ts';
import { parseConfig } from '../core/registry/registry.ts';
import { operatorFor } from './config.ts';

export interface Reading {
	operations: Operation[];
	summary: SchemaSummary;
	warnings: { message: string; fields: object }[];
}

interface ReadingOptions extends Partial<SchemaSource> {
	/** The options of the import. */
	options?: object;
	/** Replaces the request function that fails the test of an importer that sends requests. */
	request?: ImportContext['request'];
	/** The operator's configuration. */
	operator?: JsonObject | undefined;
	/** Receives what the importer logs, beside `warnings`. */
	log?: ImportContext['log'];
}

const noWayOut = (): never => {
	throw new Error('The importer called out.');
};

export async function readWith(
	importer: SchemaImporter,
	text: string,
	url: string | null = null,
	{ options = {}, request = noWayOut, operator, log, ...more }: ReadingOptions = {},
): Promise<Reading> {
	const warnings: Reading['warnings'] = [];
	const warn = (fields: object, message: string): void => {
		log?.warn(fields, message);
		warnings.push({ fields, message });
	};
	const quiet = (): void => undefined;
	const { debug, info } = log ?? { debug: quiet, info: quiet };
	const context: ImportContext = {
		log: { debug, info, warn, error: warn },
		fetch: noWayOut,
		request,
		signal: new AbortController().signal,
		operator: operatorFor(importer, operator),
	};
	const operations: Operation[] = [];
	const reading = importer.parse(
		{ text, url, path: null, files: new Map(), ...more },
		parseConfig(importer.config, options, '/options'),
		context,
	);
	let next = await reading.next();
	for (; !next.done; next = await reading.next()) operations.push(checkOperation(importer.name, next.value));
	return { operations, summary: checkSummary(importer.name, next.value), warnings };
}
