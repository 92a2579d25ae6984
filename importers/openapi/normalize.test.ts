// Imports of documents that name the defaults of OpenAPI, compared with those that leave them out.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createImportReader } from '../../core/imports/changes.ts';
import { readWith } from '../../test/helpers/importer.ts';
import { draft } from '../../test/helpers/samples.ts';
import importer from './index.ts';

type Settings = Record<string, { style?: string; explode?: boolean }>;

const LIST = { type: 'array', items: { type: 'string' } };
const NONE: Settings = { path: {}, query: {}, header: {}, cookie: {} };

const documentOf = (settings: Settings): string =>
	JSON.stringify({
		openapi: '3.1.0',
		info: { title: 'Lists', version: '1' },
		servers: [{ url: 'https://lists.example' }],
		paths: {
			'/lists/{path}': {
				get: {
					operationId: 'lists',
					parameters: Object.entries(settings).map(([place, said]) => ({
						...{ name: place, in: place, required: place === 'path', schema: LIST },
						...said,
					})),
					responses: { 200: { description: 'Lists.' } },
				},
			},
		},
	});

/** Tells how an import of one document changes the operation of another. */
async function changeOf(before: Settings, after: Settings): Promise<(string | null)[]> {
	const reader = createImportReader(draft, importer);
	const [was, is] = await Promise.all([before, after].map(async (one) => (await readWith(importer, documentOf(one))).operations[0]));
	assert.ok(was && is);
	await reader.differs({ key: was.key, name: was.name, isRestored: false, before: was, after: is });
	const counts = { operations: 1, added: 0, removed: 0, isFirst: false, toolsUpdated: 0 };
	return reader.finish(counts).operations.map(({ kind }) => kind);
}

test('parameters that name the style which they have anyway did not change', async () => {
	const named: Settings = {
		path: { style: 'simple', explode: false },
		query: { style: 'form', explode: true },
		header: { style: 'simple', explode: false },
		cookie: { style: 'form', explode: true },
	};
	assert.deepEqual(await changeOf(NONE, named), []);
	assert.deepEqual(await changeOf(named, NONE), []);
});

for (const [place, said] of [
	['path', { style: 'label' }],
	['path', { explode: true }],
	['query', { explode: false }],
	['query', { style: 'pipeDelimited' }],
	['header', { explode: true }],
	['cookie', { explode: false }],
] as const)
	test(`a parameter in ${place} that says ${JSON.stringify(said)} is written in another way`, async () => {
		assert.deepEqual(await changeOf(NONE, { ...NONE, [place]: said }), ['breaking']);
	});

test('styles that are the same in another spelling did not change either', async () => {
	const piped = { ...NONE, query: { style: 'pipeDelimited' } };
	assert.deepEqual(await changeOf(piped, { ...NONE, query: { style: 'pipeDelimited', explode: false } }), []);
	assert.deepEqual(await changeOf(piped, { ...NONE, query: { style: 'pipeDelimited', explode: true } }), ['breaking']);
	const deep = { ...NONE, query: { style: 'deepObject' } };
	assert.deepEqual(await changeOf(deep, { ...NONE, query: { style: 'deepObject', explode: true } }), []);
});
