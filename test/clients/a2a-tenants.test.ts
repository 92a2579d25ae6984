// The A2A SDK's clients over two replicas: tenants apart from each other, the user's word, the organization's skills, and signed cards.

import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { DefaultAgentCardResolver as LegacyResolver } from 'a2a03/client';
import { importJWK } from 'jose';
import { alternating, type Driver, legacyDriver, modernClient, modernDriver } from '../helpers/a2a.ts';
import { until } from '../helpers/clock.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const PAYMENT = { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] };
/** The client of 0.3 has sentences of its own, and expects events also of a refused stream. */
const NO_TASK = /no task|Task not found|Content-Type/;
/** Tasks of one account that are at work at a time. */
const PLACES = 100;

let folder: string;
let replicas: [TestService, TestService];
let owner: Account;

before(async () => {
	folder = mkdtempSync(join(tmpdir(), 'gatehouse-a2a-'));
	const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
	const file = join(folder, 'plugins.json');
	const signingKey = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
	writeFileSync(file, JSON.stringify({ 'transport:a2a': { signingKey } }));
	const env = { GATEWAY_PLUGINS_CONFIG: file };
	const first = await startTestService({ env });
	replicas = [first, await startTestService({ env, replicaOf: first })];
	owner = await registerAccount(first.url);
});
after(async () => {
	await replicas[1].stop();
	await replicas[0].stop();
	rmSync(folder, { recursive: true, force: true });
});

interface Agent {
	id: string;
	url: string;
	key: string;
}

/** Tools whose upstream is asked for their name, and holds what is named `slow`. */
async function agentOf(t: TestContext, account: Account, { confirm }: { confirm?: string } = {}) {
	const asked: string[] = [];
	const held: ServerResponse[] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		const { url = '' } = request;
		asked.push(url);
		await request.toArray();
		response.setHeader('content-type', 'application/json');
		if (url === '/slow') held.push(response);
		else response.end('{"done":true}');
	});
	const agent: Agent = await publishGateway(account, { type: 'a2a' });
	for (const name of ['look', 'slow', 'pay']) {
		const isWrite = name === 'pay';
		const toolId = await createHttpTool(account, {
			...{ name, url: `${upstream.origin}/${name}` },
			...(isWrite && { method: 'POST', parameters: PAYMENT }),
		});
		must(await account.post(`/gateways/${agent.id}/tools`, { toolId, ...(isWrite && confirm && { confirm }) }), 201);
	}
	return { agent, asked, held };
}

const keyed = (key: string | null): typeof fetch =>
	alternating(
		replicas.map(({ url }) => url),
		key === null ? {} : { 'x-api-key': key },
	);
const CLIENTS: Record<string, (agent: Agent) => Promise<Driver>> = {
	'1.0 over JSON-RPC': ({ url, key }) => modernDriver(url, keyed(key), 'JSONRPC'),
	'1.0 over HTTP+JSON': ({ url, key }) => modernDriver(url, keyed(key), 'HTTP+JSON'),
	'0.3 over JSON-RPC': ({ url, key }) => legacyDriver(url, keyed(key)),
};
const call = (skill: string, args: object = {}) => ({ data: { skill, arguments: { ...args } } });

for (const [name, connect] of Object.entries(CLIENTS)) {
	test(`${name}: a task does not exist at another gateway, in another organization, or for another key`, async (t) => {
		const { agent, held } = await agentOf(t, owner);
		const other = await registerAccount(replicas[0].url);
		const second = must(await owner.post(`/gateways/${agent.id}/auth/api-keys`, { name: 'second' }), 201).body.data.key;
		const strangers: Record<string, Agent> = {
			'another gateway': (await agentOf(t, owner)).agent,
			'another organization': (await agentOf(t, other)).agent,
			'another key': { ...agent, key: second },
		};
		const client = await connect(agent);
		const contextId = randomUUID();
		const hook = { id: 'hook', url: 'https://hooks.example/a2a' };
		const waiting = (await client.send(call('slow'), { contextId, returnImmediately: true })).id;
		const ended = (await client.send(call('look'), { contextId })).id;
		const asking = (await client.send(call('pay'), { contextId })).id;
		for (const id of [waiting, ended, asking]) await client.setPush(id, hook);
		for (const [title, stranger] of Object.entries(strangers)) {
			const theirs = await connect(stranger);
			for (const id of [waiting, ended, asking]) {
				const refused: (() => Promise<unknown>)[] = [
					() => theirs.get(id),
					() => theirs.cancel(id),
					() => theirs.subscribe(id).next(),
					() => theirs.send({ data: { amount: 1 } }, { taskId: id }),
					() => theirs.setPush(id, hook),
					() => theirs.getPush(id, hook.id),
					() => theirs.listPushes(id),
					() => theirs.deletePush(id, hook.id),
				];
				for (const [at, ask] of refused.entries()) await assert.rejects(ask, NO_TASK, `${title}: ${at}`);
			}
			const lister = await modernClient(stranger.url, keyed(stranger.key), 'JSONRPC');
			const { tasks, totalSize } = await lister.listTasks({
				tenant: '',
				contextId,
				status: 0,
				pageToken: '',
				statusTimestampAfter: undefined,
			});
			assert.deepEqual([tasks, totalSize], [[], 0], title);
		}
		assert.deepEqual([(await client.get(asking)).state, (await client.listPushes(waiting)).length], ['input_required', 1]);
		await client.cancel(waiting);
		for (const response of held) response.end();
	});

	test(`${name}: a tool that the user must confirm runs when this caller says yes, with those arguments, once`, async (t) => {
		const { agent, asked } = await agentOf(t, owner, { confirm: 'destructive' });
		const client = await connect(agent);
		const payment = await client.send(call('pay', { amount: 7 }));
		assert.equal(payment.state, 'input_required');
		assert.match(String(payment.said[0]), /“pay”.*"amount": 7/s);
		const key = must(await owner.post(`/gateways/${agent.id}/auth/api-keys`, { name: 'second' }), 201).body.data.key;
		await assert.rejects((await connect({ ...agent, key })).send({ data: { run: true } }, { taskId: payment.id }), NO_TASK);
		assert.deepEqual(asked, []);
		assert.equal((await client.send({ data: { run: true } }, { taskId: payment.id })).state, 'completed');
		await assert.rejects(client.send({ data: { run: true } }, { taskId: payment.id }));
		assert.equal((await client.send(call('pay', { amount: 7 }))).state, 'input_required', 'the next call is asked for again');
		const declined = await client.send(call('pay', { amount: 8 }));
		assert.equal((await client.send({ data: { action: 'decline' } }, { taskId: declined.id })).state, 'failed');
		assert.deepEqual(asked, ['/pay']);
	});

	test(`${name}: the organization’s skills are the agent’s, too`, async (t) => {
		const { agent } = await agentOf(t, owner);
		const skill = `refunds-${randomUUID().slice(0, 8)}`;
		const given = {
			name: skill,
			description: 'How we refund.',
			body: 'Refund {{amount}}.',
			arguments: [{ name: 'amount', required: true }],
		};
		const { id: skillId } = must(await owner.post('/skills', given), 201).body.data;
		const client = await connect(agent);
		assert.ok(!(await client.skills()).includes(skill));
		must(await owner.post(`/gateways/${agent.id}/skills`, { skillId }), 201);
		await until(async () => (await (await connect(agent)).skills()).includes(skill), 'every card shows it');
		const asking = await client.send({ text: skill });
		assert.equal(asking.state, 'input_required');
		const task = await client.send({ text: '5 €' }, { taskId: asking.id });
		assert.deepEqual([task.state, task.artifacts], ['completed', ['Refund 5 €.']]);
	});
}

