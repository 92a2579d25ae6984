// Tests callers' own credentials for an API: from the request at a gateway to the bytes that the API gets, and that nobody else gets them.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import Joi from 'joi';
import type { AuthMethod } from '../../core/index.ts';
import { startGatehouse } from '../../testing/index.ts';
import { alternating, modernDriver } from '../helpers/a2a.ts';
import { until } from '../helpers/clock.ts';
import { type Connected, connectApi, get } from '../helpers/connected.ts';
import { type Recorded, recorder } from '../helpers/executor.ts';
import { guardedGateway, type MethodBody } from '../helpers/gateway-auth.ts';
import { graphqlServer } from '../helpers/graphql.ts';
import { grpcServer } from '../helpers/grpc.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { type Account, must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: TestService;
let account: Account;
let database: Endpoint;
const lines: string[] = [];

before(async () => {
	service = await startTestService({ onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url);
	database = service.config.database ?? assert.fail();
});
after(() => service.stop());

const OWN = [{ from: 'X-Pets-Token', to: 'Authorization' }];
const pass = async ({ apiId }: Connected, passThrough: object[] = OWN) =>
	must(await account.patch(`/apis/${apiId}`, { passThrough }), 200).body.data.passThrough;
const publish = ({ toolIds }: Connected, methods: MethodBody[] = [{ type: 'none' }]) =>
	guardedGateway(account, methods, Object.values(toolIds));

/** Creates an API with a mapping, on a recording server, behind an open gateway. */
async function furnish(t: TestContext, passThrough = OWN, methods?: MethodBody[]) {
	const [own, other] = [await recorder(t), await recorder(t)];
	const paths = {
		'/plain': get('plain'),
		'/public': get('public', { security: [] }),
		'/else': get('elsewhere', { servers: [{ url: other.origin }] }),
	};
	const api = await connectApi(account, own.origin, { paths, basePath: '/v1' });
	await pass(api, passThrough);
	const gateway = await publish(api, methods);
	const call = async (name: string, headers: Record<string, string>): Promise<void> => {
		const [, texts, isError] = await callTool(await mcpClient(gateway.url, headers, t), name);
		assert.equal(isError, false, texts.join('\n'));
	};
	return { own, other, api, gateway, call };
}

const bytesOf = ({ line, headers, body }: Recorded): string => `${line}\n${JSON.stringify(headers)}\n${body.toString('latin1')}`;
const assertNone = (request: Recorded): void => assert.ok(!bytesOf(request).includes('canary'), bytesOf(request));

describe('a caller’s own credential for the API', () => {
	test('goes to its own origin, under the name that the mapping gives, and the header itself does not', async (t) => {
		const { own, call } = await furnish(t);
		for (const tool of ['plain', 'public']) {
			await call(tool, { 'X-PETS-Token': 'Bearer canary-ada' });
			const { headers } = own.take();
			assert.deepEqual([headers['authorization'], headers['x-pets-token']], ['Bearer canary-ada', undefined], tool);
		}
		await call('plain', {});
		assert.equal(own.take().headers['authorization'], undefined);
		await call('plain', { 'x-pets-token': '', 'x-other': 'canary' });
		assertNone(own.take());
	});

	test('goes with a task of an agent, too, whether its client waits, follows it, or comes back', async (t) => {
		const { own, api } = await furnish(t);
		const { url, key } = await publishGateway(account, { type: 'a2a', toolIds: Object.values(api.toolIds) });
		const headers = { 'x-api-key': key, 'x-pets-token': 'Bearer canary-ada' };
		const client = await modernDriver(url, alternating([service.url], headers), 'JSONRPC');
		const part = { data: { skill: 'plain' } };
		const assertPassed = (): void => assert.equal(own.take().headers['authorization'], 'Bearer canary-ada');
		assert.equal((await client.send(part)).state, 'completed');
		assertPassed();
		for await (const event of client.stream(part)) assert.ok(event);
		assertPassed();
		const { id } = await client.send(part, { returnImmediately: true });
		await until(async () => (await client.get(id)).state === 'completed', 'it has ended');
		assertPassed();
	});

	test('is each caller’s own, also at the same time', async (t) => {
		const own = await httpUpstream(t, (request, response) => {
			setTimeout(() => response.setHeader('content-type', 'application/json').end(`{"as":"${request.headers['x-as']}-x"}`), 5);
		});
		const api = await connectApi(account, own.origin, { paths: { '/a': get('a') } });
		await pass(api, [{ from: 'x-user', to: 'x-as' }]);
		const { url } = await publish(api);
		const names = Array.from({ length: 10 }, (_, n) => `u${n}`);
		const clients = await Promise.all(names.map((name) => mcpClient(url, { 'x-user': name }, t)));
		for (let round = 0; round < 5; round++) {
			const answers = await Promise.all(clients.map((client) => callTool(client, 'a')));
			assert.deepEqual(
				answers.map(([data]) => data),
				names.map((name) => ({ as: `${name}-x` })),
			);
		}
	});

	test('stands in place of a stored credential at the same place, and beside one at another', async (t) => {
		const { own, api, call } = await furnish(t, [...OWN, { from: 'x-pets-cookie', to: 'cookie' }]);
		await api.store('bearer_token', { token: 'stored-bearer' });
		await call('plain', {});
		assert.equal(own.take().headers['authorization'], 'Bearer stored-bearer');
		await call('plain', { 'x-pets-token': 'Bearer canary-ada' });
		assert.equal(own.take().headers['authorization'], 'Bearer canary-ada');
		const key = await furnish(t, [...OWN, { from: 'x-pets-cookie', to: 'cookie' }]);
		await key.api.store('api_key', { key: 'stored-key', name: 'sid', in: 'cookie' });
		await key.call('plain', { 'x-pets-token': 'canary', 'x-pets-cookie': 'theme=dark' });
		const beside = key.own.take().headers;
		assert.deepEqual([beside['authorization'], beside['cookie']], ['canary', 'sid=stored-key; theme=dark']);
		await key.call('plain', { 'x-pets-cookie': 'sid=canary' });
		assert.equal(key.own.take().headers['cookie'], 'sid=canary');
	});

	test('reaches no server of one operation elsewhere', async (t) => {
		const { other, call } = await furnish(t);
		await call('elsewhere', { 'x-pets-token': 'canary-ada' });
		assertNone(other.take());
	});

	test('follows a redirect on its origin, and none to another', async (t) => {
		const other = await recorder(t);
		const seen: (string | undefined)[] = [];
		const own = await httpUpstream(t, (request, response) => {
			seen.push(request.headers.authorization);
			const repeated = encodeURIComponent(request.headers.authorization ?? '');
			const to = { '/here': '/there', '/away': `${other.origin}/x`, '/repeat': `${other.origin}/?t=${repeated}` }[request.url ?? ''];
			if (to) response.writeHead(307, { location: to });
			response.end();
		});
		const api = await connectApi(account, own.origin, {
			paths: { '/here': get('here'), '/away': get('away'), '/repeat': get('repeat') },
		});
		await pass(api);
		const client = await mcpClient((await publish(api)).url, { 'x-pets-token': 'Bearer canary-ada' }, t);
		await callTool(client, 'here');
		assert.deepEqual(seen.splice(0), ['Bearer canary-ada', 'Bearer canary-ada']);
		await callTool(client, 'away');
		assertNone(other.take());
		const [, texts, isError] = await callTool(client, 'repeat');
		assert.equal(isError, true);
		assert.match(texts.join(), /carries the API’s credential in its address/);
		assert.ok(!texts.join().includes('canary'));
		assert.equal(other.count(), 0);
	});

	test('is hidden from results, and goes with requests of gateways only', async (t) => {
		const seen: (string | undefined)[] = [];
		const own = await httpUpstream(t, (request, response) => {
			seen.push(request.headers.authorization);
			response.setHeader('content-type', 'application/json').end(JSON.stringify({ echo: request.headers }));
		});
		const api = await connectApi(account, own.origin, { paths: { '/a': get('a') } });
		await pass(api);
		const client = await mcpClient((await publish(api)).url, { 'x-pets-token': 'Bearer canary-ada' }, t);
		const [data, texts] = await callTool(client, 'a');
		assert.ok(!JSON.stringify([data, texts]).includes('canary'), JSON.stringify(data));
		const path = `/organizations/${account.organization.id}/tools/${api.toolIds['a']}/execute`;
		const headers = { 'x-pets-token': 'Bearer canary-ada' };
		for (const query of ['', '?dryRun=true']) {
			const answer = must(await account.post(path + query, {}, headers), 200).body;
			assert.ok(!JSON.stringify(answer).includes('canary'));
		}
		assert.deepEqual(seen, ['Bearer canary-ada', undefined]);
	});

	test('goes with calls of every protocol', async (t) => {
		const [grpc, graphql] = [await grpcServer(t), await graphqlServer(t)];
		const proto = `syntax = "proto3"; package shop.v1;
			service Shop { rpc GetItem(GetItemRequest) returns (Item); }
			message Item { string name = 1; } message GetItemRequest { string name = 1; }`;
		const described: [type: string, baseUrl: string, description: object, tool: string, args: object][] = [
			['protobuf', `http://127.0.0.1:${grpc.port}`, { schemaContent: proto }, 'Shop_GetItem', { name: 'items/1' }],
			['graphql', `${graphql.origin}/graphql`, { schemaUrl: `${graphql.origin}/graphql` }, 'pet', { id: '7' }],
		];
		for (const [type, baseUrl, description, tool, args] of described) {
			const { id } = must(await account.post('/apis', { name: type, type, baseUrl, passThrough: OWN }), 201).body.data;
			must(await account.post(`/apis/${id}/import-schema`, { ...description, generateTools: true }), 200);
			const tools = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${id}`), 200).body.data.tools;
			const { url } = await guardedGateway(
				account,
				[{ type: 'none' }],
				tools.map((one: { id: string }) => one.id),
			);
			await callTool(await mcpClient(url, { 'x-pets-token': 'Bearer canary-ada' }, t), tool, args);
		}
		assert.deepEqual(grpc.metadata.at(-1)?.get('authorization'), ['Bearer canary-ada']);
		assert.equal(graphql.requests.at(-1)?.headers.authorization, 'Bearer canary-ada');
	});

	test('is none in a header in which a method of the gateway looks for a credential', async (t) => {
		const { own, api, call } = await furnish(t, [{ from: 'x-team-key', to: 'x-key' }]);
		await call('plain', { 'x-team-key': 'canary-ada' });
		assert.equal(own.take().headers['x-key'], 'canary-ada');
		for (const type of ['api_key', 'bearer_token']) {
			const methods = [{ type: 'none' }, { type, isRequired: false, configuration: { keyHeader: 'X-Team-Key' } }];
			const { url } = await publish(api, methods);
			const [, , isError] = await callTool(await mcpClient(url, { 'x-team-key': 'canary-ada' }, t), 'plain');
			assert.equal(isError, false);
			assertNone(own.take());
		}
	});
});

describe('the mapping', () => {
	test('is off by default, shown in lower case, replaced as a whole, and in the audit log', async () => {
		const made = { name: 'Pets', type: 'openapi', baseUrl: 'https://pets.example.com' };
		const api = must(await account.post('/apis', made), 201).body.data;
		assert.deepEqual(api.passThrough, []);
		const lower = [{ from: 'x-pets-token', to: 'authorization' }];
		assert.deepEqual(await pass({ apiId: api.id } as Connected), lower);
		must(await account.patch(`/apis/${api.id}`, { name: 'Cats' }), 200);
		assert.deepEqual(must(await account.get(`/apis/${api.id}`), 200).body.data.passThrough, lower);
		const log = must(await account.get(`/audit-log?resourceId=${api.id}`), 200).body.data;
		assert.match(JSON.stringify(log), /"passThrough":\{"to":\[\{"to":"authorization","from":"x-pets-token"\}\],"from":null\}/);
		assert.deepEqual(await pass({ apiId: api.id } as Connected, []), []);
		const whole = must(await account.post('/apis', { ...made, passThrough: OWN }), 201).body.data;
		assert.deepEqual(whole.passThrough, lower);
		const listed = must(await account.get('/apis?q=Pets'), 200).body.data.apis;
		assert.deepEqual(listed.find(({ id }: { id: string }) => id === whole.id).passThrough, lower);
		const stranger = await registerAccount(service.url);
		assert.equal((await stranger.patch(`/apis/${api.id}`, { passThrough: OWN })).status, 404);
		assert.equal((await stranger.get(`/apis/${api.id}`)).status, 404);
	});

	const FROM = ['Authorization', 'COOKIE', 'proxy-authorization', 'X-API-Key', 'Host', 'Connection', 'transfer-encoding', 'TE', 'upgrade'];
	const TO = ['host', 'Connection', 'content-length', 'Content-Type', 'transfer-encoding', 'keep-alive', 'accept', 'user-agent', 'expect'];
	const BAD_NAMES = ['', 'a b', 'a:b', 'a\r\nb', 'ä', 'x'.repeat(101), 7, null];
	const both = (field: string, name: unknown): object => ({ from: 'x-a', to: 'x-b', [field]: name });

	test('refuses what opens the gateway, and what frames a request', async () => {
		const api = must(await account.post('/apis', { name: 'a', type: 'openapi', baseUrl: 'https://pets.example.com' }), 201).body.data;
		for (const [field, names] of Object.entries({ from: [...FROM, ...BAD_NAMES], to: [...TO, ...BAD_NAMES] }))
			for (const name of names) {
				const passThrough = [both('from', 'x-ok'), both(field, name)].map((one, index) => (index === 0 ? { ...one, to: 'x-ok' } : one));
				const { body } = must(await account.patch(`/apis/${api.id}`, { passThrough }), 400);
				assert.deepEqual([body.error, body.details[0].path], ['VALIDATION_FAILED', `/passThrough/1/${field}`], String(name));
				const made = { name: 'b', type: 'openapi', baseUrl: 'https://pets.example.com', passThrough: [both(field, name)] };
				must(await account.post('/apis', made), 400);
			}
	});

	test('is judged by the headers in which loaded methods look by default, and no method fails it', async () => {
		const header = Joi.string().default('x-passphrase').description('The header that holds it.');
		const passphrase = Joi.string().required().meta({ secret: true }).description('The passphrase.');
		const method = (name: string, secretHeaders: (config: { header: string; passphrase: string }) => string[]) =>
			({
				...{ kind: 'auth', api: 1, name, summary: 'Admits nobody.' },
				config: Joi.object({ header, passphrase }),
				authenticate: async () => null,
				secretHeaders,
			}) satisfies AuthMethod<{ header: string; passphrase: string }>;
		const plugins = [
			method('by_header', ({ header }) => [header]),
			method('by_passphrase', ({ passphrase }) => [passphrase.toLowerCase()]),
			method('by_nothing', ({ passphrase }) => [passphrase]),
		];
		await using gatehouse = await startGatehouse({ plugins });
		const owner = await gatehouse.register();
		const made = { name: 'Pets', type: 'openapi', baseUrl: 'https://pets.example.com' };
		const { id } = must(await owner.send('POST', '/apis', made), 201).body.data;
		must(await owner.send('PATCH', `/apis/${id}`, { description: 'Pets.' }), 200);
		must(await owner.send('PATCH', `/apis/${id}`, { passThrough: OWN }), 200);
		const refused = must(await owner.send('PATCH', `/apis/${id}`, { passThrough: [both('from', 'X-Passphrase')] }), 400);
		assert.equal(refused.body.details[0].path, '/passThrough/0/from');
	});

	test('refuses two for one header, more than ten, and what is no mapping', async () => {
		const api = must(await account.post('/apis', { name: 'a', type: 'openapi', baseUrl: 'https://pets.example.com' }), 201).body.data;
		const many = Array.from({ length: 11 }, (_, n) => ({ from: `x-${n}`, to: `y-${n}` }));
		for (const passThrough of [
			[both('to', 'x-b'), both('to', 'X-B')],
			many,
			[{ from: 'x-a' }],
			[{ to: 'x-a' }],
			[{ ...both('to', 'x'), more: 1 }],
			{},
			null,
			'x',
		])
			assert.match(must(await account.patch(`/apis/${api.id}`, { passThrough }), 400).body.details[0].path, /^\/passThrough/);
		must(await account.patch(`/apis/${api.id}`, { passThrough: many.slice(1) }), 200);
	});
});

test('neither a row of the database nor a line of the log holds what callers brought', async () => {
	const tables = await administer(database, "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'");
	for (const { name } of tables) {
		const rows = await administer(database, `SELECT to_jsonb(t)::text AS row FROM "${name}" t`);
		assert.ok(!rows.some(({ row }) => String(row).includes('canary')), String(name));
	}
	assert.ok(lines.length > 100);
	assert.deepEqual(
		lines.filter((line) => line.includes('canary')),
		[],
	);
});
