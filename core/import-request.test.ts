import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from './errors.ts';
import { readImportRequest } from './import-request.ts';

test('a document or its URL is taken, with the filters of what becomes a tool', () => {
	const filter = { tags: ['a'], methods: ['GET'], paths: ['/a'], operationIds: ['x'], deprecated: false };
	const body = Buffer.from(JSON.stringify({ schemaContent: 'x', generateTools: true, ...filter, methods: ['get'] }));
	assert.deepEqual(readImportRequest(body), { schemaUrl: null, schemaContent: 'x', generateTools: true, filter });
	const url = Buffer.from('{"schemaUrl":"https://example.com/openapi.json"}');
	assert.deepEqual(readImportRequest(url), {
		schemaUrl: 'https://example.com/openapi.json',
		schemaContent: null,
		generateTools: false,
		filter: {},
	});
});

test('a body that is wrong is refused, naming the field', () => {
	const deep = `{"schemaContent":${'['.repeat(400_000)}${']'.repeat(400_000)}}`;
	for (const [body, path] of [
		['', ''],
		['{"schemaContent":', ''],
		['[]', ''],
		['{}', ''],
		['{"schemaContent":"x","schemaUrl":"https://example.com"}', ''],
		['{"schemaContent":"  \\n"}', '/schemaContent'],
		['{"schemaContent":7}', '/schemaContent'],
		['{"schemaContent":"x","generateTools":"yes"}', '/generateTools'],
		['{"schemaContent":"x","other":1}', '/other'],
		['{"schemaContent":"x","__proto__":{"x":1}}', '/__proto__'],
		['{"schemaContent":"x\\u0000"}', '/schemaContent'],
		['{"schemaContent":"x","tags":"a"}', '/tags'],
		['{"schemaContent":"x","tags":[]}', '/tags'],
		['{"schemaContent":"x","methods":[1]}', '/methods/0'],
		['{"schemaUrl":""}', '/schemaUrl'],
		[deep, '/schemaContent/0'],
	] as const) {
		const matches = (error: unknown): boolean =>
			error instanceof GatewayError && error.code === 'validation_failed' && (error.details[0]?.path ?? '').startsWith(path);
		assert.throws(() => readImportRequest(Buffer.from(body)), matches, body.slice(0, 100));
	}
});
