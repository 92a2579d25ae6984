// The stdio proxy under every fault: of its settings, of the credential, of the gateway, of the network, and of what the client writes.

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { must, publishGateway, registerAccount } from '../helpers/service.ts';
import { greet, INITIALIZE, openProxyWorld, type ProxyWorld, type StdioProxy, startProxy } from '../helpers/stdio-proxy.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';

let world: ProxyWorld;
before(async () => {
	world = await openProxyWorld();
});
after(() => world?.stop());

const start = (env: Record<string, string> = {}, args = [world.gateway.name]): StdioProxy =>
	startProxy(args, { SVC_URL: world.service.url, SVC_TOKEN: world.gateway.key, ...env });

const textOf = ({ result }: { result: { content: { text: string }[] } }): string => result.content[0]?.text ?? '';
const execute = (proxy: StdioProxy, name: string, id?: string | number) =>
	proxy.request('tools/call', { name: 'svc_execute', arguments: { name } }, id);

/** Starts a server that answers as it is told to. */
async function serverOf(listener: RequestListener) {
	const server = createServer(listener).listen(0, '127.0.0.1');
	await until(() => server.address() !== null, 'it listens');
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		async [Symbol.asyncDispose]() {
			server.closeAllConnections();
			server.close();
		},
	};
}

const REFUSED: [id: string, env: Record<string, string>, args: string[], sentence: RegExp][] = [
	[
		'no token',
		{ SVC_TOKEN: '' },
		[],
		/no credential for http.*Set SVC_TOKEN to an access key, or log in: node \S+main\.[jt]s login --url http:\S+\n$/,
	],
	['a mode that there is not', { SVC_MODE: 'fast' }, [], /SVC_MODE is "fast", and must be one of skill-first, full\.\n$/],
	[
		'an id instead of a name',
		{},
		['0b8ee7fc-8a5c-4b0a-9c3a-5b7d8a1f0e11'],
		/is no gateway: write <organization>\/<gateway>.*not the gateway’s id/,
	],
	['a name of one part', { SVC_GATEWAY_ID: 'tools' }, [], /"tools" is no gateway/],
	['two gateways', {}, ['a/b', 'c/d'], /One gateway at most/],
	['an address that is none', { SVC_URL: 'example.com' }, [], /SVC_URL must be an address that begins with https/],
	['an address with a password', { SVC_URL: 'https://a:secret@example.com' }, [], /SVC_URL must be the plain address/],
	['a token of two lines', { SVC_TOKEN: 'a\nb' }, [], /SVC_TOKEN has spaces/],
	['a gateway that there is not', {}, ['nobody/nothing'], /There is no active gateway at http.*\/nobody\/nothing: Gateway not found\.\n$/],
];

for (const [id, env, args, sentence] of REFUSED) {
	test(`with ${id}, it ends with a sentence on standard error`, async () => {
		await using proxy = start(env, args);
		assert.equal(await proxy.ended, 1);
		assert.match(proxy.stderr(), sentence);
		assert.equal(proxy.stdout(), '');
		assert.ok(!proxy.stderr().includes('secret'));
		assert.equal(proxy.stderr().split('\n').length, 2, 'one line');
	});
}

for (const type of ['a2a', 'utcp', 'skills']) {
	test(`a gateway of type ${type} is refused at the start, by its type, and the client is told`, async () => {
		const made = await publishGateway(world.account, { type });
		await using proxy = start({ SVC_TOKEN: made.key }, [new URL(made.url).pathname.slice(1)]);
		proxy.send({ id: 1, method: 'initialize', params: INITIALIZE });
		assert.equal(await proxy.ended, 1);
		assert.match(proxy.stderr(), new RegExp(`is of type ${type}, and this command connects gateways of type mcp`));
		for (const { error } of proxy.messages()) assert.match(error.message, new RegExp(`is of type ${type}`));
	});
}

