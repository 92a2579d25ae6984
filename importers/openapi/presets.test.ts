import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../core/index.ts';
import { readWith } from '../../test/helpers/importer.ts';
import importer from './index.ts';
import { readPresets } from './presets.ts';

const rootOf = (securitySchemes: JsonObject): JsonObject => ({ components: { securitySchemes } });
const flow = (tokenUrl: string, ...scopes: string[]): JsonObject => ({
	tokenUrl,
	scopes: Object.fromEntries(scopes.map((scope) => [scope, 'x'])),
});

const CASES: [scheme: JsonObject, preset: JsonObject | null][] = [
	[
		{ type: 'apiKey', in: 'header', name: 'X-Key' },
		{ type: 'api_key', credentials: { name: 'X-Key', in: 'header' } },
	],
	[
		{ type: 'apiKey', in: 'cookie', name: 'sid' },
		{ type: 'api_key', credentials: { name: 'sid', in: 'cookie' } },
	],
	[{ type: 'apiKey', in: 'body', name: 'key' }, null],
	[{ type: 'apiKey', in: 'query' }, null],
	[
		{ type: 'http', scheme: 'Bearer' },
		{ type: 'bearer_token', credentials: {} },
	],
	[
		{ type: 'http', scheme: 'basic' },
		{ type: 'basic_auth', credentials: {} },
	],
	[{ type: 'http', scheme: 'digest' }, null],
	[{ type: 'mutualTLS' }, null],
	[
		{
			type: 'oauth2',
			flows: { authorizationCode: flow('https://a.example/code', 'a'), clientCredentials: flow('/token', 'read', 'write') },
		},
		{ type: 'oauth2', credentials: { tokenUrl: 'https://api.example.com/token', scopes: ['read', 'write'] } },
	],
	[
		{ type: 'oauth2', flows: { deviceAuthorization: flow('https://a.example/device') } },
		{ type: 'oauth2', credentials: { tokenUrl: 'https://a.example/device', scopes: [] } },
	],
	[
		{ type: 'oauth2', flows: { implicit: { authorizationUrl: 'https://a.example', scopes: {} } } },
		{ type: 'oauth2', credentials: {} },
	],
	[
		{ type: 'oauth2', flows: { password: flow('javascript:alert(1)') } },
		{ type: 'oauth2', credentials: {} },
	],
	[
		{ type: 'openIdConnect', openIdConnectUrl: 'https://a.example' },
		{ type: 'oauth2', credentials: {} },
	],
];

for (const [scheme, preset] of CASES)
	test(`${JSON.stringify(scheme).slice(0, 90)} gives ${JSON.stringify(preset)}`, () => {
		const expected = preset === null ? [] : [{ scheme: 'one', ...preset }];
		assert.deepEqual(readPresets(rootOf({ one: scheme }), 'https://api.example.com/openapi.json'), expected);
	});

test('the flows of Swagger 2.0 are read too, and the summary has all schemes of a document', async () => {
	const document = {
		swagger: '2.0',
		info: { title: 't', version: '1' },
		paths: {},
		securityDefinitions: {
			key: { type: 'apiKey', in: 'query', name: 'k' },
			app: { type: 'oauth2', flow: 'application', tokenUrl: 'https://a.example/token', scopes: { read: 'x' } },
		},
	};
	const { summary } = await readWith(importer, JSON.stringify(document));
	assert.deepEqual(summary.credentials, [
		{ scheme: 'key', type: 'api_key', credentials: { name: 'k', in: 'query' } },
		{ scheme: 'app', type: 'oauth2', credentials: { tokenUrl: 'https://a.example/token', scopes: ['read'] } },
	]);
});

test('the number and length of presets are bounded', () => {
	const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`s${at}`, { type: 'http', scheme: 'basic' }]));
	assert.equal(readPresets(rootOf(many), null).length, 50);
	const scopes = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`s${at}`, '']));
	const flows = { clientCredentials: { tokenUrl: 'https://a.example', scopes } };
	const [preset] = readPresets(rootOf({ one: { type: 'oauth2', flows } }), null);
	assert.ok(preset);
	assert.equal((preset.credentials['scopes'] as string[]).length, 100);
});
