// Tests that the official client's own schema reads the manual, whatever the tools' schemas are, and the `auth` of each kind of method.

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { UtcpManualSerializer } from '@utcp/sdk';
import '@utcp/http';
import type { Admission, JsonSchema, Reply } from '../../core/index.ts';
import { fakeCall } from '../../testing/index.ts';
import { fakeRequest } from '../../testing/samples.ts';
import { authOf } from './auth.ts';
import { inputsOf } from './inputs.ts';
import { ownManual } from './manual.ts';
import { openApi } from './openapi.ts';

const HOSTILE: readonly JsonSchema[] = [
	{ type: 'object', properties: { any: true, none: false } },
	{ type: 'object', properties: { n: { type: 'integer', minimum: 'one', maximum: null } }, required: 'n' },
	{ type: ['object', 7], properties: { list: { items: true, examples: 'x', enum: {} } }, title: 3, $schema: 4 },
	{ type: 'thing', additionalProperties: 'no', anyOf: {}, properties: [] },
	{ type: 'object', properties: { deep: { items: [true, { properties: { x: false } }], additionalProperties: true } } },
];

test('the official client reads a manual of tools with any schemas', async () => {
	const tools = HOSTILE.map((parameters, at) => ({
		name: `tool_${at}`,
		parameters,
		outputSchema: parameters,
		run: () => ({ content: [] }),
	}));
	await using fake = fakeCall({ tools });
	const reply: Reply = await ownManual(fakeRequest({ method: 'GET' }), { discovery: 'full' }, fake.call);
	const manual = new UtcpManualSerializer().validateDict(JSON.parse(String(reply.body)));
	assert.equal(manual.tools.length, HOSTILE.length);
});

test('a manual above 1 MiB is sent while it is written, and is whole for the official client', async () => {
	const parameters = { type: 'object', properties: { about: { type: 'string', description: 'x'.repeat(2000) } } };
	const tools = Array.from({ length: 900 }, (_, at) => ({ name: `tool_${at}`, parameters, run: () => ({ content: [] }) }));
	await using fake = fakeCall({ tools });
	const request = fakeRequest({ method: 'GET' });
	const reply: Reply = await ownManual(request, { discovery: 'full' }, fake.call);
	assert.ok(reply.body instanceof Readable);
	const text = (await reply.body.toArray()).map(String).join('');
	assert.ok(text.length > 1024 * 1024, `${text.length}`);
	const manual = new UtcpManualSerializer().validateDict(JSON.parse(text));
	assert.deepEqual([manual.tools.length, manual.tools.at(-1)?.name], [900, 'tool_899']);
	const known = fakeRequest({ method: 'GET', headers: { 'if-none-match': String(reply.headers?.['etag']) } });
	assert.equal((await ownManual(known, { discovery: 'full' }, fake.call)).status, 304);
});

test('a client that has the manual gets another one once callers log in otherwise', async () => {
	const tools = [{ name: 'tool', parameters: { type: 'object' }, run: () => ({ content: [] }) }];
	const manualOf = async (name: string, tag?: string): Promise<Reply> => {
		await using fake = fakeCall({
			tools,
			admission: [{ method: 'api_key', required: true, scheme: { type: 'apiKey', in: 'header', name } }],
		});
		const request = fakeRequest({ method: 'GET', ...(tag !== undefined && { headers: { 'if-none-match': tag } }) });
		return ownManual(request, { discovery: 'full' }, fake.call);
	};
	const tag = String((await manualOf('X-Old')).headers?.['etag']);
	assert.equal((await manualOf('X-Old', tag)).status, 304);
	const { status, body } = await manualOf('X-New', tag);
	assert.deepEqual([status, String(body).includes('X-New')], [200, true]);
});

test('two rows of one method are two schemes of the OpenAPI document', async () => {
	const row = (name: string): Admission => ({ method: 'api_key', required: false, scheme: { type: 'apiKey', in: 'header', name } });
	await using fake = fakeCall({ tools: [], admission: [row('X-Old'), row('X-New')] });
	const { body } = await openApi(fakeRequest({ method: 'GET' }), { discovery: 'full' }, fake.call);
	const { security, components } = JSON.parse(String(body));
	assert.deepEqual(security, [{ api_key: [] }, { api_key_2: [] }]);
	assert.deepEqual([components.securitySchemes.api_key.name, components.securitySchemes.api_key_2.name], ['X-Old', 'X-New']);
});

test('references lead to where the schema is in the document', () => {
	const own = { type: 'object', properties: { at: { $ref: '#/$defs/p' } }, $defs: { p: { type: 'number' } }, required: ['at'] };
	const { properties, required } = inputsOf(own) as { properties: { body: typeof own }; required: string[] };
	assert.deepEqual([properties.body.properties.at.$ref, required], ['#/properties/body/$defs/p', ['body']]);
});

test('arguments are side by side where a query carries them, else below the body', () => {
	const [text, list] = [{ type: 'string' }, { type: 'array', items: { type: 'integer' } }];
	const isFlat = (schema: JsonSchema): boolean => !Object.hasOwn(Object(inputsOf({ type: 'object', ...schema })['properties']), 'body');
	for (const schema of [
		...[{}, { properties: { text } }, { additionalProperties: false }, { properties: { text }, unevaluatedProperties: false }],
		{ properties: { list: { ...list, minItems: 1 } } },
	])
		assert.equal(isFlat(schema), true, JSON.stringify(schema));
	for (const schema of [
		...[
			{ properties: { list } },
			{ properties: { list: { ...list, minItems: 0 } } },
			{ properties: { list: { ...list, minItems: 'one' } } },
		],
		...[{ additionalProperties: true }, { additionalProperties: {} }, { properties: { text }, additionalProperties: text }],
		{ properties: { text }, unevaluatedProperties: text },
	])
		assert.equal(isFlat(schema), false, JSON.stringify(schema));
});

test('each kind of method is an auth that the client knows, and variables are the only dollars', () => {
	const of = (...schemes: Admission['scheme'][]) =>
		authOf(schemes.map((scheme) => ({ method: 'm', required: true, ...(scheme !== undefined && { scheme }) })));
	const flow = { tokenUrl: 'https://a.example/token', scopes: { read: '', write: '' } };
	const own = of({ type: 'oauth2', flows: { clientCredentials: flow } });
	const [id, secret] = ['CLIENT_ID', 'CLIENT_SECRET'].map((name) => `\${${name}}`);
	assert.deepEqual(own, { auth_type: 'oauth2', token_url: flow.tokenUrl, client_id: id, client_secret: secret, scope: 'read write' });
	assert.equal(of({ type: 'apiKey', in: 'header', name: 'X-$KEY' }), null);
	assert.equal(of({ type: 'mutualTLS' }, undefined, { type: 'http', scheme: 'Basic' })?.['auth_type'], 'basic');
	assert.equal(of({ type: 'apiKey', in: 'cookie', name: 'k' }, { type: 'apiKey', in: 'query', name: 'q' })?.['var_name'], 'q');
	assert.equal(of({ type: 'http', scheme: 'basic' }, null), null, 'everybody is admitted');
});
