// A third party's provider and nodes: they keep the contracts of their kinds, and are loaded, described and sealed as all plugins are.

import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import type { JsonObject, Kind, LlmProvider, PipelineNode } from '../../core/index.ts';
import { loadPlugins } from '../../core/registry/loader.ts';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { nodeContract } from '../../testing/node.ts';
import { KEY, providerContract } from '../../testing/provider.ts';
import { readDocument } from '../helpers/document.ts';
import { modelServer } from '../helpers/models.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { type Answer, must, registerAccount, SECRETS, send, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

// The package is JavaScript, so its types are those that its kinds promise.
const fixture: { default: [LlmProvider, PipelineNode, PipelineNode] } = createRequire(import.meta.url)('../fixtures/model-plugin/index.js');
const [provider, route, notify] = fixture.default;

providerContract(provider, {
	start: modelServer,
	config: (origin) => ({ baseUrl: origin, apiKey: KEY }),
	bad: [
		{ config: { apiKey: 'x' }, says: /"baseUrl" is required/ },
		{ config: { baseUrl: 'https://api.example.com' }, says: /"apiKey" is required/ },
		{ config: { baseUrl: 'ftp://api.example.com', apiKey: 'x' }, says: /"baseUrl" must be a valid uri/ },
	],
	priced: 'acme-own',
});

const INPUT = { input: { kind: 'b' }, from: [{ nodeId: 'first', output: { text: 'grüße' } }] };
const CASES = [
	{ equals: 'a', port: 'left' },
	{ equals: 'b', port: 'right' },
];

nodeContract(route, {
	bad: [
		{ config: { value: 'x', cases: [] }, says: /"cases" must contain at least 1/ },
		{ config: { value: 'x', cases: [{ equals: 'a', port: 'else' }] }, says: /"cases\[0\]\.port" contains an invalid value/ },
	],
	samples: [
		{
			name: 'a value that a case has',
			config: () => ({ value: '{{input.kind}}', cases: CASES }),
			effect: 'none',
			input: INPUT,
			values: { '{{input.kind}}': 'b' },
			expected: { output: 'b', port: 'right' },
		},
		{
			name: 'a value that no case has',
			config: () => ({ value: '{{input}}', cases: CASES }),
			effect: 'none',
			input: INPUT,
			values: { '{{input}}': { kind: 'b' } },
			expected: { output: { kind: 'b' }, port: 'else' },
		},
	],
	wrong: [
		{
			config: { value: 'x', cases: CASES },
			graph: { nodeId: 'it', nodes: [{ id: 'it', type: 'acme_route' }], edges: [], ancestors: [] },
			paths: ['/cases/0/port', '/cases/1/port'],
		},
	],
});

/** Tells whether a request has the key, and does not repeat it. */
const knowledgeOf = ({ authorization = '' }: IncomingHttpHeaders): string =>
	authorization === `Bearer ${KEY}` ? 'with the key' : authorization === '' ? 'without a key' : 'with another key';

nodeContract(notify, {
	bad: [
		{ config: {}, says: /"url" is required/ },
		{ config: { url: 'https://api.example.com', method: 'PUT' }, says: /"method" must be one of/ },
	],
	start: (t) => httpUpstream(t, (request, response) => void response.end(`${request.method} ${knowledgeOf(request.headers)}`)),
	samples: [
		{
			name: 'a GET',
			config: (url) => ({ url, method: 'GET', token: KEY }),
			effect: 'repeatable',
			input: INPUT,
			expected: { output: { status: 200, text: 'GET with the key' } },
		},
		{
			name: 'a POST to which a person agrees',
			config: (url) => ({ url, ask: true }),
			effect: 'once',
			input: INPUT,
			agreed: { agreed: true },
			expected: { output: { status: 200, text: 'POST without a key' } },
		},
	],
});

