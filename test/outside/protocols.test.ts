// Tests the transports and the authentication method of strangers in a real service of two replicas, with the protocols' own clients.

import assert from 'node:assert/strict';
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { Role, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import '@utcp/http';
import { UtcpClient } from '@utcp/sdk';
import { until } from '../helpers/clock.ts';
import { type OutsideService, startOutside } from '../helpers/outside-service.ts';
import { type Account, createHttpTool, must, publishGateway, registerAccount, send } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: OutsideService;
let account: Account;
before(async () => {
	service = await startOutside(2);
	account = await registerAccount(service.urls[0] ?? '');
});
after(() => service?.stop());

/** The address of a gateway at a replica. */
const at = (replica: number, url: string): string => (service.urls[replica] ?? assert.fail()) + new URL(url).pathname;
const PARAMETERS = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

test('all nine packages are loaded from their tarballs, with their versions', async () => {
	const { plugins } = must(await account.get('/plugins'), 200).body.data;
	const ours = plugins.filter(({ package: from }: { package: { name: string } | null }) => from?.name.startsWith('acme-'));
	assert.equal(ours.length, 9);
	assert.deepEqual(
		new Set(ours.map(({ kind }: { kind: string }) => kind)),
		new Set(['auth', 'transport', 'importer', 'executor', 'provider', 'node', 'feature']),
	);
	for (const { package: from, api } of ours) assert.deepEqual([from.version, api], ['0.1.0', 1]);
});

test('acme-utcp: the client of UTCP discovers the tools without a credential, and calls one with a key', async (t) => {
	const { origin } = await httpUpstream(t, (_request, response) =>
		response.setHeader('content-type', 'application/json').end('{"pong":true}'),
	);
	const toolIds = [await createHttpTool(account, { name: 'ping', url: `${origin}/ping` })];
	const { url, key } = await publishGateway(account, { type: 'acme_utcp', toolIds });
	const client = await UtcpClient.create();
	t.after(() => client.close());
	const manual = { name: 'shop', call_template_type: 'http', http_method: 'GET', url: `${at(1, url)}/.well-known/utcp` };
	Object.assign(client.config.variables, { shop_API_KEY: key });
	const { success, errors } = await client.registerManual(manual as never);
	assert.ok(success, JSON.stringify(errors));
	assert.deepEqual(
		(await client.getTools()).map(({ name }) => name),
		['shop.ping'],
	);
	assert.deepEqual(await client.callTool('shop.ping', { body: {} }), { pong: true });
	const refused = await send(`${at(1, url)}/tools/none`, 'POST', { body: {}, headers: { 'x-api-key': key } });
	assert.deepEqual([refused.status, refused.body.error.code], [404, 'tool_not_found']);
});

test('acme-hmac: of twenty repetitions of a signed request on two replicas one is admitted, and none with another body', async (t) => {
	const { origin } = await httpUpstream(t, (_request, response) =>
		response.setHeader('content-type', 'application/json').end('{"pong":true}'),
	);
	const toolIds = [await createHttpTool(account, { name: 'ping', url: `${origin}/ping` })];
	const made = must(
		await account.post('/gateways', { name: 'Signed', type: 'acme_utcp', endpoint: '/signed', configuration: { errors: 'problem' } }),
		201,
	).body.data;
	must(await account.post(`/gateways/${made.id}/tools/bulk`, { toolIds }), 201);
	const secret = 'a shared secret of thirty-two characters';
	const configuration = { keys: [{ id: 'shop', secret }] };
	const added = must(await account.post(`/gateways/${made.id}/auth`, { type: 'acme_hmac', configuration }), 201);
	assert.ok(!JSON.stringify(added.body).includes(secret));
	const path = `${new URL(made.url).pathname}/tools/ping`;
	const signed = (replica: number, body: string) => {
		const [time, nonce] = [String(Math.floor(Date.now() / 1000)), randomUUID()];
		const digest = createHash('sha256').update(body).digest('hex');
		const lines = ['POST', path, new URL(service.urls[replica] ?? '').host, time, nonce, digest];
		const signature = createHmac('sha256', secret).update(lines.join('\n')).digest('hex');
		return { 'x-acme-key': 'shop', 'x-acme-time': time, 'x-acme-nonce': nonce, 'x-acme-digest': digest, 'x-acme-signature': signature };
	};
	const post = async (replica: number, body: string, headers: Record<string, string>) =>
		(await send(service.urls[replica] + path, 'POST', { body, headers })).status;
	// The host is signed, so a proxy in front of both replicas sends one name.
	const headers = { ...signed(0, '{}'), host: new URL(service.urls[0] ?? '').host };
	const statuses = await Promise.all(Array.from({ length: 20 }, (_, one) => throughProxy(one % 2, path, '{}', headers)));
	assert.deepEqual(statuses.toSorted().map(Number), [200, ...Array(19).fill(401)]);
	assert.equal(await post(1, '{"a":1}', signed(1, '{}')), 401);
	assert.equal(await post(1, '{}', signed(1, '{}')), 200);
	const { remembered } = must(await account.get(`/gateways/${made.id}/acme-hmac/signatures`), 200).body.data;
	assert.equal(remembered, 3);
});

/** Sends a request with a Host of its own, which `fetch` does not. */
async function throughProxy(replica: number, path: string, body: string, headers: Record<string, string>): Promise<number> {
	const sent = request(service.urls[replica] + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers } });
	sent.end(body);
	const [response] = await once(sent, 'response');
	response.resume();
	return response.statusCode;
}

