// Tests of tools under other names in other gateways: the rules of aliases, their races, and what a client sees of them.

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../../../test/helpers/service.ts';
import { soon } from '../../../test/helpers/soon.ts';

interface GatewayTool {
	gatewayToolId: string;
	toolId: string;
	name: string;
	description: string;
	rateLimit: number | null;
}

let service: SharedService;
let account: Account;
let upstream: { server: Server; url: string };
before(async () => {
	const server = createServer((_request, response) => void response.setHeader('content-type', 'application/json').end('{"ok":true}'));
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	// The server listens on TCP, so its address is an object and not the name of a pipe.
	upstream = { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(async () => {
	await service.stop();
	upstream.server.close();
});

const addTool = (name: string): Promise<string> => createHttpTool(account, { name, url: `${upstream.url}/` });
const toolsOf = async (id: string): Promise<GatewayTool[]> => must(await account.get(`/gateways/${id}/tools`), 200).body.data.tools;

/** Creates a gateway with a tool of each name. */
async function furnish(...names: string[]): Promise<{ id: string; url: string; key: string; paths: string[] }> {
	const gateway = await publishGateway(account, { toolIds: await Promise.all(names.map(addTool)) });
	const tools = await toolsOf(gateway.id);
	return { ...gateway, paths: tools.map(({ gatewayToolId }) => `/gateways/${gateway.id}/tools/${gatewayToolId}`) };
}

/** Lists the tools with a real client, and calls one. */
async function seenBy({ url, key }: { url: string; key: string }, call: string) {
	const client = new Client({ name: 'gatehouse-test', version: '1.0.0' });
	const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } });
	// The SDK's own types disagree under exactOptionalPropertyTypes: a transport may lack the session id.
	await client.connect(transport as Transport);
	const { tools } = await client.listTools();
	const result = await client.callTool({ name: call, arguments: {} }).catch((error: Error) => error.message);
	await client.close();
	return { tools: tools.map(({ name, description }) => ({ name, description })), result };
}

test('one tool has two names and two descriptions in two gateways, for an MCP client and for REST', async () => {
	const toolId = await addTool('shared');
	const [plain, named] = await Promise.all([1, 2].map(() => publishGateway(account, { toolIds: [toolId] })));
	assert.ok(plain && named);
	const [assigned] = await toolsOf(named.id);
	const change = { name: 'find_ticket', description: 'Finds a ticket.' };
	const changed = must(await account.patch(`/gateways/${named.id}/tools/${assigned?.gatewayToolId}`, change), 200).body.data;
	assert.deepEqual(changed, { ...assigned, ...change });
	assert.deepEqual(await toolsOf(named.id), [changed]);
	assert.deepEqual(
		(await toolsOf(plain.id)).map(({ name, description }) => ({ name, description })),
		[{ name: 'shared', description: 'Calls shared' }],
	);

	const inPlain = await seenBy(plain, 'shared');
	assert.deepEqual(inPlain.tools, [{ name: 'shared', description: 'Calls shared' }]);
	const inNamed = await seenBy(named, 'find_ticket');
	assert.deepEqual(inNamed.tools, [change]);
	for (const { result } of [inPlain, inNamed]) assert.match(JSON.stringify(result), /\\"ok\\":true/);
	assert.match(String((await seenBy(named, 'shared')).result), /shared/);
});

test('a change of an alias is what clients see within a second', async () => {
	const { paths, ...gateway } = await furnish('before');
	assert.equal((await seenBy(gateway, 'before')).tools[0]?.name, 'before');
	must(await account.patch(paths[0] ?? '', { name: 'after' }), 200);
	await soon(async () => (await seenBy(gateway, 'after')).tools[0]?.name === 'after', 'the alias');
});

