// Tests of webhooks that start agents, and of links in mails: signatures, replays, what is shown once, and what never is in the log.

import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { epochSeconds, until } from '../../../test/helpers/clock.ts';
import { addMember } from '../../../test/helpers/members.ts';
import { administer } from '../../../test/helpers/postgres.ts';
import { type Account, must, registerAccount, send, startTestService, type TestService } from '../../../test/helpers/service.ts';
import { startSmtp, type TestSmtp } from '../../../test/helpers/smtp.ts';
import { tagOf } from '../../../test/helpers/versions.ts';

/** Every line of the log, at its finest level. */
const lines: string[] = [];
/** The texts that no line may hold. */
const canaries: string[] = ['prompt-canary'];
let smtp: TestSmtp;
let service: TestService;
let account: Account;
before(async () => {
	smtp = await startSmtp();
	service = await startTestService({ env: smtp.env, onLog: (line) => void lines.push(line) });
	account = await registerAccount(service.url);
});
after(async () => {
	await service.stop();
	await smtp.stop();
});

const SCHEMA = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const pipelineOf = (...middle: { id: string; type: string; data: object }[]) => {
	const nodes = [
		{ id: 'in', type: 'input', data: { schema: SCHEMA } },
		...middle,
		{ id: 'out', type: 'output', data: { mapping: { name: '{{input.name}}' } } },
	];
	return { nodes, edges: nodes.slice(1).map(({ id }, at) => ({ id: `e${at}`, source: nodes[at]?.id ?? '', target: id })) };
};

interface Hook {
	id: string;
	secret: string;
	path: string;
	agent: string;
}

async function makeHook(more: object = {}): Promise<Hook> {
	const agent = must(await account.post('/agents', { name: 'Orders', pipeline: pipelineOf() }), 201).body.data.id;
	const made = must(await account.post(`/agents/${agent}/webhooks`, { name: 'Shop', ...more }), 201).body.data;
	assert.equal(new URL(made.url).pathname, `/webhooks/${made.id}`);
	return { id: made.id, secret: made.secret, path: `/agents/${agent}/webhooks/${made.id}`, agent: `/agents/${agent}` };
}

const BODY = '{"name":"Ada"}';