for (const status of [200, 404])
	test(`an address at which pages answer, with ${status}, is told in a sentence by each command`, async () => {
		await using pages = await serverOf((_request, response) =>
			response.writeHead(status, { 'content-type': 'text/html' }).end('<p>App</p>'),
		);
		const env = { SVC_URL: pages.url, SVC_TOKEN: 'ak_live_x' };
		const told = new RegExp(
			`There is nothing of Gatehouse at ${pages.url}/[\\w/?=]+: is SVC_URL, or --url, the address of the service\\?\\n$`,
		);
		for (const args of [['whoami'], ['login', '--no-browser']]) {
			await using command = startProxy(args, env);
			assert.equal(await command.ended, 1);
			assert.match(command.stderr(), told);
			assert.equal(command.stderr().split('\n').length, 2, 'one line');
		}
		await using everywhere = startProxy([], { ...env, SVC_ORGANIZATION: 'acme' });
		await until(() => everywhere.stderr().endsWith('\n'), 'the line');
		assert.match(everywhere.stderr(), told);
		await using gateway = startProxy(['acme/tools'], env);
		await until(() => gateway.stderr().endsWith('\n'), 'the line');
		assert.match(gateway.stderr(), told);
	});

test('the start is told in one line, with counts and mode; without skills both tools work all the same', async () => {
	const bare = await publishGateway(world.account);
	await using proxy = start({ SVC_TOKEN: bare.key }, [new URL(bare.url).pathname.slice(1)]);
	await greet(proxy);
	const { result } = await proxy.request('prompts/list');
	assert.deepEqual(
		result.prompts.map(({ name }: { name: string }) => name),
		['svc-overview'],
	);
	assert.match(textOf(await execute(proxy, 'nothing')), /There is no tool "nothing"/);
	await until(() => proxy.stderr().endsWith('\n'), 'the line');
	assert.equal(proxy.stderr(), `gatehouse-proxy: ${bare.url}: 0 tools, 0 skills, mode skill-first\n`);
	await using other = start({ SVC_MODE: 'full', SVC_GATEWAY_ID: world.gateway.name }, []);
	await until(() => other.stderr().endsWith('\n'), 'the line');
	assert.match(other.stderr(), /: 6 tools, 1 skill, mode full\n$/);
});

test('whoever belongs to several organizations reads which, and names one by its slug or id', async () => {
	const account = await registerAccount(world.service.url);
	const { key } = must(await account.post('/access-keys', { name: 'proxy' }), 201).body.data;
	const { slug } = must(await account.post('/organizations', { name: 'Second' }), 201).body.data;
	await using proxy = start({ SVC_TOKEN: key }, []);
	assert.equal(await proxy.ended, 1);
	assert.match(proxy.stderr(), new RegExp(`several organizations.*SVC_ORGANIZATION to one of: .*${account.organization.slug} .*${slug}`));
	for (const named of [account.organization.slug, account.organization.id]) {
		await using chosen = start({ SVC_TOKEN: key, SVC_ORGANIZATION: named }, []);
		await until(() => chosen.stderr().endsWith('\n'), 'the line');
		assert.match(chosen.stderr(), /\/mcp: 0 tools, 0 skills, mode skill-first\n$/);
	}
	await using wrong = start({ SVC_TOKEN: key, SVC_ORGANIZATION: 'nobody' }, []);
	assert.equal(await wrong.ended, 1);
	assert.match(wrong.stderr(), /none of your organizations/);
});

test('an organization that is named by its slug is found once the service is back, and the client is answered meanwhile', async () => {
	const { account, service } = world;
	const { key } = must(await account.post('/access-keys', { name: 'proxy' }), 201).body.data;
	let isAway = true;
	await using front = await serverOf(async (request, response) => {
		if (isAway) return void response.writeHead(503, { 'content-type': 'text/html' }).end();
		const { method = 'GET', headers, url = '' } = request;
		// A stream would not end.
		if (headers.accept === 'text/event-stream') return void response.writeHead(405).end();
		const body = method === 'GET' ? null : Buffer.concat(await request.toArray());
		const sent = Object.entries(headers).filter(([name]) => !['host', 'connection', 'content-length'].includes(name));
		const answer = await fetch(service.url + url, { method, headers: sent as [string, string][], body });
		response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
		response.end(Buffer.from(await answer.arrayBuffer()));
	});
	await using proxy = startProxy([], { SVC_URL: front.url, SVC_TOKEN: key, SVC_ORGANIZATION: account.organization.slug });
	await greet(proxy);
	await until(() => /answered 503.*It is tried again\.\n/.test(proxy.stderr()), 'the outage is told');
	isAway = false;
	await until(() => /\/mcp: \d+ tools, \d+ skills?, mode skill-first\n/.test(proxy.stderr()), 'it has started');
});

