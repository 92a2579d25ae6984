// Targets of outbound calls. Every refusal is tried against a canary server that counts connections.

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type TestContext, test } from 'node:test';
import { EGRESS_CASES, type EgressCase } from '../../test/catalog/egress.ts';
import { failure } from '../../test/helpers/egress.ts';
import { CERTIFICATE, canary, httpUpstream, tlsUpstream, trust } from '../../test/helpers/upstream.ts';
import { createEgress, type Egress, type EgressPolicy, type PooledEgress } from './egress.ts';

function egressFor(t: TestContext, policy: EgressPolicy): Egress {
	const egress = createEgress(policy);
	t.after(() => egress.close());
	return egress;
}

const resolving = (...addresses: string[]): NonNullable<EgressPolicy['lookup']> => {
	return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

const get = (egress: Egress, url: string) => egress.request({ method: 'GET', url, timeoutMs: 60_000 });

const VERBS = {
	check: (egress: Egress, url: string): Promise<unknown> => egress.check(url),
	request: (egress: Egress, url: string): Promise<unknown> => get(egress, url),
	fetch: (egress: Egress, url: string): Promise<unknown> => egress.fetch(url),
};

test('A target that is not public is refused by every verb, and nothing is sent to it', async (t) => {
	const bird = await canary(t);
	for (const example of EGRESS_CASES)
		await t.test(example.id, async (t) => {
			const egress = egressFor(t, policyOf(example));
			const url = example.input.replace('{port}', String(bird.port));
			for (const call of [VERBS.check, VERBS.request, VERBS.fetch]) {
				const { message } = await failure(call(egress, url), example.expected);
				for (const address of example.answers ?? []) assert.ok(!message.includes(address), message);
			}
		});
	assert.equal(bird.connections(), 0);
});

function policyOf({ allow = [], answers }: EgressCase): EgressPolicy {
	return answers ? { allow, lookup: resolving(...answers) } : { allow };
}

test('The canary counts a call that is allowed', async (t) => {
	const bird = await canary(t);
	const egress = egressFor(t, { allow: ['127.0.0.0/8', '::1'] });
	for (const host of ['127.0.0.1', '127.0.0.77', '[::1]', 'localhost', 'any.localhost']) await get(egress, `http://${host}:${bird.port}/`);
	assert.ok(bird.connections() >= 4);
});

test('A refused literal address does not even get a socket', async (t) => {
	let sockets = 0;
	const onSocket = (): void => void sockets++;
	subscribe('net.client.socket', onSocket);
	t.after(() => unsubscribe('net.client.socket', onSocket));
	const egress = egressFor(t, { allow: ['127.0.0.9'] });
	const literals = EGRESS_CASES.filter(({ id, answers }) => !answers && /^[1-6] /.test(id));
	assert.ok(literals.length > 50);
	for (const { input } of literals) await failure(get(egress, input.replace('{port}', '8080')), 'egress_refused');
	assert.equal(sockets, 0);
	await failure(get(egress, 'http://127.0.0.9:9999/'), 'upstream_failed');
	assert.equal(sockets, 1);
});

test('A refusal names the host as it was written, and EGRESS_ALLOW', async (t) => {
	const egress = egressFor(t, { allow: [], lookup: resolving('10.9.8.7') });
	for (const host of ['2130706433', 'intranet.example']) {
		const { message } = await failure(egress.check(`http://${host}/`), 'egress_refused');
		assert.match(message, new RegExp(`^${host} .*EGRESS_ALLOW`));
	}
	const { message } = await failure(egress.check('http://user:hunter2@host.example/'), 'egress_refused');
	assert.ok(!message.includes('hunter2'));
});

test('A name that was public when it was saved and turns private is refused at the call', async (t) => {
	const bird = await canary(t);
	const answers = [['93.184.216.34'], ['127.0.0.1']];
	const egress = egressFor(t, { allow: [], lookup: (name) => resolving(...(answers.shift() ?? []))(name) });
	await egress.check(`http://rebinding.example:${bird.port}/`);
	await failure(get(egress, `http://rebinding.example:${bird.port}/`), 'egress_refused');
	assert.equal(bird.connections(), 0);
});

test('A connection goes to the address that was checked, and a new connection is checked anew', async (t) => {
	const seen: (string | undefined)[] = [];
	const upstream = await httpUpstream(t, (request, response) => {
		seen.push(request.socket.localAddress);
		response.setHeader('connection', 'close').end();
	});
	const answers = ['127.0.0.1', '127.0.0.66'];
	const egress = egressFor(t, { allow: ['127.0.0.1'], lookup: (name) => resolving(answers.shift() ?? '127.0.0.66')(name) });
	await get(egress, `http://twice.example:${upstream.port}/`);
	assert.deepEqual([seen, answers], [['127.0.0.1'], ['127.0.0.66']]);
	await failure(get(egress, `http://twice.example:${upstream.port}/`), 'egress_refused');
	assert.equal(upstream.connections(), 1);
});

test('A name that does not resolve may be saved, but not called', async (t) => {
	const lookup = async (): Promise<never> => Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
	const egress = egressFor(t, { allow: [], lookup });
	await egress.check('https://soon.example/');
	assert.match((await failure(get(egress, 'https://soon.example/'), 'upstream_failed')).message, /soon\.example could not be resolved/);
});

test('A name server that does not answer is waited for at most as long as the call’s limit, and at most five seconds', async (t) => {
	const egress = egressFor(t, { allow: [], lookup: () => new Promise(() => {}) });
	const call = egress.request({ method: 'GET', url: 'http://mute.example/', timeoutMs: 100 });
	assert.match((await failure(call, 'upstream_timeout')).message, /within 100 ms/);
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const waiting = failure(egress.connect('mute.example', 2525), 'upstream_timeout');
	t.mock.timers.tick(5_000);
	await waiting;
});

test('EGRESS_ALLOW opens what it names and nothing else', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.end());
	const { port } = upstream;
	const lookup = resolving('127.0.0.1');
	const cases: { allow: string; url: string; opened: boolean }[] = [
		{ allow: `http://127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/`, opened: true },
		{ allow: `http://127.0.0.1:${port}`, url: `http://127.0.0.1:${port + 1}/`, opened: false },
		{ allow: `https://127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/`, opened: false },
		{ allow: `http://127.0.0.1:${port}`, url: `http://127.0.0.2:${port}/`, opened: false },
		{ allow: `http://inside.example:${port}`, url: `http://inside.example:${port}/`, opened: true },
		{ allow: `http://inside.example:${port}`, url: `http://INSIDE.example:${port}/`, opened: true },
		{ allow: `http://inside.example:${port}`, url: `http://other.example:${port}/`, opened: false },
		{ allow: `http://inside.example:${port}`, url: `http://127.0.0.1:${port}/`, opened: false },
		{ allow: '127.0.0.1', url: `http://127.0.0.1:${port}/`, opened: true },
		{ allow: '127.0.0.1', url: `http://inside.example:${port}/`, opened: true },
		{ allow: '127.0.0.1', url: `http://127.0.0.2:${port}/`, opened: false },
		{ allow: '127.0.0.1', url: 'http://127.0.0.1:6379/', opened: false },
		{ allow: '127.0.0.0/8', url: `http://127.0.0.1:${port}/`, opened: true },
		{ allow: '::ffff:127.0.0.0/104', url: `http://127.0.0.1:${port}/`, opened: true },
		{ allow: '127.0.0.1', url: `http://[::ffff:127.0.0.1]:${port}/`, opened: true },
		{ allow: '10.0.0.0/8', url: `http://127.0.0.1:${port}/`, opened: false },
		{ allow: '::/0', url: `http://127.0.0.1:${port}/`, opened: false },
	];
	for (const { allow, url, opened } of cases)
		await t.test(`${allow} ${opened ? 'opens' : 'does not open'} ${url}`, async (t) => {
			const egress = egressFor(t, { allow: [allow], lookup });
			if (opened) assert.equal((await get(egress, url)).status, 200);
			else await failure(get(egress, url), 'egress_refused');
		});
});