// ── acme-a2a ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The SDK's client of a gateway at a replica, with a key. The card names one address, so requests are sent on to the replica. */
async function agentAt(replica: number, { url, key }: { url: string; key: string }): Promise<Client> {
	const fetchImpl: typeof fetch = (input, init) => {
		const headers = new Headers(init?.headers);
		headers.set('x-api-key', key);
		return fetch(at(replica, String(input)), { ...init, headers });
	};
	const options = { transports: [new JsonRpcTransportFactory({ fetchImpl })], cardResolver: new DefaultAgentCardResolver({ fetchImpl }) };
	return new ClientFactory(options).createFromUrl(`${at(replica, url)}/.well-known/agent-card.json`, '');
}

const asking = (skill: string, args: object, configuration: object = {}) =>
	({
		tenant: '',
		message: {
			...{
				messageId: randomUUID(),
				contextId: '',
				taskId: '',
				role: Role.ROLE_USER,
				metadata: undefined,
				extensions: [],
				referenceTaskIds: [],
			},
			parts: [{ content: { $case: 'data', value: { skill, arguments: args } }, metadata: undefined, filename: '', mediaType: '' }],
		},
		configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false, ...configuration },
		metadata: undefined,
	}) as never;

test('acme-a2a: the client of A2A sends, streams, follows, cancels and is notified, over two replicas', async (t) => {
	const waiting: { end(): void; hasEnded: boolean }[] = [];
	const { origin } = await httpUpstream(t, ({ url }, response) => {
		response.setHeader('content-type', 'application/json');
		if (url !== '/slow') return void response.end('{"pong":true}');
		const one = { end: () => void response.end('{"slow":true}'), hasEnded: false };
		response.once('close', () => (one.hasEnded = true));
		waiting.push(one);
	});
	const told: { token: string | undefined; text: string }[] = [];
	const receiver = await httpUpstream(t, async (notification, response) => {
		const token = notification.headers['x-a2a-notification-token']?.toString();
		told.push({ token, text: await textOf(notification) });
		response.end();
	});
	const toolIds = [
		await createHttpTool(account, { name: 'echo', url: `${origin}/echo?text={text}`, parameters: PARAMETERS }),
		await createHttpTool(account, { name: 'slow', url: `${origin}/slow` }),
	];
	const gateway = await publishGateway(account, { type: 'acme_a2a', toolIds, configuration: { name: 'Shop' } });
	const [first, second] = [await agentAt(0, gateway), await agentAt(1, gateway)];
	const card = await first.getAgentCard();
	assert.deepEqual(
		[card.name, card.skills.map(({ id }) => id).sort(), Object.keys(card.securitySchemes)],
		['Shop', ['echo', 'slow'], ['api_key']],
	);

	const sent = await first.sendMessage(asking('echo', { text: 'hello' }));
	assert.ok('status' in sent);
	assert.equal(sent.status?.state, TaskState.TASK_STATE_COMPLETED);
	assert.deepEqual(sent.artifacts[0]?.parts[0]?.content, { $case: 'data', value: { pong: true } });
	assert.equal((await second.getTask({ tenant: '', id: sent.id })).status?.state, TaskState.TASK_STATE_COMPLETED);

	const push = { tenant: '', id: 'one', taskId: '', url: receiver.origin, token: 'a token of the client', authentication: undefined };
	const stream = first.sendMessageStream(asking('slow', {}, { taskPushNotificationConfig: push }));
	const begun = (await stream.next()).value?.payload;
	const { id } = begun?.$case === 'task' ? begun.value : assert.fail();
	await until(() => waiting.length === 1, 'the upstream is called');
	const followed = second.resubscribeTask({ tenant: '', id });
	assert.equal((await followed.next()).value?.payload?.$case, 'task');
	waiting[0]?.end();
	for (const events of [stream, followed]) {
		const kinds: unknown[] = [];
		for await (const { payload } of events) kinds.push(payload?.$case);
		assert.deepEqual(kinds.slice(-2), ['artifactUpdate', 'statusUpdate']);
	}
	await until(() => told.length === 1, 'the receiver is told');
	assert.equal(told[0]?.token, 'a token of the client');
	assert.equal(JSON.parse(told[0]?.text ?? '').statusUpdate.status.state, 'TASK_STATE_COMPLETED');

	const left = await first.sendMessage(asking('slow', {}, { returnImmediately: true }));
	assert.ok('status' in left);
	await until(() => waiting.length === 2, 'the upstream is called');
	const cancelled = await second.cancelTask({ tenant: '', id: left.id, metadata: undefined });
	assert.equal(cancelled.status?.state, TaskState.TASK_STATE_CANCELED);
	await until(() => waiting[1]?.hasEnded, 'the other replica leaves the upstream');
	assert.equal((await first.getTask({ tenant: '', id: left.id })).status?.state, TaskState.TASK_STATE_CANCELED);
	await assert.rejects(first.cancelTask({ tenant: '', id: left.id, metadata: undefined }), /ended/);
	await assert.rejects(second.getTask({ tenant: '', id: randomUUID() }), /not found/i);
	const { tasks } = await second.listTasks({
		tenant: '',
		contextId: '',
		status: TaskState.TASK_STATE_CANCELED,
		pageToken: '',
		statusTimestampAfter: undefined,
	});
	assert.deepEqual(
		tasks.map((task) => task.id),
		[left.id],
	);
});
