// Tests rows 21 to 32 of the catalog, as text: descriptions in XML and Protobuf that were written to harm.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { IMPORTED_CASES } from '../catalog/documents.ts';
import { testImports, useCatalog } from './documents-catalog.ts';

const catalog = useCatalog();

testImports(catalog, 'text', ['soap', 'protobuf']);

describe('24: what a WSDL imports is read within bounds, and is as harmless', () => {
	for (const { id, main, imported, most } of IMPORTED_CASES) {
		test(id, async () => {
			const asked: string[] = [];
			catalog.serve((response, url) => {
				const path = url.split('/').at(-1) ?? '';
				if (path !== 'main') asked.push(path);
				response.end(path === 'main' ? main : imported(path));
			});
			const apiId = await catalog.connect('soap');
			const answer = await catalog.account.post(`/apis/${apiId}/import-schema`, {
				schemaUrl: `${catalog.origin}/folder/main`,
				generateTools: true,
			});
			assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
			assert.ok(asked.length > 0 && asked.length <= most, `${asked}`);
			await catalog.assertHarmless(apiId, answer);
			assert.equal(catalog.canary.connections, 0);
		});
	}
});
