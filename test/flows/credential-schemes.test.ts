// Tests credentials by security scheme, from the management API to the bytes that an upstream gets: each operation is sent all the
// credentials that it asks for, and an argument is hidden only while a credential takes its place.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type Connected, connectApi, type Described, get } from '../helpers/connected.ts';
import { type Recorded, type Recorder, recorder } from '../helpers/executor.ts';
import { CLIENT, grantServer } from '../helpers/grants.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { administer } from '../helpers/postgres.ts';
import { type Account, must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';

let service: TestService;
let account: Account;
const lines: string[] = [];

before(async () => {
	service = await startTestService({ onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url);
});
after(() => service.stop());

const inQuery = (name: string, required = true): object => ({ name, in: 'query', required, schema: { type: 'string' } });

const securitySchemes = {
	appKey: { type: 'apiKey', in: 'query', name: 'key' },
	userToken: { type: 'apiKey', in: 'query', name: 'token' },
	header: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
	cookie: { type: 'apiKey', in: 'cookie', name: 'SID' },
	bearer: { type: 'http', scheme: 'bearer' },
	other: { type: 'http', scheme: 'bearer' },
	oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://example.com/token', scopes: {} } } },
};
/** A path item like Trello's: the keys are also declared as required parameters. */
const BOARDS = {
	parameters: [
		{ name: 'id', in: 'path', required: true, schema: { type: 'string' } },
		inQuery('key'),
		inQuery('token'),
		inQuery('fields', false),
	],
	security: [{ appKey: [], userToken: [] }],
};
const OWN_KEY = { name: 'X-Api-Key', in: 'header', required: true, schema: { type: 'string' } };
const SID = { name: 'SID', in: 'cookie', schema: { type: 'string' } };
const paths = {
	'/boards/{id}': get('board', BOARDS),
	'/open': get('open', { security: [], parameters: [OWN_KEY] }),
	'/header': get('header', { security: [{ header: [] }], parameters: [OWN_KEY] }),
	'/cookie': get('cookie', { security: [{ cookie: [] }], parameters: [SID] }),
	'/either': get('either', { security: [{ cookie: [] }, { bearer: [] }, {}], parameters: [SID] }),
	'/other': get('other', { security: [{ other: [] }] }),
	'/oauth': get('oauth', { security: [{ oauth: [] }] }),
	'/untold': get('untold'),
};
const STORED: Record<string, [type: string, credentials: object]> = {
	appKey: ['api_key', { key: 'canary-app', name: 'key', in: 'query' }],
	userToken: ['api_key', { key: 'canary-user', name: 'token', in: 'query' }],
	header: ['api_key', { key: 'canary-header', name: 'x-api-key', in: 'header' }],
	cookie: ['api_key', { key: 'canary-cookie', name: 'SID', in: 'cookie' }],
	bearer: ['bearer_token', { token: 'canary-bearer' }],
	other: ['bearer_token', { token: 'canary-other' }],
};

interface Furnished extends Connected {
	upstream: Recorder;
	storeFor(...schemes: string[]): Promise<void>;
}

async function furnish(t: TestContext, described: Partial<Described> = {}): Promise<Furnished> {
	const upstream = await recorder(t);
	const api = await connectApi(account, upstream.origin, { paths, securitySchemes, ...described });
	const storeFor = async (...schemes: string[]): Promise<void> => {
		for (const scheme of schemes) {
			const [type, credentials] = STORED[scheme] ?? assert.fail(scheme);
			const { data } = must(await account.post(`/apis/${api.apiId}/credentials`, { type, scheme, credentials }), 201).body;
			assert.deepEqual([data.type, data.scheme, data.origin], [type, scheme, upstream.origin]);
		}
	};
	return { ...api, upstream, storeFor };
}

async function sent({ run, upstream }: Furnished, operationId: string, args: object = {}): Promise<Recorded> {
	const { data } = must(await run(operationId, args), 200).body;
	assert.equal(data.status, 'success', JSON.stringify(data));
	return upstream.take();
}

const lineOf = ({ line }: Recorded): string => line.split(' ')[1] ?? '';
const missing = async ({ run }: Furnished, operationId: string, args: object = {}): Promise<string[]> =>
	must(await run(operationId, args), 400).body.details.map(({ path }: { path: string }) => path.replace('/parameters/', ''));

test('an API that takes two keys gets both, and neither is an argument while they are stored', async (t) => {
	const api = await furnish(t);
	assert.deepEqual(await missing(api, 'board', { id: '1' }), ['key', 'token']);
	assert.equal(lineOf(await sent(api, 'board', { id: '1', key: 'k', token: 'mine' })), '/boards/1?key=k&token=mine');
	await api.storeFor('appKey');
	// One key of two satisfies no requirement, so the operation is called with its arguments alone.
	assert.equal(lineOf(await sent(api, 'board', { id: '1', key: 'k', token: 'mine' })), '/boards/1?key=k&token=mine');
	await api.storeFor('userToken');
	const both = '/boards/1?key=canary-app&token=canary-user';
	assert.equal(lineOf(await sent(api, 'board', { id: '1' })), both);
	assert.equal(lineOf(await sent(api, 'board', { id: '1', key: 'mine', token: 7 })), both);
	assert.equal(lineOf(await sent(api, 'board', { id: '1', fields: 'a' })), '/boards/1?fields=a&key=canary-app&token=canary-user');
	assert.deepEqual(await missing(api, 'board', { keys: 1 }), ['id', 'keys']);
	const dry = must(await api.run('board', { id: '1' }, '?dryRun=true'), 200).body.data.request;
	assert.equal(dry.url, `${api.upstream.origin}/boards/1?key=••••&token=••••`);
	const { definition } = await report(api.apiId);
	assert.deepEqual(definition, { converted: 8, degraded: 0, skipped: 0 });
});

/** Returns the report of the last import. */
async function report(apiId: string) {
	const [{ report: last }] = must(await account.get(`/apis/${apiId}/schemas`), 200).body.data.schemas;
	const { operations: _all, ...definition } = last.counts;
	return { definition };
}

test('no key goes to an operation that does not ask for its scheme', async (t) => {
	const api = await furnish(t);
	await api.storeFor('header', 'appKey', 'userToken', 'bearer', 'cookie', 'other');
	const headersOf = async (operationId: string, args: object = {}): Promise<object> => {
		const { headers, line } = await sent(api, operationId, args);
		assert.ok(!line.includes('canary'), line);
		return Object.fromEntries(['x-api-key', 'cookie', 'authorization'].flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])));
	};
	assert.deepEqual(await missing(api, 'open'), ['X-Api-Key']);
	assert.deepEqual(await headersOf('open', { 'X-Api-Key': 'own' }), { 'x-api-key': 'own' });
	assert.deepEqual(await headersOf('header'), { 'x-api-key': 'canary-header' });
	assert.deepEqual(await headersOf('header', { 'X-Api-Key': 'mine' }), { 'x-api-key': 'canary-header' });
	assert.deepEqual(await headersOf('cookie'), { cookie: 'SID=canary-cookie' });
	assert.deepEqual(await headersOf('either', { SID: 'mine' }), { cookie: 'SID=canary-cookie' });
	assert.deepEqual(await headersOf('other'), { authorization: 'Bearer canary-other' });
	assert.deepEqual(await headersOf('untold'), {});
});

