// Imports every WSDL of npm packages of this field, with the schemas that lie beside it, and writes the results into README.md. `node
// test/sweep/soap.ts`: it downloads 2 MB once, takes seconds, and fails when an invariant is violated.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { asGatewayError, compileArguments, type Operation } from '../../core/index.ts';
import importer from '../../importers/soap/index.ts';
import soap from '../../plugins/executors/soap/index.ts';
import { apiAt } from '../helpers/executor.ts';
import { readWith } from '../helpers/importer.ts';
import { unpackPackage } from './corpus.ts';
import { writeTable } from './table.ts';

const PACKAGES = ['strong-soap@6.0.1', 'quickbooks-js@1.0.0', 'soap@1.13.0'];
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$/;

interface Row {
	file: string;
	/** The number of operations, counted independently of the importer. */
	expected: number;
	operations: Operation[];
	refused: string | null;
	faults: string[];
}

const rows: Row[] = [];
const started = performance.now();
for (const spec of PACKAGES) {
	const folder = unpackPackage(spec);
	for (const path of globSync('**/*.wsdl', { cwd: folder }).toSorted()) rows.push(await readDocument(folder, path, `${spec}/${path}`));
}

/** Reads a document with those of its own folder and of the folders below, as a user would upload them. */
async function readDocument(folder: string, path: string, file: string): Promise<Row> {
	const home = join(folder, dirname(path));
	const paths = globSync('**/*.{wsdl,xsd}', { cwd: home });
	const files = new Map(paths.map((each): [string, Uint8Array] => [each, readFileSync(join(home, each))]));
	const text = readFileSync(join(folder, path), 'utf8');
	const row: Row = { file, expected: countOperations(text), operations: [], refused: null, faults: [] };
	try {
		const { operations } = await readWith(importer, text, null, { path: relative(home, join(folder, path)), files });
		return { ...row, operations, faults: faultsOf(operations, row.expected) };
	} catch (error) {
		const known = asGatewayError(error);
		if (known?.code === 'schema_invalid') return { ...row, refused: known.message };
		return { ...row, faults: [`It crashed: ${error instanceof Error ? error.stack : String(error)}`] };
	}
}

/** Counts what looks like operations in the port types that a SOAP binding names. */
function countOperations(text: string): number {
	const bound = [...text.matchAll(/<(?:\w+:)?binding\b[^>]*?\btype="(?:\w+:)?(\w+)"[^>]*>\s*<soap(?:12)?:binding/g)].map(
		([, type]) => type,
	);
	const portTypes = [...text.matchAll(/<(?:\w+:)?portType\b[^>]*?\bname="(\w+)"[^>]*>([\s\S]*?)<\/(?:\w+:)?portType>/g)];
	return portTypes
		.filter(([, name]) => bound.includes(name))
		.reduce((sum, [, , inside = '']) => sum + (inside.match(/<(?:\w+:)?operation\b/g) ?? []).length, 0);
}

function faultsOf(operations: Operation[], expected: number): string[] {
	const faults = operations.length === expected ? [] : [`It has ${operations.length} operations, not ${expected}.`];
	if (new Set(operations.map(({ name }) => name.toLowerCase())).size !== operations.length) faults.push('Two operations have one name.');
	for (const operation of operations) {
		const fault = NAME.test(operation.name) ? faultOf(operation) : `${operation.name} is no name.`;
		if (fault !== null) faults.push(`${operation.key}: ${fault}`);
	}
	return faults;
}

function faultOf(operation: Operation): string | null {
	if (operation.outcome === 'skipped') return null;
	try {
		const { parameters, outputSchema, executionConfig } = importer.tool(operation, apiAt('https://api.example/soap'));
		compileArguments(parameters);
		if (outputSchema) compileArguments(outputSchema);
		const { error } = soap.config.validate(executionConfig, { convert: false });
		if (error) return error.message;
		return ['allOf', 'anyOf', 'oneOf', 'not', '$ref'].some((keyword) => keyword in parameters) ? 'Its root has a combinator.' : null;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}

const sum = (value: (row: Row) => number): number => rows.reduce((total, row) => total + value(row), 0);
const outcomes = (outcome: Operation['outcome']): number =>
	sum(({ operations }) => operations.filter((one) => one.outcome === outcome).length);

writeTable('soap', [
	['documents', rows.length],
	['of them read', rows.filter(({ operations }) => operations.length > 0).length],
	['refused, with a reason', rows.filter(({ refused }) => refused !== null).length],
	['crashes', rows.filter(({ faults }) => faults.some((fault) => fault.startsWith('It crashed'))).length],
	['operations, by an independent count', sum(({ expected }) => expected)],
	['operations reported', sum(({ operations }) => operations.length)],
	['converted', outcomes('converted')],
	['degraded', outcomes('degraded')],
	['skipped', outcomes('skipped')],
	['faults (count, name, config or schema not as it must be)', sum(({ faults }) => faults.length)],
	['whole sweep, schemas compiled', `${((performance.now() - started) / 1000).toFixed(1)} s`],
]);
for (const { file, refused } of rows) if (refused !== null) console.log(`refused ${file}: ${refused}`);
for (const { file, faults } of rows) for (const fault of faults) console.log(`fault ${file}: ${fault}`);
if (rows.length === 0 || rows.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