test('An origin in EGRESS_ALLOW opens a port that is refused otherwise', async (t) => {
	const egress = egressFor(t, { allow: ['http://127.0.0.1:6666', 'https://127.0.0.1:6667'] });
	await failure(get(egress, 'http://127.0.0.1:6666/'), 'upstream_failed');
	await failure(get(egress, 'http://127.0.0.1:6667/'), 'egress_refused');
	assert.deepEqual(await egress.connect('127.0.0.1', 6667), { address: '127.0.0.1', family: 4, port: 6667 });
});

test('A protocol with its own socket gets a checked address of the host, or a refusal', async (t) => {
	const egress = egressFor(t, { allow: ['127.0.0.9'], lookup: resolving('93.184.216.34', '2606:4700::1111') });
	assert.deepEqual(await egress.connect('smtp.example', 2525), { address: '93.184.216.34', family: 4, port: 2525 });
	assert.deepEqual(await egress.connect('2606:4700::1111', 50051), { address: '2606:4700::1111', family: 6, port: 50051 });
	assert.deepEqual(await egress.connect('127.0.0.9', 50051), { address: '127.0.0.9', family: 4, port: 50051 });
	const hosts = ['127.0.0.1', '2130706433', '::1', '[::1]', '::ffff:10.0.0.1', '169.254.169.254', 'a@127.0.0.9', '127.0.0.9/x', 'a b', ''];
	for (const host of hosts) await failure(egress.connect(host, 50051), 'egress_refused');
	for (const port of [22, 6379, 0, 70_000, -1]) await failure(egress.connect('smtp.example', port), 'egress_refused');
});