test('of alternatives the first that is stored is sent, and the argument of another stays one', async (t) => {
	const api = await furnish(t);
	await api.storeFor('bearer');
	const { headers } = await sent(api, 'either', { SID: 'mine' });
	assert.deepEqual([headers['cookie'], headers['authorization']], ['SID=mine', 'Bearer canary-bearer']);
	must(await account.del(`/apis/${api.apiId}/credentials/bearer_token?scheme=bearer`), 200);
	const plain = await sent(api, 'either', {});
	assert.deepEqual([plain.headers['cookie'], plain.headers['authorization']], [undefined, undefined]);
});

test('of two credentials for one place the last is sent, once', async (t) => {
	const twice = { ...securitySchemes, again: securitySchemes.appKey };
	const api = await furnish(t, {
		securitySchemes: twice,
		paths: {
			'/two': get('two', { security: [{ appKey: [], again: [] }] }),
			'/bearers': get('bearers', { security: [{ bearer: [], other: [] }] }),
		},
	});
	await api.storeFor('appKey', 'bearer', 'other');
	const again = { type: 'api_key', scheme: 'again', credentials: { key: 'canary-again', name: 'key', in: 'query' } };
	must(await account.post(`/apis/${api.apiId}/credentials`, again), 201);
	assert.equal(lineOf(await sent(api, 'two')), '/two?key=canary-again');
	assert.equal((await sent(api, 'bearers')).headers['authorization'], 'Bearer canary-other');
});

