// Tests a GraphQL API over the public interfaces: connect → introspect → generate → publish → call, against a real GraphQL server.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { longestTurnMs } from '../helpers/clock.ts';
import { type GraphqlRequest, type GraphqlServer, graphqlServer } from '../helpers/graphql.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: SharedService;
let account: Account;

before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

interface Connected {
	apiId: string;
	tools: { id: string; name: string; annotations?: object }[];
	client: Client;
}

async function connect(t: TestContext, upstream: GraphqlServer, credentials: object[] = []): Promise<Connected> {
	const baseUrl = `${upstream.origin}/graphql`;
	const apiId = must(await account.post('/apis', { name: 'Pets', type: 'graphql', baseUrl }), 201).body.data.id;
	for (const credential of credentials) must(await account.post(`/apis/${apiId}/credentials`, credential), 201);
	const imported = must(await account.post(`/apis/${apiId}/import-schema`, { schemaUrl: baseUrl, generateTools: true }), 200).body.data;
	assert.deepEqual(imported.report.counts, { operations: 7, converted: 6, degraded: 0, skipped: 1 });
	assert.deepEqual([imported.schema.sourceUrl, imported.schema.format, imported.tools.created], [baseUrl, 'graphql introspection', 6]);
	const list = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200);
	const { tools } = list.body.data;
	const gateway = await publishGateway(account, { toolIds: tools.map(({ id }: { id: string }) => id) });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	return { apiId, tools, client };
}

test('an endpoint is introspected, its operations become tools, and a real client calls them with every kind of argument', async (t) => {
	const upstream = await graphqlServer(t);
	const { client } = await connect(t, upstream);
	const { tools } = await client.listTools();
	assert.deepEqual(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]).toSorted(), [
		['addPet', false],
		['broken', true],
		['everything', true],
		['old', true],
		['pet', true],
		['pets', true],
	]);
	const rex = { id: '7', name: 'Rex', kind: 'DOG', tags: ['good'], owner: { id: 1, name: 'Ada' }, secret: 'bone' };
	assert.deepEqual((await callTool(client, 'pet', { id: 7 }))[0], { pet: rex });
	assert.deepEqual((await callTool(client, 'pet', { id: 'none' }))[0], { pet: null });
	assert.deepEqual((await callTool(client, 'pets', { kinds: ['DOG'] }))[0], { pets: [rex] });
	assert.deepEqual((await callTool(client, 'pets', { kinds: 'DOG', first: 1 }))[0], { pets: [rex] });
	assert.deepEqual((await callTool(client, 'everything'))[0], {
		everything: [
			{ __typename: 'Pet', Pet_id: '7', Pet_name: 'Rex', kind: 'DOG', tags: ['good'], owner: { id: 1, name: 'Ada' }, secret: 'bone' },
			{ __typename: 'Person', Person_id: 1, Person_name: 'Ada' },
		],
	});
	const input = { name: 'Max', tags: ['new'], friend: { name: 'Rex', kind: null } };
	const [added] = await callTool(client, 'addPet', { input });
	assert.deepEqual(added, {
		addPet: { pet: { id: '9', name: 'Max', kind: 'DOG', tags: ['new'], secret: 'bone' }, dryRun: false },
	});
	assert.deepEqual(upstream.requests.at(-1)?.variables, { input });
	const [selected] = await callTool(client, 'pet', { id: 7, _select: 'name friends(first: 3) { id }' });
	assert.deepEqual(selected, { pet: { name: 'Rex', friends: [] } });
});

test('errors are reported as errors, and partial data comes with the errors of its missing parts', async (t) => {
	const upstream = await graphqlServer(t);
	const { client } = await connect(t, upstream);
	assert.deepEqual(await callTool(client, 'broken'), [undefined, ['no such shelf (at broken)'], true]);
	const [data, texts, isError] = await callTool(client, 'pet', { id: 8 });
	assert.deepEqual([(data as { pet: { secret: null } }).pet.secret, isError], [null, false]);
	assert.match(texts[1] ?? '', /incomplete.*\nTom keeps his secret \(at pet\.secret\)/);
	const [, unknown, failed] = await callTool(client, 'pet', { id: 7, _select: 'name zzzzzzzz' });
	assert.deepEqual([failed, unknown], [true, ['HTTP 400 Bad Request\nCannot query field "zzzzzzzz" on type "Pet".']]);
	const before = upstream.requests.length;
	for (const args of [{}, { id: null }, { id: 7, other: 1 }, { id: 7, _select: 'name } mutation { old' }])
		assert.equal((await callTool(client, 'pet', args))[2], true, JSON.stringify(args));
	assert.equal((await callTool(client, 'pets', { kinds: ['BIRD'] }))[2], true);
	assert.equal(upstream.requests.length, before, 'nothing was sent');
});

test('over REST, data that is incomplete says so beside it', async (t) => {
	const upstream = await graphqlServer(t);
	const { tools } = await connect(t, upstream);
	const path = `/organizations/${account.organization.id}/tools/${tools.find(({ name }) => name === 'pet')?.id}/execute`;
	const { result, notes, status } = must(await account.post(path, { parameters: { id: 8 } }), 200).body.data;
	assert.deepEqual([result.pet.secret, status, notes.length], [null, 'success', 1]);
	assert.match(notes[0], /incomplete.*\nTom keeps his secret \(at pet\.secret\)/);
	const whole = must(await account.post(path, { parameters: { id: 7 } }), 200).body.data;
	assert.equal(whole.notes, undefined);
});

