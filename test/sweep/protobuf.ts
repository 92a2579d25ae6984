// Imports every .proto that Google publishes (google-proto-files), and those of google-gax, and writes the results into README.md. `npm run
// sweep`: it downloads 10 MB once, takes a minute or two, and fails when an invariant is violated.

import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileArguments, type Operation } from '../../core/index.ts';
import importer from '../../importers/protobuf/index.ts';
import { createCodec } from '../../plugins/executors/grpc/codec.ts';
import { config } from '../../plugins/executors/grpc/config.ts';
import { readWith } from '../helpers/importer.ts';
import { countRpcs } from '../helpers/protobuf.ts';
import { unpackPackage } from './corpus.ts';
import { writeTable } from './table.ts';

const percentile = (sorted: readonly number[], share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
const sizes = (values: number[]): string => {
	const sorted = values.toSorted((a, b) => a - b);
	return [0.5, 0.95, 1].map((share) => percentile(sorted, share)).join(' / ');
};

/** Measures the work. @returns milliseconds, and the result */
async function timed<T>(work: () => Promise<T>): Promise<[number, T]> {
	const started = performance.now();
	const result = await work();
	return [Math.round(performance.now() - started), result];
}

/** Imports a folder. @param name of its table in README.md. @returns the violated invariants */
async function sweep(name: string, folder: string): Promise<string[]> {
	const paths = globSync('**/*.proto', { cwd: folder }).toSorted();
	const files = new Map(paths.map((path): [string, Uint8Array] => [path, readFileSync(`${folder}/${path}`)]));
	const expected = files.values().reduce((sum, bytes) => sum + countRpcs(Buffer.from(bytes).toString()), 0);
	const [importMs, { operations, warnings }] = await timed(() => readWith(importer, '', null, { files }));
	const [checkMs, faults] = await timed(() => faultsOf(operations));
	const names = new Set(operations.map(({ name }) => name.toLowerCase())).size;
	if (operations.length !== expected) faults.push(`${operations.length} operations instead of ${expected}.`);
	if (names !== operations.length) faults.push(`${operations.length - names} names are not unique.`);
	const by = (outcome: string): number => operations.filter((operation) => operation.outcome === outcome).length;
	writeTable(name, [
		['files', files.size],
		['rpcs, counted in the texts', expected],
		['operations reported', operations.length],
		['converted', by('converted')],
		['degraded', by('degraded')],
		['skipped', by('skipped')],
		['warnings', warnings.length],
		['faults (count, name, config, descriptors or schema not as it must be)', faults.length],
		['bytes of the schema of arguments, p50 / p95 / max', sizes(operations.map(({ parameters }) => JSON.stringify(parameters).length))],
		['answers with a schema', operations.filter(({ outputSchema }) => outputSchema !== null).length],
		['descriptors as base64, p50 / p95 / max', sizes(operations.map(({ definition }) => String(definition['descriptors'] ?? '').length))],
		['import / compiling all of it', `${(importMs / 1000).toFixed(1)} s / ${(checkMs / 1000).toFixed(1)} s`],
	]);
	return faults;
}

async function faultsOf(operations: Operation[]): Promise<string[]> {
	const faults: string[] = [];
	for (const operation of operations) {
		if (operation.outcome === 'skipped') continue;
		try {
			const tool = importer.tool(operation);
			compileArguments(tool.parameters);
			if (tool.outputSchema !== null) compileArguments(tool.outputSchema);
			createCodec(await config.validateAsync(tool.executionConfig));
		} catch (error) {
			faults.push(`${operation.key}: ${String(error)}`);
		}
	}
	return faults;
}

const faults = [
	...(await sweep('google-gax', fileURLToPath(new URL('../../node_modules/google-gax/build/protos', import.meta.url)))),
	...(await sweep('google-proto-files', unpackPackage('google-proto-files@6.0.1'))),
];
for (const fault of faults.slice(0, 20)) console.log(`fault ${fault}`);
if (faults.length > 0) process.exitCode = 1;