function standard(
	{ secret }: { secret: string },
	body: string,
	{ id = randomUUID() as string, laterSeconds = 0 } = {},
): Record<string, string> {
	const seconds = String(epochSeconds() + laterSeconds);
	const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
	const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
	return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,AAAA v1,${signature}` };
}

const plain = ({ secret }: { secret: string }, body: string): Record<string, string> => ({
	'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
});

const post = (id: string, body: string, headers: Record<string, string>) =>
	send(`${service.url}/webhooks/${id}`, 'POST', { body, headers: { 'content-type': 'application/json', ...headers } });

const total = async (agent: string): Promise<number> => must(await account.get(agent), 200).body.data.totalExecutions;

test('a signed message starts the agent, as a webhook, under its name', async () => {
	const hook = await makeHook();
	const { body } = must(await post(hook.id, BODY, standard(hook, BODY)), 202);
	const shown = async () => must(await account.get(`${hook.agent}/executions/${body.data.executionId}`), 200).body.data;
	await until(async () => (await shown()).status === 'success', 'the end');
	const { trigger, startedBy, input, output } = await shown();
	assert.deepEqual([trigger, startedBy, input, output], ['webhook', 'Shop', { name: 'Ada' }, { name: 'Ada' }]);
});

test('what is not signed by the secret, now, is refused and starts nothing', async () => {
	const hook = await makeHook();
	const other = await makeHook();
	const signed = standard(hook, BODY);
	const bad: [id: string, body: string, headers: Record<string, string>][] = [
		['no signature', BODY, {}],
		['another body', '{"name":"Eve"}', signed],
		['another secret', BODY, standard(other, BODY)],
		['another id', BODY, { ...signed, 'webhook-id': 'other' }],
		['another time', BODY, { ...signed, 'webhook-timestamp': String(Number(signed['webhook-timestamp']) + 1) }],
		['an old time', BODY, standard(hook, BODY, { laterSeconds: -360 })],
		['a time to come', BODY, standard(hook, BODY, { laterSeconds: 360 })],
		['the other scheme', BODY, plain(hook, BODY)],
	];
	for (const [id, body, headers] of bad) assert.equal((await post(hook.id, body, headers)).status, 401, id);
	assert.equal((await post(randomUUID(), BODY, signed)).status, 404);
	assert.equal((await post('x', BODY, signed)).status, 404);
	assert.equal(await total(hook.agent), 0);
});

test('a message that is sent again starts nothing anew, whatever else it carries; neither does one under the same key', async () => {
	const hook = await makeHook();
	const signed = standard(hook, BODY);
	const first = must(await post(hook.id, BODY, signed), 202).body.data.executionId;
	for (const more of [{}, { 'idempotency-key': 'x' }, { 'idempotency-key': 'y' }])
		assert.equal(must(await post(hook.id, BODY, { ...signed, ...more }), 202).body.data.executionId, first);
	assert.equal(await total(hook.agent), 1);
	const key = { 'idempotency-key': 'order-1' };
	const sent = await Promise.all([1, 2, 3].map(() => post(hook.id, BODY, { ...standard(hook, BODY), ...key })));
	const ids = new Set(sent.map((answer) => must(answer, 202).body.data.executionId));
	assert.equal(ids.size, 1);
	assert.equal(await total(hook.agent), 2);
});

test('the plain scheme takes equal bodies once', async () => {
	const hook = await makeHook({ scheme: 'sha256', secret: 'a-secret-of-the-sender' });
	assert.equal(hook.secret, 'a-secret-of-the-sender');
	const first = must(await post(hook.id, BODY, plain(hook, BODY)), 202).body.data.executionId;
	const again = must(await post(hook.id, BODY, { ...plain(hook, BODY), 'idempotency-key': 'other' }), 202).body.data.executionId;
	const next = must(await post(hook.id, '{"name":"Bob"}', plain(hook, '{"name":"Bob"}')), 202).body.data.executionId;
	assert.deepEqual([again === first, next === first], [true, false]);
	assert.equal((await post(hook.id, BODY, { 'x-hub-signature-256': 'sha256=00' })).status, 401);
});

test('a long integer of a message is a text with all its digits in the input', async () => {
	const hook = await makeHook();
	const body = '{"name":1234567890123456789}';
	const { executionId } = must(await post(hook.id, body, standard(hook, body)), 202).body.data;
	assert.deepEqual(must(await account.get(`${hook.agent}/executions/${executionId}`), 200).body.data.input, {
		name: '1234567890123456789',
	});
});

test('a signed message that is no input is a 400 that names the field', async () => {
	const hook = await makeHook();
	const ask = (body: string, type = 'application/json') => post(hook.id, body, { ...standard(hook, body), 'content-type': type });
	const [wrong, list, text, form] = [await ask('{"name":7}'), await ask('[]'), await ask('{'), await ask(BODY, 'text/plain')];
	assert.deepEqual([wrong.status, wrong.body.details[0].path], [400, '/name']);
	assert.deepEqual([list.status, text.status, form.status], [400, 400, 415]);
	must(await account.patch(hook.path, { status: 'inactive' }), 200);
	assert.equal((await ask(BODY)).status, 409);
	must(await account.patch(hook.path, { status: 'active' }), 200);
	must(await account.post(`${hook.agent}/deactivate`, undefined), 200);
	assert.equal((await ask(BODY)).status, 409);
});

test('a secret is shown once, replaced at once, and is nowhere else', async () => {
	const hook = await makeHook();
	const shown = JSON.stringify([
		must(await account.get(hook.path), 200).body,
		must(await account.get(`${hook.agent}/webhooks`), 200).body,
		must(await account.patch(hook.path, { name: 'Other' }), 200).body,
	]);
	assert.ok(!shown.includes(hook.secret) && !shown.includes('"secret"'));
	const { secret } = must(await account.post(`${hook.path}/secret`, undefined), 200).body.data;
	assert.notEqual(secret, hook.secret);
	assert.equal((await post(hook.id, BODY, standard(hook, BODY))).status, 401);
	must(await post(hook.id, BODY, standard({ secret }, BODY)), 202);
	const bad = await account.post(`${hook.path}/secret`, { secret: 'whsec_AAAAAAAAAAAAAA==' });
	assert.deepEqual([bad.status, bad.body.details[0].path], [400, '/secret']);
	const entries = must(await account.get(`${hook.agent}/audit-log`), 200).body.data.entries;
	assert.ok(entries.some(({ changes }: { changes: Record<string, unknown> }) => JSON.stringify(changes['secret']) === '{"changed":true}'));
	const rows = JSON.stringify(await administer(service.config.database ?? assert.fail(), 'SELECT * FROM agent_webhooks'));
	canaries.push(secret, hook.secret);
	for (const text of [rows, JSON.stringify(entries)]) assert.ok(!text.includes(secret) && !text.includes(hook.secret));
	must(await account.del(hook.path, undefined, { 'if-match': tagOf(99) }), 412);
	must(await account.del(hook.path), 200);
	assert.equal((await post(hook.id, BODY, standard({ secret }, BODY))).status, 404);
});

test('calls are counted by webhook, and bad signatures by address', async () => {
	const limits = { global: { max: 1000, seconds: 60 }, categories: { health: null }, invoke: { max: 2, seconds: 60 }, gateways: null };
	const strict = await startTestService({ replicaOf: service, limits });
	try {
		const [one, two] = [await makeHook(), await makeHook()];
		const ask = (hook: Hook) =>
			send(`${strict.url}/webhooks/${hook.id}`, 'POST', {
				body: BODY,
				headers: { 'content-type': 'application/json', ...standard(hook, BODY) },
			});
		assert.deepEqual([(await ask(one)).status, (await ask(one)).status, (await ask(one)).status], [202, 202, 429]);
		assert.equal((await ask(two)).status, 202);
	} finally {
		await strict.stop();
	}
});

test('a link in a mail shows the question and answers it, once, for its member alone', async () => {
	const bob = await addMember(account, 'member');
	assert.match((await smtp.next()).mail.text ?? '', /invites you/);
	const data = { message: 'Ship to {{input.name}}?', approvers: { emails: [bob.email] } };
	const agent = must(await account.post('/agents', { name: 'Shipping', pipeline: pipelineOf({ id: 'ask', type: 'approval', data }) }), 201)
		.body.data;
	const begin = async () => {
		const { url } = must(await account.post(`/agents/${agent.id}/invoke?async=true`, { input: { name: 'prompt-canary' } }), 202).body.data;
		const { to, mail } = await smtp.next();
		assert.deepEqual(to, [bob.email]);
		assert.match(mail.text ?? '', /Ship to prompt-canary\?/);
		const [, token = ''] = /\/approvals#token=(\S+)/.exec(mail.text ?? '') ?? [];
		canaries.push(token);
		return { url, token };
	};
	const ask = (path: string, body: object) => send(`${service.url}/approvals/${path}`, 'POST', { body });
	const { url, token } = await begin();
	const { approval, agentName } = must(await ask('look', { token }), 200).body.data;
	assert.deepEqual([approval.message, agentName], ['Ship to prompt-canary?', 'Shipping']);
	assert.equal((await ask('answer', { token, answer: { approved: 'x' } })).status, 400);
	for (const bad of [`${token}x`, token.replace('.', 'A.'), 'svc_apr_x', ''])
		assert.deepEqual((await ask('answer', { token: bad, answer: { approved: true } })).body.details?.[0]?.path, '/token', bad);
	const sent = await Promise.all([true, false].map((approved) => ask('answer', { token, answer: { approved } })));
	assert.deepEqual(sent.map(({ status }) => status).sort(), [200, 409]);
	assert.equal((await ask('look', { token })).status, 409);
	await until(async () => (await account.get(url)).body.data.status !== 'running', 'the end');
	const [entry] = must(await account.get(`/agents/${agent.id}/audit-log`), 200).body.data.entries;
	assert.deepEqual([entry.resourceType, entry.actor.email], ['agent_approval', bob.email]);

	const second = await begin();
	const { id } = must(await bob.get('/auth/profile'), 200).body.data;
	must(await account.del(`/organizations/${account.organization.id}/members/${id}`), 200);
	assert.equal((await ask('answer', { token: second.token, answer: { approved: true } })).status, 400);
	const page = await fetch(`${service.url}/approvals`);
	assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
	assert.match(await page.text(), /approvals\/page\.js/);
});

test('no line of the log holds an input, an output, a secret or a link', () => {
	assert.ok(
		lines.some((line) => line.includes('/webhooks/')),
		'the log was seen',
	);
	const log = lines.join('\n');
	for (const canary of canaries) assert.ok(!log.includes(canary), canary);
});
