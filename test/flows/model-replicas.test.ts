// Tests two replicas with the same model connections: sessions, keys, the lane of a provider, and where local models may be.

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { after, before, type TestContext, test } from 'node:test';
import { type Account, must, registerAccount, type SharedService, send, startTestService, type TestService } from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let first: SharedService;
let second: TestService;
let account: Account;

before(async () => {
	first = await startTestService();
	second = await startTestService({ replicaOf: first });
	account = await registerAccount(first.url);
});
after(async () => {
	await second.stop();
	await first.stop();
});

interface Asked {
	messages: { role: string; content: string }[];
	key: string | undefined;
}

/** A model that says how many messages it was sent. */
async function countingModel(t: TestContext, hold: (request: IncomingMessage) => Promise<void> = async () => undefined) {
	const asked: Asked[] = [];
	const { origin } = await httpUpstream(t, async (request, response) => {
		const { messages } = JSON.parse(await textOf(request)) as Pick<Asked, 'messages'>;
		asked.push({ messages, key: request.headers.authorization });
		await hold(request);
		const message = { role: 'assistant', content: `answer ${messages.length}` };
		response.setHeader('content-type', 'application/json');
		response.end(JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] }));
	});
	return { origin, asked };
}

const connect = async (baseUrl: string, more: object = {}): Promise<string> => {
	const body = { name: 'Models', provider: 'custom', apiKey: 'key-one', baseUrl, model: 'small', ...more };
	return `/llm-providers/${must(await account.post('/llm-providers', body), 201).body.data.id}`;
};
const at = (service: SharedService, path: string, body: unknown, method = 'POST') =>
	send(service.url + path, method, { body, headers: { authorization: `Bearer ${account.token}` } });

test('turns of a session alternate between the replicas, each with all that was said before', async (t) => {
	const { origin, asked } = await countingModel(t);
	const path = await connect(origin);
	for (const [turn, service] of [first, second, first, second].entries())
		must(await at(service, `${path}/chat`, { message: `turn ${turn}`, sessionId: 's' }), 200);
	assert.deepEqual(
		asked.map(({ messages }) => messages.length),
		[1, 3, 5, 7],
	);
	const said = asked[3]?.messages.map(({ content }) => content);
	assert.deepEqual(said, ['turn 0', 'answer 1', 'turn 1', 'answer 3', 'turn 2', 'answer 5', 'turn 3']);
	const { turns } = must(await at(second, `${path}/sessions/s`, undefined, 'GET'), 200).body.data;
	assert.equal(turns, 4);
});

test('a key changed at one replica is used by the other within a second', async (t) => {
	const { origin, asked } = await countingModel(t);
	const path = await connect(origin);
	must(await at(second, `${path}/chat`, { message: 'x' }), 200);
	must(await account.patch(path, { apiKey: 'key-two' }), 200);
	await soon(async () => {
		must(await at(second, `${path}/chat`, { message: 'x' }), 200);
		return asked.at(-1)?.key === 'Bearer key-two';
	}, 'the new key');
	assert.equal(asked[0]?.key, 'Bearer key-one');
});

test('a provider is never asked more often at once than its limit allows, by both replicas together', async (t) => {
	let [open, most] = [0, 0];
	const { origin, asked } = await countingModel(t, async () => {
		open += 1;
		most = Math.max(most, open);
		// Others that the limit does not hold back arrive meanwhile.
		await new Promise((resolve) => setTimeout(resolve, 30));
		open -= 1;
	});
	const path = await connect(origin, { outbound: { maxConcurrent: 2, maxQueued: 100, maxWaitMs: 60_000 } });
	const chats = Array.from({ length: 16 }, (_, index) => at(index % 2 === 0 ? first : second, `${path}/chat`, { message: 'x' }));
	for (const answer of await Promise.all(chats)) must(answer, 200);
	assert.deepEqual([asked.length, most], [16, 2]);
});

test('a local model may be on loopback where the operator allows it, nothing else may, and metadata never', async (t) => {
	const { origin } = await countingModel(t);
	const env = { LOCALMODEL_ALLOW_PRIVATE_URLS: 'true', EGRESS_ALLOW: 'https://nothing.example' };
	const open = await startTestService({ replicaOf: first, env });
	t.after(() => open.stop());
	const create = (provider: string, baseUrl: string) =>
		at(open, '/llm-providers', { name: 'm', provider, ...(provider !== 'local' && { apiKey: 'k' }), baseUrl, model: 'small' });
	const { id } = must(await create('local', origin), 201).body.data;
	assert.equal(must(await at(open, `/llm-providers/${id}/chat`, { message: 'x' }), 200).body.data.message, 'answer 1');
	const refused = await Promise.all([
		...['openai', 'anthropic', 'custom'].map((provider) => create(provider, origin)),
		...['http://169.254.169.254/v1', 'http://[fd00:ec2::254]/v1', 'http://[::ffff:a9fe:a9fe]/v1', 'http://0xa9fea9fe/v1'].map((url) =>
			create('local', url),
		),
		...[origin.replace('//', '//user:pass@'), 'file:///etc/passwd', `${origin}:99999`].map((url) => create('local', url)),
		create('local', 'http://127.0.0.1:6379/v1'),
	]);
	assert.deepEqual(
		refused.map(({ status, body }) => [status, body.details?.[0]?.path]),
		refused.map(() => [400, '/baseUrl']),
	);
	const shut = await startTestService({ replicaOf: first, env: { EGRESS_ALLOW: 'https://nothing.example' } });
	t.after(() => shut.stop());
	const { status, body } = await at(shut, `/llm-providers/${id}/chat`, { message: 'x' });
	assert.deepEqual([status, body.error], [400, 'EGRESS_REFUSED'], 'a connection that was saved before');
});