test('a key that is revoked midway is told on standard error, once, and by a tool error that says how to log in', async () => {
	const { id } = world.gateway;
	const made = must(await world.account.post(`/gateways/${id}/auth/api-keys`, { name: 'short' }), 201).body.data;
	await using proxy = start({ SVC_TOKEN: made.key });
	await greet(proxy);
	assert.deepEqual((await execute(proxy, 'echo')).result.structuredContent, { said: '' });
	must(await world.account.del(`/gateways/${id}/auth/api-keys/${made.id}`), 200);
	for (let twice = 0; twice < 2; twice += 1) {
		const answer = await execute(proxy, 'echo');
		assert.equal(answer.result.isError, true);
		assert.match(
			textOf(answer),
			/The credential was refused by .*Set SVC_TOKEN to an access key, or log in: node \S+main\.[jt]s login --url http:/,
		);
	}
	assert.match((await proxy.request('prompts/list')).error.message, /credential was refused/);
	assert.equal(proxy.stderr().split('The credential was refused').length, 2);
	assert.ok(!proxy.stderr().includes(made.key));
});

test('a gateway that goes away comes back by itself; calls meanwhile are tool errors', async () => {
	const { hostname, port } = new URL(world.service.url);
	await using between = await startTcpProxy({ host: hostname, port: Number(port) });
	await using proxy = start({ SVC_URL: `http://127.0.0.1:${between.port}` });
	await greet(proxy);
	await execute(proxy, 'echo');
	await between.cut();
	const answer = await execute(proxy, 'echo');
	assert.equal(answer.result.isError, true);
	assert.match(textOf(answer), /cannot be reached.*not repeated by itself, since it may have run/);
	assert.match(proxy.stderr(), /cannot be reached \(E\w+\)\. It is tried again\./);
	await between.mend();
	await until(() => proxy.stderr().includes('The gateway answers again.'), 'it is back without a request');
	await until(() => proxy.messages().some(({ method }) => method === 'notifications/prompts/list_changed'), 'the client lists again');
	assert.deepEqual((await execute(proxy, 'echo')).result.structuredContent, { said: '' });
});

test('without the gateway the client is greeted all the same, and served once it is there', async () => {
	const { hostname, port } = new URL(world.service.url);
	await using between = await startTcpProxy({ host: hostname, port: Number(port) });
	await between.cut();
	await using proxy = start({ SVC_URL: `http://127.0.0.1:${between.port}` });
	await greet(proxy);
	assert.equal((await proxy.request('tools/list')).result.tools.length, 2);
	await between.mend();
	await until(() => proxy.stderr().includes('6 tools, 1 skill'), 'the line');
	assert.deepEqual((await execute(proxy, 'echo')).result.structuredContent, { said: '' });
});

test('changes of the gateway are told to the client', async () => {
	await using proxy = start({ SVC_MODE: 'full' });
	await greet(proxy);
	const before = (await proxy.request('tools/list')).result.tools.length;
	const body = { name: 'later', type: 'javascript', code: 'return 1' };
	const { id } = must(await world.account.post(`/organizations/${world.account.organization.id}/tools`, body), 201).body.data;
	const told = () => proxy.messages().some(({ method }) => method === 'notifications/tools/list_changed');
	await until(async () => {
		// The stream may not be open yet: an assignment is repeated until it is heard.
		must(await world.account.post(`/gateways/${world.gateway.id}/tools`, { toolId: id }), 201);
		if (told()) return true;
		must(await world.account.del(`/gateways/${world.gateway.id}/tools/${id}`), 200);
		return told();
	}, 'it is told');
	assert.ok((await proxy.request('tools/list')).result.tools.length >= before);
	await world.account.del(`/gateways/${world.gateway.id}/tools/${id}`);
});