describe('a credential without a scheme', () => {
	const unnamed = async (t: TestContext, type: string, credentials: object): Promise<Furnished> => {
		const api = await furnish(t);
		await api.store(type, credentials);
		return api;
	};

	test('goes wherever its type is asked for, and to operations that say nothing', async (t) => {
		const api = await unnamed(t, 'bearer_token', { token: 'canary-any' });
		for (const operation of ['either', 'other', 'oauth', 'untold'])
			assert.equal((await sent(api, operation)).headers['authorization'], 'Bearer canary-any', operation);
		await api.storeFor('other');
		assert.equal((await sent(api, 'other')).headers['authorization'], 'Bearer canary-other');
		assert.equal((await sent(api, 'either')).headers['authorization'], 'Bearer canary-any');
		assert.equal((await sent(api, 'open', { 'X-Api-Key': 'own' })).headers['authorization'], undefined);
	});

	test('is, if it is a key, the one at whose place it goes', async (t) => {
		const api = await unnamed(t, 'api_key', { key: 'canary-any', name: 'X-API-KEY', in: 'header' });
		assert.equal((await sent(api, 'header')).headers['x-api-key'], 'canary-any');
		assert.equal((await sent(api, 'cookie')).headers['x-api-key'], undefined);
		assert.equal((await sent(api, 'untold')).headers['x-api-key'], 'canary-any');
		const { headers } = await sent(api, 'open', { 'X-Api-Key': 'own' });
		assert.equal(headers['x-api-key'], 'own');
	});

	test('is the only key of an API that has one, wherever it goes', async (t) => {
		const only = {
			securitySchemes: { header: securitySchemes.header },
			paths: { '/header': get('header', { security: [{ header: [] }] }) },
		};
		const api = await furnish(t, only);
		await api.store('api_key', { key: 'canary-any', name: 'X-Renamed', in: 'header' });
		assert.equal((await sent(api, 'header')).headers['x-renamed'], 'canary-any');
	});

	test('goes to tools that were made before schemes were known, also where its place is told by nothing but itself', async (t) => {
		const api = await unnamed(t, 'api_key', { key: 'canary-any', name: 'X-Renamed', in: 'header' });
		const { database } = service.config;
		const older = `'{"method":"GET","url":"/header","security":[["api_key"]],"timeoutMs":30000}'`;
		const change = `UPDATE tools SET fillable = NULL, execution_config = ${older} WHERE id = '${api.toolIds['header']}'`;
		await administer(database ?? assert.fail(), change);
		await administer(database ?? assert.fail(), `UPDATE api_credentials SET place = NULL WHERE api_id = '${api.apiId}'`);
		assert.equal((await sent(api, 'header', { 'X-Api-Key': 'x' })).headers['x-renamed'], 'canary-any');
		assert.equal((await sent(api, 'cookie')).headers['x-renamed'], undefined);
	});
});

test('a gateway shows and checks arguments as the credentials are, within a moment of their change', async (t) => {
	const api = await furnish(t);
	const gateway = await publishGateway(account, { toolIds: [api.toolIds['board'] ?? ''] });
	const client = await mcpClient(gateway.url, { authorization: `Bearer ${gateway.key}` }, t);
	const shown = async (): Promise<unknown> => {
		const [tool] = (await client.listTools()).tools;
		return [Object.keys(tool?.inputSchema.properties ?? {}), tool?.inputSchema.required];
	};
	const isShown = (...expected: string[][]) => soon(async () => isDeepStrictEqual(await shown(), expected), `${expected[0]}`);
	const all = ['id', 'key', 'token', 'fields'];
	assert.deepEqual(await shown(), [all, ['id', 'key', 'token']]);
	await api.storeFor('appKey', 'userToken');
	await isShown(['id', 'fields'], ['id']);
	await callTool(client, 'board', { id: '1' });
	assert.equal(lineOf(api.upstream.take()), '/boards/1?key=canary-app&token=canary-user');
	must(await account.del(`/apis/${api.apiId}/credentials/api_key?scheme=appKey`), 200);
	await isShown(all, ['id', 'key', 'token']);
});

