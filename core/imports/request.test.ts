import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../contract/errors.ts';
import { readImportRequest } from './request.ts';

test('a document or its URL is accepted, with the filters for tools', () => {
	const generation = { tags: ['a'], methods: ['GET'], paths: ['/a'], operationIds: ['x'], deprecated: false, bodies: 'flat' };
	const body = Buffer.from(JSON.stringify({ schemaContent: 'x', generateTools: true, ...generation, methods: ['get'] }));
	const nothing = {
		schemaUrl: null,
		schemaContent: null,
		files: null,
		entry: null,
		options: {},
		allowEmpty: false,
		generation: null,
	};
	assert.deepEqual(readImportRequest(body), { ...nothing, schemaContent: 'x', generation });
	const url = Buffer.from('{"schemaUrl":"https://example.com/openapi.json"}');
	assert.deepEqual(readImportRequest(url), { ...nothing, schemaUrl: 'https://example.com/openapi.json' });
	const files = { 'a.yaml': 'a', 'b.bin': { base64: 'Yg==' } };
	const several = Buffer.from(JSON.stringify({ files, entry: 'a.yaml', options: { depth: 2 } }));
	assert.deepEqual(readImportRequest(several), { ...nothing, files, entry: 'a.yaml', options: { depth: 2 } });
	assert.equal(readImportRequest(Buffer.from('{"files":"UEsFBg=="}')).files, 'UEsFBg==');
});

test('an invalid body is refused, naming the field', () => {
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
		['{"schemaContent":"x","bodies":"wide"}', '/bodies'],
		['{"schemaContent":"x","other":1}', '/other'],
		['{"schemaContent":"x","__proto__":{"x":1}}', '/__proto__'],
		['{"schemaContent":"x\\u0000"}', '/schemaContent'],
		['{"schemaContent":"x","tags":"a"}', '/tags'],
		['{"schemaContent":"x","tags":[]}', '/tags'],
		['{"schemaContent":"x","methods":[1]}', '/methods/0'],
		['{"schemaUrl":""}', '/schemaUrl'],
		['{"files":{}}', '/files'],
		['{"files":[]}', '/files'],
		['{"files":{"a/b":7}}', '/files/a~1b'],
		['{"files":{"a":{"base64":"","x":1}}}', '/files/a'],
		['{"files":{"a":"x"},"schemaUrl":"https://example.com"}', ''],
		['{"files":{"a":"x"},"schemaContent":"x"}', ''],
		['{"files":{"a":"x"},"entry":7}', '/entry'],
		['{"schemaContent":"x","entry":"a"}', ''],
		['{"schemaContent":"x","options":[]}', '/options'],
		[deep, '/schemaContent/0'],
	] as const) {
		const matches = (error: unknown): boolean =>
			error instanceof GatewayError && error.code === 'validation_failed' && (error.details[0]?.path ?? '').startsWith(path);
		assert.throws(() => readImportRequest(Buffer.from(body)), matches, body.slice(0, 100));
	}
});
