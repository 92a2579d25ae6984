// Imports the documents of the sweep one at a time and checks the results, in a thread that a document may crash.

import { readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { asGatewayError } from '../../core/contract/errors.ts';
import { compileArguments, type Operation } from '../../core/index.ts';
import importer from '../../importers/openapi/index.ts';
import http from '../../plugins/executors/http/index.ts';
import { readWith } from '../helpers/importer.ts';

export interface DocumentRow {
	file: string;
	bytes: number;
	durationMs: number;
	/** The reason for which the whole document was refused; null when it was read. */
	refused: string | null;
	/** The number of operations, counted independently of the importer. */
	expected: number;
	operations: number;
	converted: number;
	degraded: number;
	skipped: number;
	/** Violations of the invariants, one sentence each. */
	faults: string[];
}

const METHOD = /^(get|put|post|delete|options|head|patch|trace)$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$/;
const api = { id: 'a', organizationId: 'o', name: 'x', type: 'openapi', baseUrl: 'https://api.example.com' };
/** Schemas that were compiled already: many operations are alike. */
const compiled = new Set<string>();

parentPort?.on('message', (file: string) => {
	void readOne(file).then((row) => parentPort?.postMessage(row));
});

async function readOne(file: string): Promise<DocumentRow> {
	const text = readFileSync(file, 'utf8');
	const row: DocumentRow = {
		file,
		bytes: Buffer.byteLength(text),
		durationMs: 0,
		refused: null,
		expected: countOperations(text),
		operations: 0,
		converted: 0,
		degraded: 0,
		skipped: 0,
		faults: [],
	};
	const started = performance.now();
	try {
		const { operations } = await readWith(importer, text);
		row.durationMs = performance.now() - started;
		row.operations = operations.length;
		for (const { outcome } of operations) row[outcome]++;
		row.faults.push(...faultsOf(operations, row.expected));
	} catch (error) {
		row.durationMs = performance.now() - started;
		const known = asGatewayError(error);
		if (known?.code === 'schema_invalid') row.refused = known.message;
		else row.faults.push(`It threw: ${error instanceof Error ? error.message : String(error)}`);
	}
	return row;
}

function countOperations(text: string): number {
	const document = JSON.parse(text) as { paths?: Record<string, { $ref?: string } | null> };
	const ownOf = (item: object | null): number => Object.keys(item ?? {}).filter((key) => METHOD.test(key)).length;
	const target = (ref: string): object | null => {
		const tokens = ref.slice(2).split('/');
		return tokens.reduce<unknown>((at, token) => (at as Record<string, unknown>)[token.replaceAll('~1', '/')], document) as object | null;
	};
	return Object.values(document.paths ?? {}).reduce((sum, item) => sum + ownOf(item) + (item?.$ref ? ownOf(target(item.$ref)) : 0), 0);
}

function faultsOf(operations: Operation[], expected: number): string[] {
	const faults: string[] = [];
	if (operations.length !== expected) faults.push(`${operations.length} operations instead of ${expected}.`);
	const names = new Set(operations.map(({ name }) => name.toLowerCase()));
	if (names.size !== operations.length) faults.push(`${operations.length - names.size} names are not unique.`);
	for (const operation of operations) {
		if (!NAME.test(operation.name)) faults.push(`The name ${operation.name} is not valid.`);
		if (operation.outcome === 'skipped') continue;
		const { error } = http.config.validate(importer.tool(operation, api).executionConfig, { convert: false });
		if (error) faults.push(`${operation.key}: ${error.message}`);
		const fault = schemaFault(operation);
		if (fault) faults.push(`${operation.key}: ${fault}`);
	}
	return faults;
}

function schemaFault({ parameters }: Operation): string | null {
	if (parameters['type'] !== 'object') return 'Its root is no object.';
	if (['allOf', 'anyOf', 'oneOf', 'not', '$ref'].some((keyword) => keyword in parameters)) return 'Its root has a combinator.';
	const text = JSON.stringify(parameters);
	if (compiled.has(text)) return null;
	compiled.add(text);
	try {
		compileArguments(parameters);
		return null;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}