let packages: InstalledPackages;
let service: TestService;
before(async () => {
	packages = installPackages('model-plugin');
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') } });
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

test('a started service lists them with their package, and the document describes their configs', async () => {
	const account = await registerAccount(service.url);
	const judge = await readDocument(service.url);
	const answer = must(await account.get('/plugins'), 200);
	assert.equal(judge.fault('GET /plugins', answer), null);
	const theirs = answer.body.data.plugins.filter((plugin: { package: object | null }) => plugin.package !== null);
	assert.deepEqual(
		theirs.map(({ kind, name, api, creatable }: Record<string, unknown>) => [kind, name, api, creatable]),
		[
			['provider', 'acme_llm', 1, true],
			['node', 'acme_route', 1, true],
			['node', 'acme_notify', 1, true],
		],
	);
	for (const plugin of theirs) assert.deepEqual(plugin.package, { name: 'gatehouse-model-plugin', version: '2.1.0' });
	assert.ok(!JSON.stringify(answer.body).includes(process.cwd()), 'no path of the machine');
	const { schemas } = (await send(`${service.url}/openapi.json`, 'GET')).body.components;
	assert.equal(schemas['provider.acme_llm'].properties.apiKey.writeOnly, true);
	assert.equal(schemas['node.acme_notify'].properties.token.writeOnly, true);
});

test('a fault of a provider’s config names its field in the body, and the field is taken there', async () => {
	const account = await registerAccount(service.url);
	const body = { name: 'Acme', provider: 'acme_llm', apiKey: KEY, baseUrl: 'https://models.example.com' };
	const pools = [{ name: 'a', key: KEY }];
	const hidden = { pools: [{ name: 'b', key: '••••' }] };
	const faults: [more: object, path: string][] = [
		[{ baseUrl: undefined }, '/baseUrl'],
		[{ baseUrl: 'http://10.0.0.1' }, '/baseUrl'],
		[{ apiKey: undefined }, '/apiKey'],
		[{ apiKey: '••••' }, '/apiKey'],
		[{ options: { pools: [{ name: 7 }] } }, '/options/pools/0/name'],
		[{ options: { apiKeys: [] } }, '/options/apiKeys'],
		[{ options: hidden }, '/options/pools/0/key'],
	];
	const pathOf = ({ status, body: { details } }: Answer): unknown => [status, details?.[0]?.path];
	for (const [more, path] of faults) assert.deepEqual(pathOf(await account.post('/llm-providers', { ...body, ...more })), [400, path]);
	const { id } = must(await account.post('/llm-providers', { ...body, options: { pools } }), 201).body.data;
	assert.deepEqual(pathOf(await account.patch(`/llm-providers/${id}`, { options: hidden })), [400, '/options/pools/0/key']);
	assert.deepEqual(pathOf(await account.patch(`/llm-providers/${id}`, { options: { pools: 7 } })), [400, '/options/pools']);
});

test('the secrets of their configs are sealed, and never shown', async () => {
	const registry = await loadPlugins(process.cwd(), packages.names);
	const secrets = createSecrets(SECRETS.ENCRYPTION_KEY);
	const place = { organizationId: 'o', table: 'tools', row: 'r' } as const;
	const configs: [kind: Kind, name: string, config: JsonObject][] = [
		['provider', 'acme_llm', { baseUrl: 'https://api.example.com', apiKey: KEY, pools: [{ name: 'a', key: KEY }] }],
		['node', 'acme_notify', { url: 'https://api.example.com', token: KEY }],
	];
	for (const [kind, name, config] of configs) {
		const row = registry.seal(kind, name, structuredClone(config), secrets, place);
		assert.ok(!JSON.stringify(row).includes(KEY), 'sealed');
		assert.ok(!JSON.stringify(registry.redact(kind, name, row)).includes(KEY), 'redacted');
		assert.deepEqual(registry.open(kind, name, row, secrets, { ...place, of: 'it' }), config);
	}
});