test('Proxies named in the environment are not used', async (t) => {
	const proxy = await canary(t);
	const upstream = await httpUpstream(t, (_request, response) => response.end('direct'));
	for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']) process.env[name] = `http://127.0.0.1:${proxy.port}`;
	process.env['NODE_USE_ENV_PROXY'] = '1';
	t.after(() => {
		for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']) delete process.env[name];
	});
	const egress = egressFor(t, { allow: ['127.0.0.1'] });
	assert.equal((await get(egress, upstream.origin)).body.toString(), 'direct');
	assert.equal(await (await egress.fetch(upstream.origin)).text(), 'direct');
	assert.equal(proxy.connections(), 0);
});

test('TLS is verified: an unknown issuer and a wrong name are failures, whatever is opened', async (t) => {
	const upstream = await tlsUpstream(t, (_request, response) => response.end('secret'));
	const egress = egressFor(t, { allow: ['127.0.0.1'], lookup: resolving('127.0.0.1') });
	const right = `https://upstream.example:${upstream.port}/`;
	assert.match((await failure(get(egress, right), 'upstream_failed')).message, /could not be trusted/);
	await failure(egress.fetch(right), 'upstream_failed');
	trust(t, CERTIFICATE);
	const fresh = egressFor(t, { allow: ['127.0.0.1'], lookup: resolving('127.0.0.1') });
	assert.equal((await get(fresh, right)).body.toString(), 'secret');
	for (const url of [upstream.origin, `https://other.example:${upstream.port}/`])
		assert.match((await failure(get(fresh, url), 'upstream_failed')).message, /ALTNAME/);
});

test('A redirect from https to http is not followed', async (t) => {
	const plain = await canary(t);
	const secure = await tlsUpstream(t, (_request, response) =>
		response.writeHead(302, { location: `http://127.0.0.1:${plain.port}/` }).end(),
	);
	trust(t, CERTIFICATE);
	const egress = egressFor(t, { allow: ['127.0.0.1'], lookup: resolving('127.0.0.1') });
	for (const call of [VERBS.request, VERBS.fetch])
		assert.match((await failure(call(egress, `https://upstream.example:${secure.port}/`), 'egress_refused')).message, /from https to http/);
	assert.equal(plain.connections(), 0);
});

test('organizations share no connection, and each keeps its own', async (t) => {
	const ports: (number | undefined)[] = [];
	const upstream = await httpUpstream(t, (request, response) => {
		ports.push(request.socket.remotePort);
		response.end('ok');
	});
	const egress = egressFor(t, { allow: [upstream.origin] });
	const ask = async (owner: PooledEgress): Promise<void> => {
		await owner.request({ method: 'GET', url: upstream.origin });
		await (await owner.fetch(upstream.origin)).text();
	};
	for (const owner of [egress.of('a'), egress.of('b'), egress, egress.of('a'), egress.of('b'), egress]) await ask(owner);
	assert.equal(ports.length, 12);
	// undici keeps the connections of `fetch` apart as well.
	const firsts = ports.slice(0, 6);
	assert.deepEqual(ports.slice(6), firsts);
	const owners = [firsts.slice(0, 2), firsts.slice(2, 4), firsts.slice(4)].map((used) => new Set(used));
	assert.equal(
		new Set(firsts).size,
		owners.reduce((sum, used) => sum + used.size, 0),
		ports.join(),
	);
});
