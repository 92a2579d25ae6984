// Tests row 30 of the catalog: descriptions that are too large. The files beside this one hold the other rows, by form and by way of
// import.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { DOCUMENT_CASES } from '../catalog/documents.ts';
import { assertRefused, IMPORTS, useCatalog } from './documents-catalog.ts';

const catalog = useCatalog();

describe('30: what is too large', () => {
	const MiB = 1024 * 1024;
	const blank = (bytes: number): Buffer => Buffer.alloc(bytes, ' ');

	test('a body of more than 64 MiB is a 413', async () => {
		const id = await catalog.connect('openapi');
		const { status } = await catalog.account.post(`/apis/${id}/import-schema`, blank(65 * MiB), { 'content-type': 'application/json' });
		assert.equal(status, 413);
	});

	test('a URL that answers more than 64 MiB, in one piece, without end, or packed, is a 400', async () => {
		const id = await catalog.connect('openapi');
		const bomb = gzipSync(blank(200 * MiB));
		assert.ok(bomb.length < MiB);
		const answers: ((response: ServerResponse) => void)[] = [
			(response) => response.end(blank(65 * MiB)),
			(response) => response.setHeader('content-encoding', 'gzip').end(bomb),
			function endless(response): void {
				if (!response.destroyed) response.write(blank(256 * 1024), () => setImmediate(endless, response));
			},
		];
		for (const answer of answers) {
			catalog.serve(answer);
			assertRefused(await catalog.account.post(`/apis/${id}/import-schema`, { schemaUrl: `${catalog.origin}/x` }));
		}
		await catalog.assertNothingKept(id);
	});

	test('a zip of more than 64 MiB once it is unpacked is a 400', async () => {
		const id = await catalog.connect('openapi');
		const bomb = Buffer.from(zipSync({ 'a.json': blank(200 * MiB) }));
		assert.ok(bomb.length < MiB);
		assertRefused(await catalog.account.post(`/apis/${id}/import-schema`, { files: bomb.toString('base64') }));
		await catalog.assertNothingKept(id);
	});
});

test('every case is counted, and belongs to one of the files', (t) => {
	t.diagnostic(`${DOCUMENT_CASES.length} documents, ${IMPORTS} imports`);
	assert.ok(DOCUMENT_CASES.length >= 75 && IMPORTS >= 150, `${DOCUMENT_CASES.length} documents, ${IMPORTS} imports`);
	assert.deepEqual([...new Set(DOCUMENT_CASES.map(({ type }) => type))].sort(), ['graphql', 'openapi', 'protobuf', 'soap']);
});
