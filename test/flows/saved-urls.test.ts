// Tests URLs that are saved: RFC 3986 allows some that the parser of https://url.spec.whatwg.org, which will read them, does not.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Schema } from 'joi';
import { CREDENTIALS, httpUrl, IMPORT_BODY } from '../../core/features.ts';
import { loadPlugins } from '../../core/registry/loader.ts';
import { managementRoutes, nameOf, schemaOf } from '../helpers/routes.ts';
import { type Account, must, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';

const UNPARSABLE = [
	'http://x:99999/',
	'https://%/',
	'http://127.0.0.1%00.example.com/',
	'http://1.2.3.4.5/',
	'http://256.1.1.1/',
	'https://a%2Fb/',
];

let service: TestService;
let account: Account;
let apiId: string;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	apiId = must(await account.post('/apis', { name: 'a', type: 'openapi', baseUrl: 'https://a.example' }), 201).body.data.id;
});
after(() => service.stop());

interface UrlField {
	/** Pointer to the URL in the body. */
	at: string;
	path(): Promise<string>;
	method?: 'patch';
	body(url: string): object;
}

const newGateway = async (): Promise<string> => `/gateways/${(await publishGateway(account)).id}`;
const tools = async (): Promise<string> => `/organizations/${account.organization.id}/tools`;
const tool = (type: string, executionConfig: object): object => ({
	...{ name: 'x', description: 'x', type },
	parameters: { type: 'object', properties: {} },
	executionConfig,
});

const URL_FIELDS: Record<string, UrlField> = {
	'an API': { at: '/baseUrl', path: async () => '/apis', body: (baseUrl) => ({ name: 'a', type: 'openapi', baseUrl }) },
	'an API that is changed': { at: '/baseUrl', method: 'patch', path: async () => `/apis/${apiId}`, body: (baseUrl) => ({ baseUrl }) },
	'its token endpoint': {
		at: '/credentials/tokenUrl',
		path: async () => `/apis/${apiId}/credentials`,
		body: (tokenUrl) => ({ type: 'oauth2', credentials: { tokenUrl, clientId: 'a', clientSecret: 'b' } }),
	},
	'its description': { at: '/schemaUrl', path: async () => `/apis/${apiId}/import-schema`, body: (schemaUrl) => ({ schemaUrl }) },
	'keys of an issuer': {
		at: '/configuration/jwksUrl',
		path: async () => `${await newGateway()}/auth`,
		body: (jwksUrl) => ({ type: 'jwt', configuration: { jwksUrl, issuer: 'x', audience: 'y' } }),
	},
	'a page’s origin': {
		at: '/configuration/allowedOrigins/0',
		path: async () => '/gateways',
		body: (url) => ({ name: 'g', type: 'mcp', endpoint: '/urls', configuration: { allowedOrigins: [url.replace(/\/$/, '')] } }),
	},
	'an http tool': { at: '/executionConfig/url', path: tools, body: (url) => tool('http', { method: 'GET', url }) },
	'a GraphQL tool': { at: '/executionConfig/endpoint', path: tools, body: (endpoint) => tool('graphql', { endpoint, query: '{ a }' }) },
};

for (const [title, { at, path, method = 'post', body }] of Object.entries(URL_FIELDS))
	test(`a URL that cannot be parsed is a 400 that names its field: ${title}`, async () => {
		for (const url of UNPARSABLE) {
			const answer = must(await account[method](await path(), body(url)), 400);
			assert.equal(answer.body.details?.[0]?.path, at, `${url}: ${JSON.stringify(answer.body)}`);
			assert.match(answer.body.message, /url|origin|http/i);
		}
	});

test('a redirect URI, and keys of a client, are refused as OAuth says it', async () => {
	const { url: gateway } = await publishGateway(account, { auth: 'oauth2' });
	for (const url of UNPARSABLE.map((text) => text.replace(/^http:/, 'https:'))) {
		for (const metadata of [
			{ redirect_uris: [url], token_endpoint_auth_method: 'none' },
			{ redirect_uris: ['https://a.example/'], token_endpoint_auth_method: 'private_key_jwt', jwks_uri: url },
		]) {
			const { body } = must(await send(`${gateway}/register`, 'POST', { body: metadata }), 400);
			assert.match(body.error, /^invalid_(redirect_uri|client_metadata)$/, url);
		}
	}
});

/** Returns the pointers at which a schema takes a URL by RFC 3986 that need not be valid by WHATWG. */
function looseIn(schema: Schema): string[] {
	const [rule] = (httpUrl.describe() as unknown as Described).rules?.filter(({ name }) => name === 'custom') ?? [];
	const walk = (node: Described, at: string): string[] => {
		const rules = node.rules ?? [];
		const isLoose =
			rules.some(({ name }) => name === 'uri') && !rules.some(({ name, args }) => name === 'custom' && args?.method === rule?.args?.method);
		const inner = [...Object.entries(node.keys ?? {}), ...Object.entries(node.items ?? []), ...Object.entries(node.matches ?? [])];
		const told = inner.flatMap(([name, child]) => walk((child as { schema?: Described }).schema ?? (child as Described), `${at}/${name}`));
		return isLoose ? [at, ...told] : told;
	};
	return walk(schema.describe() as unknown as Described, '');
}

interface Described {
	rules?: { name: string; args?: { method?: unknown } }[];
	keys?: Record<string, Described>;
	items?: Described[];
	matches?: (Described | { schema: Described })[];
}

test('no body of the management API, no configuration of a plugin and no credential takes a URL by another rule', async () => {
	const bodies = managementRoutes(service).map((route) => [nameOf(route), schemaOf(route)] as const);
	const registry = await loadPlugins(new URL('../..', import.meta.url).pathname, []);
	const plugins = registry.describe().map(({ kind, name }) => [`${kind} ${name}`, registry.get(kind, name)?.config] as const);
	const all = [...bodies, ...plugins, ...Object.entries(CREDENTIALS), ['import', IMPORT_BODY] as const];
	assert.ok(all.length > 60);
	const loose = all.flatMap(([name, schema]) => (schema ? looseIn(schema as Schema).map((at) => `${name} ${at}`) : []));
	assert.deepEqual(loose, []);
});
