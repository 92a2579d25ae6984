// Tests of the faults that stop the document from being written. Its content is tested in test/flows/document.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Hapi from '@hapi/hapi';
import Joi from 'joi';
import { type Endpoint, operation } from '../../../core/management/operation.ts';
import { Registry } from '../../../core/registry/registry.ts';
import { assertDescribable, describeApi } from './document.ts';

async function document(...declared: (string | (Partial<Endpoint> & { path: string }))[]) {
	const server = Hapi.server();
	for (const [at, one] of declared.entries()) {
		const usual = { method: at === 0 ? 'GET' : 'PATCH', id: `op${at}`, summary: 'Does it.', need: 'public', answer: Joi.any() } as const;
		server.route(operation({ ...usual, handler: () => null, ...(typeof one === 'string' ? { path: one } : one) }));
	}
	for (const { settings } of server.table()) settings.plugins = { ...settings.plugins, feature: 'things' };
	assertDescribable(server);
	return describeApi({ server, registry: new Registry(), config: { publicUrls: ['http://127.0.0.1'] }, version: '1' });
}

test('one path under two names stops the start, naming both', async () => {
	await assert.rejects(document('/things/{id}/parts/{part}', '/things/{thing}/parts/{part}'), {
		message: /\/things\/\{id\}\/parts\/\{part\}.*\/things\/\{thing\}\/parts\/\{part\}/,
	});
	assert.deepEqual(Object.keys((await document('/things/{id}', '/things/{id}')).paths as object), ['/things/{id}']);
	assert.equal(Object.keys((await document('/things/{id}', '/things/all')).paths as object).length, 2);
});

test('an answer whose form the caller chooses has a media type for each', async () => {
	const { paths } = await document({ path: '/things/export', produces: ['text/csv', 'application/x-ndjson'], bare: true });
	const { content } = (paths as Record<string, { get: { responses: Record<string, { content: object }> } }>)['/things/export']?.get
		.responses['200'] ?? { content: {} };
	assert.deepEqual(Object.keys(content), ['text/csv', 'application/x-ndjson']);
});