test('only what is named changes, and null gives back what is the tool’s own', async () => {
	const { id, paths } = await furnish('own');
	const [path = ''] = paths;
	const [first] = await toolsOf(id);
	const steps: [change: object, then: object][] = [
		[{ rateLimit: 5 }, { rateLimit: 5 }],
		[{ name: 'alias' }, { name: 'alias', rateLimit: 5 }],
		[{ description: 'Other.' }, { name: 'alias', rateLimit: 5, description: 'Other.' }],
		[{ rateLimit: null }, { name: 'alias', description: 'Other.' }],
		[{ description: '' }, { name: 'alias', description: '' }],
		[{ name: null }, { description: '' }],
		[{ description: null, rateLimit: 7 }, { rateLimit: 7 }],
		[{ rateLimit: null }, {}],
	];
	for (const [change, then] of steps) {
		const answer = must(await account.patch(path, change), 200).body.data;
		assert.deepEqual(answer, { ...first, ...then }, JSON.stringify(change));
		assert.deepEqual(await toolsOf(id), [answer]);
	}
});

test('the tool’s own description, changed later, shows where the gateway has none of its own', async () => {
	const { id, paths } = await furnish('later');
	const [row] = await toolsOf(id);
	must(await account.patch(paths[0] ?? '', { name: 'kept' }), 200);
	must(await account.patch(`/tools/${row?.toolId}`, { description: 'New.' }), 200);
	assert.deepEqual(
		(await toolsOf(id)).map(({ name, description }) => [name, description]),
		[['kept', 'New.']],
	);
	must(await account.patch(paths[0] ?? '', { description: 'Mine.' }), 200);
	must(await account.patch(`/tools/${row?.toolId}`, { description: 'Newer.' }), 200);
	assert.equal((await toolsOf(id))[0]?.description, 'Mine.');
});

const BAD: [body: object, field: string][] = [
	[{ name: '' }, 'name'],
	[{ name: 'a b' }, 'name'],
	[{ name: 'a.b' }, 'name'],
	[{ name: 'ä' }, 'name'],
	[{ name: 'a\n' }, 'name'],
	[{ name: 'x'.repeat(65) }, 'name'],
	[{ name: ['a'] }, 'name'],
	[{ description: 'x'.repeat(10_001) }, 'description'],
	[{ description: 5 }, 'description'],
	[{ rateLimit: 0 }, 'rateLimit'],
	[{ rateLimit: 1.5 }, 'rateLimit'],
	[{ rateLimit: '5' }, 'rateLimit'],
	[{ rateLimit: 1_000_001 }, 'rateLimit'],
	[{ toolId: 'x' }, 'toolId'],
];
test('an unknown option or an invalid value is a 400 that names the field', async () => {
	const { paths } = await furnish('strict');
	assert.equal(must(await account.patch(paths[0] ?? '', {}), 400).body.details[0].path, '');
	for (const [body, field] of BAD) {
		const { status, body: answer } = await account.patch(paths[0] ?? '', body);
		assert.deepEqual([status, answer.details?.[0]?.path], [400, `/${field}`], JSON.stringify(body).slice(0, 60));
	}
	for (const name of ['a', 'Z9_-', 'x'.repeat(64)]) must(await account.patch(paths[0] ?? '', { name }), 200);
});

test('a name that another tool of the gateway has is a 409, whatever its case; one’s own is not', async () => {
	const { id, paths } = await furnish('first', 'second');
	const [first = '', second = ''] = paths;
	for (const name of ['first', 'FIRST']) {
		const { status, body } = await account.patch(second, { name });
		assert.deepEqual([status, body.error], [409, 'CONFLICT']);
	}
	must(await account.patch(first, { name: 'FIRST' }), 200);
	must(await account.patch(first, { name: 'FIRST', rateLimit: 3 }), 200);
	assert.deepEqual(
		(await toolsOf(id)).map(({ name }) => name),
		['FIRST', 'second'],
	);
});