test('each type of credential reaches the endpoint', async (t) => {
	const tokens = await httpUpstream(t, (_request, response) =>
		response.setHeader('content-type', 'application/json').end('{"access_token":"granted","token_type":"bearer"}'),
	);
	const basic = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
	const types: [type: string, credentials: object, isAllowed: (request: GraphqlRequest) => boolean][] = [
		['api_key', { key: 'k', name: 'X-Key', in: 'header' }, ({ headers }) => headers['x-key'] === 'k'],
		['api_key', { key: 'k', name: 'key', in: 'query' }, ({ url }) => url === '/graphql?key=k'],
		['api_key', { key: 'k', name: 'key', in: 'cookie' }, ({ headers }) => headers.cookie === 'key=k'],
		['bearer_token', { token: 'b' }, ({ headers }) => headers.authorization === 'Bearer b'],
		['basic_auth', { username: 'ada', password: 'secret' }, ({ headers }) => headers.authorization === basic],
		[
			'oauth2',
			{ tokenUrl: `${tokens.origin}/token`, clientId: 'c', clientSecret: 's', scopes: [] },
			({ headers }) => headers.authorization === 'Bearer granted',
		],
	];
	for (const [type, credentials, isAllowed] of types) {
		const upstream = await graphqlServer(t, isAllowed);
		const { client } = await connect(t, upstream, [{ type, credentials }]);
		const [data, texts] = await callTool(client, 'pet', { id: 7 });
		assert.ok(data, `${type}: ${texts}`);
	}
	const upstream = await graphqlServer(t, () => false);
	const { client } = await connect(t, upstream);
	assert.deepEqual(await callTool(client, 'pet', { id: 7 }), [undefined, ['HTTP 401 Unauthorized\nWho are you?'], true]);
});

test('a tool of type graphql is written by hand, checked when it is saved, and run', async (t) => {
	const upstream = await graphqlServer(t);
	const path = `/organizations/${account.organization.id}/tools`;
	const endpoint = `${upstream.origin}/graphql`;
	const parameters = { type: 'object', properties: { id: { type: 'string', default: '7' } } };
	const draft = (executionConfig: object) => ({ name: 'pet_name', description: 'x', type: 'graphql', parameters, executionConfig });
	const query = 'query ($id: ID!) { pet(id: $id) { name } }';
	for (const [config, at] of [
		[{ query }, '/executionConfig/endpoint'],
		[{ endpoint }, '/executionConfig/query'],
		[{ endpoint, query: 'query {' }, '/executionConfig/query'],
	] as const) {
		const { body } = must(await account.post(path, draft(config)), 400);
		assert.deepEqual([body.error, body.details[0].path], ['VALIDATION_FAILED', at]);
	}
	assert.equal(must(await account.post(path, draft({ endpoint: 'http://10.0.0.1/', query })), 400).body.error, 'EGRESS_REFUSED');
	const { id, type } = must(await account.post(path, draft({ endpoint, query })), 201).body.data;
	assert.equal(type, 'graphql');
	const run = async (given: object) => must(await account.post(`${path}/${id}/execute`, { parameters: given }), 200).body.data;
	assert.deepEqual((await run({})).result, { pet: { name: 'Rex' } });
	assert.deepEqual((await run({ id: '8' })).result, { pet: { name: 'Tom' } });
	must(await account.patch(`/tools/${id}`, { executionConfig: { endpoint, query: 'query ($id: ID!) { nope(id: $id) }' } }), 200);
	const failed = await run({});
	assert.deepEqual([failed.status, failed.error.code], ['failed', 'TOOL_ERROR']);
	assert.match(failed.error.message, /HTTP 400 Bad Request\nCannot query field "nope"/);
});

test('importing again changes nothing, and hostile schemas are a 400 while others are answered', async (t) => {
	const upstream = await graphqlServer(t);
	const { apiId } = await connect(t, upstream);
	const path = `/apis/${apiId}/import-schema`;
	const again = must(await account.post(path, { schemaUrl: `${upstream.origin}/graphql` }), 200).body.data;
	const nothing = { added: 0, changed: 0, removed: 0, restored: 0, breaking: 0, additive: 0, text: 0, toolsUpdated: 0 };
	assert.deepEqual(again.changes, { ...nothing, unchanged: 6, operations: [], unlisted: 0 });
	const deep = (open: string, close: string): string => open.repeat(20_000) + close.repeat(20_000);
	const documents = [
		`type Query { a: ${deep('[', ']')} }`,
		`{"__schema":${deep('{"ofType":', '}').replace('}', '0}')}}`,
		`{ ${'a: b '.repeat(50_000)} }`,
		'type Query { a: Nope }',
		'<html>',
		'{"__schema":{"types":7}}',
	];
	for (const schemaContent of documents) {
		const longestMs = await longestTurnMs(async () => {
			const { body } = must(await account.post(path, { schemaContent }), 400);
			assert.equal(body.error, 'SCHEMA_INVALID', schemaContent.slice(0, 50));
		});
		assert.ok(longestMs < 1_000, `nobody else is served for ${longestMs} ms`);
	}
	const openapi = must(await account.post(path, { schemaContent: '{"openapi":"3.1.0","paths":{}}' }), 400).body;
	assert.match(openapi.message, /looks like openapi/);
});
