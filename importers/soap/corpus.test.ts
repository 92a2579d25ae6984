// Whole documents: those of npm packages, which the importer was not written against, and our own with every construct.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WSDL } from 'soap';
import { compileArguments, type JsonObject, type Operation } from '../../core/index.ts';
import soap from '../../plugins/executors/soap/index.ts';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import { assertArguments, assertNames } from '../../test/helpers/corpus.ts';
import { apiAt } from '../../test/helpers/executor.ts';
import type { Reading } from '../../test/helpers/importer.ts';
import { readWith } from '../../test/helpers/importer.ts';
import { rounds } from '../../test/helpers/sampled.ts';
import { fixture, readFixture } from '../../test/helpers/soap.ts';
import { largeWsdl } from '../../test/helpers/soap-large.ts';
import importer from './index.ts';

const FOREIGN = ['weather.wsdl', 'stockquote.wsdl', 'qbws.wsdl'];
const NAMES = [...FOREIGN, 'shop.wsdl', 'calculator.wsdl'];

const documents: { name: string; text: string; reading: Reading }[] = [];
for (const name of NAMES) documents.push({ name, text: fixture(name), reading: await readFixture(name) });

/** Counts operations independently of the importer: by their tags in the port types that a SOAP binding names. */
function countOperations(text: string): number {
	const soapTypes = [...text.matchAll(/<(?:\w+:)?binding\b[^>]*?\btype="(?:\w+:)?(\w+)"[^>]*>\s*<soap(?:12)?:binding/g)].map(
		([, type]) => type,
	);
	const blocks = [...text.matchAll(/<(?:\w+:)?portType\b[^>]*?\bname="(\w+)"[^>]*>([\s\S]*?)<\/(?:\w+:)?portType>/g)];
	const named = blocks.filter(([, name]) => soapTypes.includes(name));
	return named.reduce((sum, [, , block = '']) => sum + (block.match(/<(?:\w+:)?operation\b/g) ?? []).length, 0);
}

function eachOperation(check: (operation: Operation, label: string) => void): void {
	for (const { name, reading } of documents)
		for (const operation of reading.operations) if (operation.outcome !== 'skipped') check(operation, `${name}: ${operation.key}`);
}

for (const { name, text, reading } of documents)
	test(`${name}: every operation that an independent count finds is there, once`, () => {
		assert.ok(countOperations(text) > 0);
		assert.equal(reading.operations.length, countOperations(text));
		assert.equal(new Set(reading.operations.map(({ key }) => key)).size, reading.operations.length);
	});

for (const name of FOREIGN)
	test(`${name}: every operation is converted whole, and has the arguments that the soap package finds`, async () => {
		const { operations } = documents.find((document) => document.name === name)?.reading ?? assert.fail(name);
		assert.deepEqual(
			operations.filter(({ outcome }) => outcome !== 'converted'),
			[],
		);
		const wsdl = new WSDL(fixture(name).replace(/^[\s\S]*?(?=<wsdl:definitions)/, ''), 'none', {});
		await new Promise<void>((resolve, reject) => wsdl.onReady((error) => (error ? reject(error) : resolve())));
		const [service] = Object.values(wsdl.describeServices()) as { [port: string]: { [operation: string]: { input: object } } }[];
		const [port] = Object.values(service ?? {});
		assert.deepEqual(operations.map((operation) => operation.operationId).toSorted(), Object.keys(port ?? {}).toSorted());
		for (const { operationId, parameters } of operations) {
			const theirs = Object.keys(port?.[operationId ?? '']?.input ?? {}).filter((key) => !/^target|^xmlns/.test(key));
			assert.deepEqual(
				Object.keys(parameters['properties'] as JsonObject),
				theirs.map((key) => key.replace('[]', '')),
				operationId ?? '',
			);
		}
	});

test('every name is valid, short enough to be prefixed, and unique without regard to case', () => {
	for (const { name, reading } of documents) assertNames(reading.operations, name);
});

test('every schema of arguments is a plain object at its root, compiles, and cannot be made to run long', () => {
	eachOperation((operation, label) => assertArguments(operation, label));
});

test('every schema of answers is an object at its root that compiles and requires nothing', () => {
	eachOperation(({ outputSchema }, label) => {
		if (outputSchema === null) return;
		assert.equal(outputSchema['type'], 'object', label);
		assert.doesNotThrow(() => compileArguments(outputSchema), label);
		for (const keyword of ['required', 'additionalProperties', 'pattern', 'format', 'enum'])
			assert.ok(!JSON.stringify(outputSchema).includes(`"${keyword}":`), `${label}: ${keyword}`);
	});
});

test('a schema has the definitions that it refers to, and no others', () => {
	eachOperation(({ parameters }, label) => {
		const referred = new Set([...JSON.stringify(parameters).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)].map(([, name]) => name));
		assert.deepEqual(Object.keys((parameters['$defs'] ?? {}) as JsonObject).toSorted(), [...referred].toSorted(), label);
	});
});

test('the soap executor accepts the config of every tool, to the byte as it is stored', () => {
	eachOperation((operation, label) => {
		const tool = importer.tool(operation, apiAt('https://api.example/soap'));
		assert.equal(tool.annotations.readOnlyHint, false);
		const { value, error } = soap.config.validate(tool.executionConfig, { convert: false });
		assert.equal(error, undefined, label);
		assert.deepEqual(
			{ ...value, timeoutMs: undefined },
			{ ...JSON.parse(JSON.stringify(tool.executionConfig)), timeoutMs: undefined },
			label,
		);
	});
});

test('two readings of one document are the same to the byte', async () => {
	for (const { name, reading } of documents)
		assert.equal(JSON.stringify((await readFixture(name)).operations), JSON.stringify(reading.operations));
});

const MEGABYTES = rounds({ few: 1, all: 4 });
test(`${MEGABYTES} MB of a document are read in seconds of one core, each operation once`, async () => {
	const text = largeWsdl(MEGABYTES);
	assert.ok(text.length > MEGABYTES * 1024 * 1024);
	let operations: Awaited<ReturnType<typeof readWith>>['operations'] = [];
	const cpuMs = await threadCpuMs(async () => {
		({ operations } = await readWith(importer, text));
	});
	assert.ok(cpuMs < 7_500 * MEGABYTES, `${cpuMs} ms`);
	assert.equal(operations.length, countOperations(text));
	assert.deepEqual(
		operations.filter(({ outcome }) => outcome === 'skipped'),
		[],
	);
	for (const { parameters } of operations.filter((_, index) => index % 100 === 0)) assert.doesNotThrow(() => compileArguments(parameters));
});