test('a tool whose own name was taken meanwhile gets it back with a suffix', async () => {
	const { id, paths } = await furnish('mine', 'other');
	const [mine = '', other = ''] = paths;
	must(await account.patch(mine, { name: 'moved' }), 200);
	must(await account.patch(other, { name: 'Mine' }), 200);
	const { name } = must(await account.patch(mine, { name: null }), 200).body.data;
	assert.match(name, /^mine_[0-9a-f]{8}$/);
	assert.deepEqual(
		(await toolsOf(id)).map((tool) => tool.name),
		[name, 'Mine'],
	);
});

test('of assignments that take one alias at once, one gets it and the others are a 409', async () => {
	for (let round = 0; round < 5; round++) {
		const { id, paths } = await furnish('a', 'b', 'c', 'd');
		const answers = await Promise.all(paths.map((path, at) => account.patch(path, { name: at % 2 ? 'Prize' : 'prize' })));
		assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
		assert.equal((await toolsOf(id)).filter(({ name }) => name.toLowerCase() === 'prize').length, 1);
	}
});

test('an alias that is taken while a tool of that name is assigned leaves both with names of their own', async () => {
	for (let round = 0; round < 5; round++) {
		const { id, paths } = await furnish('holder');
		const toolId = await addTool('contested');
		const [alias, assigned] = await Promise.all([
			account.patch(paths[0] ?? '', { name: 'contested' }),
			account.post(`/gateways/${id}/tools`, { toolId }),
		]);
		must(assigned, 201);
		assert.ok([200, 409].includes(alias.status), String(alias.status));
		const names = (await toolsOf(id)).map(({ name }) => name.toLowerCase());
		assert.equal(new Set(names).size, 2, names.join());
	}
});

test('an assignment of another gateway or organization is a 404, and stays as it is', async () => {
	const [one, two] = [await furnish('one'), await furnish('two')];
	const stranger = await registerAccount(service.url);
	const [path = ''] = one.paths;
	const crossed = path.replace(one.id, two.id);
	assert.equal((await account.patch(crossed, { name: 'stolen' })).status, 404);
	assert.equal((await stranger.patch(path, { name: 'stolen' })).status, 404);
	assert.equal((await toolsOf(one.id))[0]?.name, 'one');
});

test('results of a gateway and of an assignment are settings of theirs, and other values are refused by name', async () => {
	const { id } = await publishGateway(account);
	const results = { maxResultBytes: 100_000, icon: 'data:image/svg+xml;base64,PHN2Zy8+' };
	const gateway = must(await account.patch(`/gateways/${id}`, results), 200).body.data;
	assert.deepEqual([gateway.maxResultBytes, gateway.icon], Object.values(results));
	const toolId = await addTool('settled');
	const settings = { maxResultBytes: 5000, confirm: 'always', rateLimit: 9 };
	const assigned = must(await account.post(`/gateways/${id}/tools`, { toolId, ...settings }), 201).body.data;
	const path = `/gateways/${id}/tools/${assigned.gatewayToolId}`;
	assert.deepEqual([assigned.maxResultBytes, assigned.confirm, assigned.rateLimit], Object.values(settings));
	must(await account.post(`/gateways/${id}/tools`, { toolId }), 201);
	const kept = must(await account.patch(path, { confirm: null }), 200).body.data;
	assert.deepEqual([kept.maxResultBytes, kept.confirm, kept.rateLimit], [5000, null, 9]);
	const wrong: [path: string, body: object][] = [
		[`/gateways/${id}`, { maxResultBytes: 255 }],
		[`/gateways/${id}`, { icon: 'http://a.example/i.png' }],
		[`/gateways/${id}`, { icon: 'https://user@a.example/i.png' }],
		[`/gateways/${id}`, { icon: 'data:text/html;base64,AAAA' }],
		[path, { confirm: 'never' }],
		[path, { maxResultBytes: 0 }],
	];
	for (const [at, body] of wrong) {
		const { status, body: answer } = await account.patch(at, body);
		assert.equal(status, 400, JSON.stringify(body));
		assert.match(JSON.stringify(answer), new RegExp(Object.keys(body)[0] ?? ''));
	}
});