test('a call is sent once, whatever happens to it', async () => {
	const calls = new Map<string, number>();
	await using hostile = await serverOf((request, response) => {
		const parts: Buffer[] = [];
		request.on('data', (part) => parts.push(part));
		request.on('end', () => {
			const { method, id, params } = JSON.parse(Buffer.concat(parts).toString() || '{}');
			if (method !== 'tools/call') return response.setHeader('content-type', 'application/json').end(JSON.stringify(listFor(method, id)));
			const { name } = params.arguments;
			calls.set(name, (calls.get(name) ?? 0) + 1);
			if (name === 'reset') return request.socket.resetAndDestroy();
			if (name === 'broken') {
				response
					.writeHead(200, { 'content-type': 'text/event-stream' })
					.write(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}\n\n`);
				return void setImmediate(() => response.destroy());
			}
			if (name === 'silent') return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
			if (name === 'page') return response.writeHead(502, { 'content-type': 'text/html' }).end('<html>\n<b>Bad gateway</b>');
			if (name === 'junk') return response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":7');
			if (name === 'lines')
				return response
					.writeHead(200, { 'content-type': 'application/json' })
					.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'a\nb' }] } }, null, 2));
			if (name === 'away') return response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
			return response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: nonsense\n\n');
		});
	});
	await using proxy = startProxy(['a/b'], { SVC_URL: hostile.url, SVC_TOKEN: 'ak_live_x' });
	await greet(proxy);
	const sentences: Record<string, RegExp> = {
		...{ reset: /cannot be reached/, broken: /broke off/, silent: /without an answer/, page: /answered 502/ },
		...{ junk: /answered 200/, away: /redirect, which is not followed/, nonsense: /no message of MCP/, lines: /^a\nb$/ },
	};
	for (const [name, sentence] of Object.entries(sentences)) assert.match(textOf(await execute(proxy, name)), sentence, name);
	assert.deepEqual(
		[...calls.values()],
		Object.keys(sentences).map(() => 1),
	);
	assert.ok(proxy.messages().length >= 8);
});

/** Answers lists as a gateway without anything does. */
function listFor(method: string, id: unknown): object {
	const results: Record<string, object> = {
		initialize: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } },
		'tools/list': { tools: [] },
		'prompts/list': { prompts: [] },
	};
	return { jsonrpc: '2.0', id, result: results[method] ?? {} };
}

const LINES = [
	...[
		'{',
		'[]',
		'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
		'null',
		'1',
		'""',
		'{}',
		'\u0000',
		'{"jsonrpc":"1.0","id":1,"method":"ping"}',
	],
	...['{"jsonrpc":"2.0","id":null,"method":"ping"}', '{"jsonrpc":"2.0","id":{},"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":7}'],
	...['{"jsonrpc":"2.0","id":1,"method":"tools/call"}', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}'],
	...['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'],
	...['{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"skill-../../x"}}', '{"jsonrpc":"2.0","id":1,"method":"__proto__"}'],
	...[
		'{"jsonrpc":"2.0","id":1,"method":"constructor"}',
		'{"jsonrpc":"2.0","id":1,"result":{}}',
		'{"jsonrpc":"2.0","id":"ask-x","result":{}}',
	],
	...['{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}', '{"jsonrpc":"2.0","method":"notifications/none"}'],
	...['{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}', '{"jsonrpc":"2.0","id":1,"error":{}}'],
	...[
		'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":7}}',
		`{"a":${'['.repeat(10_000)}`,
		'{"jsonrpc":"2.0","id":1e400,"method":"ping"}',
	],
	...[
		'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":7,"cursor":"x"}}',
		'\uFEFF{}',
		'Content-Length: 5',
		'{"__proto__":1}',
	],
];

test('whatever is written to it, every line on standard output is a message, and it goes on', async () => {
	await using proxy = start({ SVC_MODE: 'full' });
	let seed = 7;
	const random = (below: number): number => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return seed % below;
	};
	for (const line of LINES) proxy.write(`${line}\n`);
	for (let round = 0; round < 400; round += 1) {
		const line = Buffer.from(LINES[random(LINES.length)] ?? '');
		for (let flips = random(4); flips > 0 && line.length > 0; flips -= 1) line[random(line.length)] = random(256);
		const cut = line.subarray(0, random(line.length + 1));
		proxy.child.stdin.write(random(2) === 0 ? line : cut);
		if (random(3) > 0) proxy.write('\r\n');
	}
	proxy.write('\n');
	assert.deepEqual((await proxy.request('ping', {}, 'last')).result, {});
	await greet(proxy);
	assert.equal((await proxy.request('tools/list', {}, 'tools')).result.tools.length >= 6, true);
	assert.ok(proxy.messages().length > LINES.length);
});

// Node.js 20 warns of more than ten listeners of one signal, later releases do not: the sweep runs this with each.
test('many requests at once are no warning on standard error', async () => {
	await using proxy = start();
	await greet(proxy);
	const ids = Array.from({ length: 12 }, (_, at) => `many-${at}`);
	for (const id of ids) proxy.send({ id, method: 'tools/call', params: { name: 'svc_execute', arguments: { name: 'echo' } } });
	for (const id of ids) await proxy.answer(id);
	assert.doesNotMatch(proxy.stderr(), /Warning/);
});

test('a line that is too long is refused, and the next one is read', async () => {
	await using proxy = start();
	const chunk = 'x'.repeat(1024 * 1024);
	for (let at = 0; at < 33; at += 1) proxy.write(chunk);
	proxy.write('\n');
	assert.deepEqual((await proxy.request('ping', {}, 'after')).result, {});
	assert.match(proxy.messages()[0].error.message, /too long/);
});

for (const [name, leave] of [
	['the end of standard input', (proxy: StdioProxy) => proxy.child.stdin.end()],
	['SIGTERM', (proxy: StdioProxy) => proxy.child.kill('SIGTERM')],
	['SIGINT', (proxy: StdioProxy) => proxy.child.kill('SIGINT')],
	[
		'nobody reading any more',
		(proxy: StdioProxy) => {
			proxy.child.stdout.destroy();
			proxy.send({ id: 'x', method: 'ping' });
		},
	],
] as const) {
	test(`${name} ends it while a call runs that never ends, and the upstream is left`, async () => {
		await using proxy = start();
		await greet(proxy);
		const { asked, left } = world.upstream;
		const [began, ended] = [asked.length, left.length];
		proxy.send({ id: 'slow', method: 'tools/call', params: { name: 'svc_execute', arguments: { name: 'slow' } } });
		await until(() => asked.length > began, 'the call reaches the upstream');
		leave(proxy);
		assert.equal(await proxy.ended, 0);
		if (name !== 'nobody reading any more') await until(() => left.length > ended, 'the upstream is left');
		proxy.messages();
	});
}

test('a client that is greeted and leaves at once gets its answers', async () => {
	await using proxy = start();
	proxy.send({ id: 1, method: 'initialize', params: INITIALIZE });
	proxy.send({ id: 2, method: 'tools/list' });
	proxy.child.stdin.end();
	assert.equal(await proxy.ended, 0);
	assert.deepEqual(
		proxy
			.messages()
			.map(({ id }) => id)
			.toSorted(),
		[1, 2],
	);
});

test('no argument of a call and no key is on standard error', async () => {
	await using proxy = start();
	await greet(proxy);
	await proxy.request('tools/call', { name: 'svc_execute', arguments: { name: 'echo', parameters: { text: 'private words' } } });
	assert.ok(!/private words|svc_gw_/.test(proxy.stderr()));
});