test('members of a body lie beside arguments that a credential fills', async (t) => {
	const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
	const post = {
		operationId: 'rename',
		...BOARDS,
		requestBody: { content: { 'application/json': { schema } }, required: true },
		responses: { 200: { description: 'ok' } },
	};
	const api = await furnish(t, { paths: { '/boards/{id}': { post } } });
	must(await account.post(`/apis/${api.apiId}/generate-tools`, { bodies: 'flat' }), 200);
	assert.deepEqual(await missing(api, 'rename', { id: '1', name: 'n' }), ['key', 'token']);
	await api.storeFor('appKey', 'userToken');
	const request = await sent(api, 'rename', { id: '1', name: 'n', token: 'mine' });
	assert.deepEqual([lineOf(request), request.body.toString()], ['/boards/1?key=canary-app&token=canary-user', '{"name":"n"}']);
});

describe('what is stored', () => {
	const path = ({ apiId }: Connected): string => `/apis/${apiId}/credentials`;
	const listed = async (api: Connected): Promise<unknown[]> => {
		const { credentials } = must(await account.get(`/apis/${api.apiId}`), 200).body.data;
		return credentials.map(({ type, scheme }: Record<string, unknown>) => [type, scheme]);
	};

	test('is listed, replaced, tested and removed one by one, and no secret is shown', async (t) => {
		const api = await furnish(t);
		await api.storeFor('appKey', 'userToken', 'bearer');
		await api.store('api_key', { key: 'canary-any', name: 'X-Any', in: 'header' });
		const four = [
			['api_key', null],
			['api_key', 'appKey'],
			['api_key', 'userToken'],
			['bearer_token', 'bearer'],
		];
		assert.deepEqual(await listed(api), four);
		const tried = async (body: object): Promise<unknown> => {
			const { results } = must(await account.post(`${path(api)}/test`, body), 200).body.data;
			return results.map(({ type, scheme, status }: Record<string, unknown>) => [type, scheme, status]);
		};
		assert.deepEqual(await tried({ scheme: 'userToken', path: '/me' }), [['api_key', 'userToken', 'ok']]);
		assert.equal(lineOf(api.upstream.take()), '/me?token=canary-user');
		assert.deepEqual(
			await tried({ type: 'api_key' }),
			four.slice(0, 3).map((one) => [...one, 'ok']),
		);
		must(await account.post(`${path(api)}/test`, { type: 'bearer_token', scheme: 'appKey' }), 404);
		const appKey = { type: 'api_key', scheme: 'appKey', credentials: { key: 'canary-new', name: 'key', in: 'query' } };
		must(await account.post(path(api), appKey), 201);
		assert.deepEqual(await listed(api), four);
		const { data } = must(await account.del(`${path(api)}/api_key`), 200).body;
		assert.deepEqual(data, { id: api.apiId, type: 'api_key', scheme: null });
		must(await account.del(`${path(api)}/api_key`), 404);
		must(await account.del(`${path(api)}/nothing?scheme=appKey`), 404);
		assert.deepEqual(await listed(api), four.slice(1));
		const told = await Promise.all([`/apis/${api.apiId}`, '/audit-log?limit=100'].map((place) => account.get(place)));
		for (const answer of told) assert.ok(!JSON.stringify(answer.body).includes('canary'));
		assert.match(JSON.stringify(told[1]?.body), /"resourceName":"api_key appKey"/);
	});

	test('is one per scheme, whatever its type', async (t) => {
		const api = await furnish(t);
		const tokens = await grantServer(t);
		const client = { type: 'oauth2', scheme: 'oauth', credentials: { ...CLIENT, tokenUrl: tokens.tokenUrl } };
		must(await account.post(path(api), client), 201);
		await api.store('oauth2', { ...CLIENT, tokenUrl: tokens.tokenUrl });
		assert.equal((await sent(api, 'oauth')).headers['authorization'], 'Bearer canary-access-1');
		must(await account.post(path(api), { type: 'bearer_token', scheme: 'oauth', credentials: { token: 'canary-hand' } }), 201);
		assert.deepEqual(await listed(api), [
			['bearer_token', 'oauth'],
			['oauth2', null],
		]);
		must(await account.del(`${path(api)}/oauth2`), 200);
		assert.equal((await sent(api, 'oauth')).headers['authorization'], 'Bearer canary-hand');
	});

	test('is fifty at most, also of who sends several at once', async (t) => {
		const upstream = await recorder(t);
		const created = await account.post('/apis', { name: 'Bare', type: 'openapi', baseUrl: upstream.origin });
		const { id } = must(created, 201).body.data;
		// Nothing was imported yet, so any scheme may still be declared.
		const put = (at: number) =>
			account.post(`/apis/${id}/credentials`, { type: 'bearer_token', scheme: `s${at}`, credentials: { token: 't' } });
		for (let at = 0; at < 48; at++) must(await put(at), 201);
		const last = await Promise.all([48, 49, 50, 51].map(put));
		assert.deepEqual(last.map(({ status }) => status).toSorted(), [201, 201, 400, 400]);
		assert.match(last.find(({ status }) => status === 400)?.body.message, /up to 50 credentials/);
		must(await put(0), 201);
	});

	test('is nobody else’s to see, to test, to replace or to remove', async (t) => {
		const api = await furnish(t);
		await api.storeFor('appKey');
		const stranger = await registerAccount(service.url);
		const [type, credentials] = STORED['appKey'] ?? [];
		must(await stranger.post(path(api), { type, scheme: 'appKey', credentials }), 404);
		must(await stranger.post(`${path(api)}/test`, { scheme: 'appKey' }), 404);
		must(await stranger.del(`${path(api)}/api_key?scheme=appKey`), 404);
		assert.deepEqual(await listed(api), [['api_key', 'appKey']]);
	});

	const BAD: [body: object, place: string, message: RegExp][] = [
		[{ scheme: 'nothing' }, '/scheme', /must be one of “appKey”, “userToken”, .*“oauth”/],
		[{ scheme: '' }, '/scheme', /empty/],
		[{ scheme: 'x'.repeat(201) }, '/scheme', /200/],
		[{ scheme: ['appKey'] }, '/scheme', /string/],
		[{ scheme: null }, '/scheme', /string/],
		[{ scheme: 'bearer' }, '/type', /must be bearer_token/],
		[{ scheme: 'oauth' }, '/type', /must be oauth2 or bearer_token/],
		[{ scheme: 'header' }, '/credentials/name', /must be those of the scheme “header”: “X-Api-Key” in header/],
		[{ scheme: 'appKey', credentials: { key: 'k', name: 'Key', in: 'query' } }, '/credentials/name', /“key” in query/],
		[{ scheme: 'appKey', credentials: { key: 'k', name: 'key', in: 'cookie' } }, '/credentials/name', /“key” in query/],
	];

	test('fits its scheme: anything else is a 400 that names the field', async (t) => {
		const api = await furnish(t);
		for (const [change, place, message] of BAD) {
			const body = { type: 'api_key', credentials: { key: 'k', name: 'key', in: 'query' }, ...change };
			const answer = must(await account.post(path(api), body), 400);
			assert.equal(answer.body.details[0].path, place, JSON.stringify(change));
			assert.match(answer.body.message, message);
		}
		must(await account.del(`${path(api)}/api_key?scheme=`), 400);
		must(await account.del(`${path(api)}/api_key?schema=x`), 400);
		const bare = await furnish(t, { securitySchemes: {}, paths: { '/a': get('a') } });
		const named = { type: 'bearer_token', scheme: 'any', credentials: { token: 't' } };
		assert.match(must(await account.post(path(bare), named), 400).body.message, /must be left out: the description has none/);
	});
});

test('no line of the log holds a secret of these', () => {
	assert.ok(lines.length > 100);
	assert.deepEqual(
		lines.filter((line) => line.includes('canary')),
		[],
	);
});
