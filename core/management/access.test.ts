// The database statements of a management request before its handler runs, and the behaviour while changes cannot be read: on the whole
// service, with every statement counted.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import {
	type Account,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../../test/helpers/service.ts';
import { startTcpProxy } from '../../test/helpers/tcp-proxy.ts';

let service: TestService;
let account: Account;
let path: string;

before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	path = `/gateways/${(await publishGateway(account)).id}`;
});
after(() => service.stop());

/** Statements of requests: those that identify the caller or load the gateway, not those of background work. */
const ASKED = /\b(sessions|access_keys|memberships|users|organizations|gateways)\b/;
const BY_ITSELF = /\b(changes|DELETE|INSERT)\b/;

/** @returns the statements that `work` sent */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
	const { query } = pg.Client.prototype;
	const sent: string[] = [];
	pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
		const [given] = args as [string | { text?: string }];
		const text = typeof given === 'string' ? given : (given.text ?? '');
		if (ASKED.test(text) && !BY_ITSELF.test(text)) sent.push(text);
		return Reflect.apply(query, this, args);
	} as typeof query;
	try {
		await work();
		return sent;
	} finally {
		pg.Client.prototype.query = query;
	}
}

const ROUNDS = 5;
const get = (headers: Record<string, string>, at = path, url = service.url) => send(url + at, 'GET', { headers });

test('the caller is looked up once: a further request costs only the statement of its answer', async () => {
	const { key } = must(await account.post('/access-keys', { name: 'robot' }), 201).body.data;
	const callers = [
		{ authorization: `Bearer ${account.token}` },
		{ cookie: `gatehouse_token=${account.token}` },
		{ authorization: `Bearer ${key}` },
	];
	for (const headers of callers) {
		must(await get(headers), 200);
		const sent = await statementsOf(async () => {
			for (let round = 0; round < ROUNDS; round++) must(await get(headers), 200);
		});
		assert.equal(sent.length / ROUNDS, 1, `${JSON.stringify(Object.keys(headers))}: ${sent.join('\n')}`);
	}
});

test('gateways and the management API share their cache', async () => {
	const gateway = await publishGateway(account, { auth: 'bearer_token' });
	const { key } = must(await account.post('/access-keys', { name: 'robot' }), 201).body.data;
	const headers = { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' };
	const list = () => send(gateway.url, 'POST', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }, headers });
	must(await list(), 200);
	const sent = await statementsOf(async () => must(await get(headers), 200));
	assert.deepEqual(
		sent.filter((text) => text.includes('access_keys')),
		[],
	);
});

test('nobody is admitted while changes cannot be read, not even to routes that need no database', async () => {
	assert.ok(service.config.database);
	await using cable = await startTcpProxy(service.config.database);
	const far = await startTestService({
		replicaOf: service,
		databaseWaits: {},
		env: { DATABASE_HOST: '127.0.0.1', DATABASE_PORT: String(cable.port) },
	});
	const ask = () => get({ authorization: `Bearer ${account.token}` }, '/plugins', far.url);
	try {
		must(await ask(), 200);
		await cable.cut();
		await sleep(1100);
		must(await ask(), 503);
	} finally {
		await cable.mend();
		await far.stop();
	}
});