test('an account that has all of its places at work takes none of another’s; its own tasks wait, and no tool runs twice', async (t) => {
	const [full, free] = [await registerAccount(replicas[0].url), await registerAccount(replicas[0].url)];
	const [{ agent, held, asked }, { agent: other }] = [await agentOf(t, full), await agentOf(t, free)];
	const [client, theirs] = [
		await modernDriver(agent.url, keyed(agent.key), 'JSONRPC'),
		await modernDriver(other.url, keyed(other.key), 'JSONRPC'),
	];
	const now = { returnImmediately: true };
	for (let at = 0; at < PLACES; at++) await client.send(call('slow'), now);
	await until(() => held.length === PLACES, 'all are at work');
	const queued = await client.send(call('look'), now);
	const contextId = randomUUID();
	const waiting = client.send(call('slow'), { contextId });
	await until(() => held.length === PLACES + 1, 'who waits gets the tool at once');
	// The tool has had its second; if it took longer on this machine, nothing else is expected.
	await sleep(1_500);
	const ended = await theirs.send(call('look'), now);
	await until(async () => (await theirs.get(ended.id)).state === 'completed', 'the other account has its places');
	assert.equal((await client.get(queued.id)).state, 'submitted');
	assert.ok(!asked.includes('/look'));
	const database = replicas[0].config.database ?? assert.fail();
	// Jobs of other accounts may end after their task.
	const of = `organization_id = '${full.organization.id}' AND kind = 'job.transport.a2a.task'`;
	const jobs = async () =>
		(await administer(database, `SELECT count(*)::int AS count FROM runs WHERE ${of} AND status IN ('queued', 'running')`))[0]?.['count'];
	const before = await jobs();
	const last = held.pop();
	last?.end('{"done":true}');
	assert.equal((await waiting).state, 'completed');
	assert.equal(before, PLACES + 1, 'no job waits to run that tool again');
	held.pop()?.end('{"done":true}');
	await until(async () => (await client.get(queued.id)).state === 'completed', 'a place is free');
	for (const response of held) response.end('{"done":true}');
	assert.equal(asked.length, PLACES + 2);
});

test('the card is signed by the key that the operator configured, and the SDK verifies it by the public key set', async (t) => {
	const { agent } = await agentOf(t, owner);
	const fetched: string[] = [];
	const verify = verifyAgentCardSignature(async (kid, jku) => {
		fetched.push(jku ?? '');
		const { body } = must(await send(jku ?? '', 'GET'), 200);
		const key = body.keys.find((jwk: { kid: string }) => jwk.kid === kid);
		assert.equal(key.d, undefined);
		return (await importJWK(key, 'ES256')) as never;
	});
	for (const { url } of replicas) {
		// The SDK's verification reads JSON: of a card in its own form it drops the security schemes.
		const card = AgentCard.toJSON(
			await new DefaultAgentCardResolver({ fetchImpl: alternating([url], {}) }).resolve(`${agent.url}/`),
		) as AgentCard;
		await verify(card);
		await assert.rejects(verify({ ...card, description: 'Another.' }), /No valid signatures/);
	}
	assert.ok(fetched.every((jku) => new URL(jku).pathname === `${new URL(agent.url).pathname}/.well-known/jwks.json`));
});

test('the client of 0.3 finds the card without the trailing slash, too', async () => {
	const own = await registerAccount(replicas[0].url);
	const { url } = await publishGateway(own, { type: 'a2a' });
	const resolver = new LegacyResolver({ fetchImpl: keyed(null) });
	for (const address of [url, `${url}/`]) {
		const card = await resolver.resolve(address);
		assert.deepEqual([new URL(card.url).pathname, card.protocolVersion], [new URL(url).pathname, '0.3.0']);
	}
});
