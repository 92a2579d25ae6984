import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import Joi from 'joi';
import type { ToolExecutor } from '../core/contract/kinds.ts';
import { GatewayError } from '../core/index.ts';
import { fakeCall } from './fake-call.ts';
import { until } from './waiting.ts';

const plugin = (more: Partial<ToolExecutor> = {}): ToolExecutor => ({
	...{ kind: 'executor', api: 1, name: 'own', summary: 'Runs what a test says.', config: Joi.object({}) },
	execute: async () => ({ content: [{ type: 'text', text: 'x' }] }),
	...more,
});

async function listen(answer: (path: string) => { status: number; body: string }) {
	const server = createServer((request, response) => {
		const { status, body } = answer(request.url ?? '');
		response.writeHead(status).end(body);
	});
	await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
	const { port } = server.address() as AddressInfo;
	const stop = async (): Promise<void> => void server.close();
	return { origin: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop };
}

test('requests go through the guard, which opens what is allowed and nothing else', async () => {
	await using upstream = await listen(() => ({ status: 200, body: 'hello' }));
	await using closed = fakeCall();
	await assert.rejects(closed.call.request({ method: 'GET', url: upstream.origin }), { code: 'egress_refused' });
	await assert.rejects(closed.call.checkUrl(upstream.origin, '/url'), { code: 'egress_refused' });
	await using open = fakeCall({ allow: ['127.0.0.1'] });
	const { body } = await open.call.request({ method: 'GET', url: upstream.origin });
	assert.equal(body.toString(), 'hello');
	await assert.rejects(open.call.request({ method: 'GET', url: 'http://169.254.169.254/' }), { code: 'egress_refused' });
});

test('values of kv are put once, and expire; a value is checked as in the service', async () => {
	await using fake = fakeCall();
	const { kv } = fake.call;
	assert.deepEqual([await kv.putIfAbsent('a', '1', 60_000), await kv.putIfAbsent('a', '2', 60_000), await kv.get('a')], [true, false, '1']);
	await kv.put('b', '1', 1);
	await new Promise((resolve) => setTimeout(resolve, 5));
	assert.equal(await kv.get('b'), null);
	await assert.rejects(kv.put('c', '1', Number.POSITIVE_INFINITY));
});

test('tools are listed and invoked by the scopes of the caller, and their arguments are checked', async () => {
	const parameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
	const tools = [{ name: 'double', parameters, run: ({ n }: { n?: unknown }) => ({ content: [], structured: { n: Number(n) * 2 } }) }];
	await using fake = fakeCall({ tools });
	assert.deepEqual(
		(await fake.call.tools()).map(({ name }) => name),
		['double'],
	);
	assert.deepEqual((await fake.call.invoke({ name: 'double' }, { n: 2 })).structured, { n: 4 });
	await assert.rejects(fake.call.invoke({ name: 'double' }, { n: 'two' }), { code: 'validation_failed' });
	await assert.rejects(fake.call.invoke({ name: 'none' }, {}), { code: 'tool_not_found' });
	await using reader = fakeCall({ tools, caller: { scopes: ['tools:read'] } });
	await assert.rejects(reader.call.invoke({ name: 'double' }, { n: 2 }), { code: 'insufficient_scope' });
});

test('jobs run in attempts, in the name of the caller, and tell their progress; a pause takes no time', async () => {
	const seen: unknown[] = [];
	const jobs = {
		work: {
			run: async (data: unknown, { attempt, call, config, progress }: Parameters<NonNullable<ToolExecutor['jobs']>[string]['run']>[1]) => {
				seen.push([data, attempt, call.caller?.subject, config]);
				progress({ attempt });
				if (attempt < 3) throw new Error('not yet');
				return { done: true };
			},
		},
	};
	await using fake = fakeCall({ plugin: plugin({ jobs }), jobs: 'by hand', config: { a: 1 } });
	const { id } = await fake.call.jobs.add('work', { n: 1 }, { key: 'once' });
	assert.equal((await fake.call.jobs.add('work', { n: 2 }, { key: 'once' })).id, id);
	assert.equal((await fake.call.jobs.get(id))?.status, 'queued');
	await fake.runJobs();
	const job = await fake.call.jobs.get(id);
	assert.deepEqual([job?.status, job?.output, job?.progress, seen.length], ['succeeded', { done: true }, { attempt: 3 }, 3]);
	assert.deepEqual(seen[0], [{ n: 1 }, 1, fake.call.caller?.subject, { a: 1 }]);
	await assert.rejects(fake.call.jobs.add('none', {}), /it declares no job none/);
});

test('a job begins by itself, is followed to its end, and one that waits can be cancelled', async () => {
	const jobs = {
		work: { run: async () => 'ok' },
		fail: {
			run: async () => {
				throw new GatewayError('validation_failed', 'Wrong.');
			},
		},
	};
	await using fake = fakeCall({ plugin: plugin({ jobs }) });
	const ends: unknown[] = [];
	for (const name of ['work', 'fail']) {
		const { id } = await fake.call.jobs.add(name, null);
		for await (const job of fake.call.jobs.follow(id, AbortSignal.timeout(60_000)))
			if (job?.finishedAt) ends.push(job.status, job.output, job.error);
	}
	assert.deepEqual(ends, ['succeeded', 'ok', null, 'failed', null, { code: 'validation_failed', message: 'Wrong.' }]);
	await using byHand = fakeCall({ plugin: plugin({ jobs }), jobs: 'by hand' });
	const { id } = await byHand.call.jobs.add('work', null);
	assert.deepEqual([await byHand.call.jobs.cancel(id), await byHand.call.jobs.cancel(id)], [true, false]);
	await byHand.runJobs();
	assert.equal((await byHand.call.jobs.get(id))?.status, 'cancelled');
});

test('a job waits for its time, runs in as many places as it declares, and ends with its deadline', async () => {
	let [running, most] = [0, 0];
	const gate = Promise.withResolvers<void>();
	const jobs = {
		work: {
			perAccount: 2,
			run: async () => {
				most = Math.max(most, ++running);
				await until(() => most > 1, 'two at once', 1);
				running -= 1;
			},
		},
		stuck: { run: () => gate.promise },
	};
	await using fake = fakeCall({ plugin: plugin({ jobs }), jobs: 'by hand' });
	const { jobs: own } = fake.call;
	const later = new Date(Date.now() + 3_600_000);
	const { id } = await own.add('work', null, { runAt: later });
	for (let at = 0; at < 5; at++) await own.add('work', at);
	await fake.runJobs();
	assert.deepEqual([(await own.get(id))?.status, most], ['waiting', 2]);
	await fake.runJobs(later);
	assert.equal((await own.get(id))?.status, 'succeeded');
	for (let at = 0; at < 2; at++) await own.add('work', at, { key: `${at}`, here: 'only' });
	await assert.rejects(own.add('work', 2, { here: 'only' }), { code: 'rate_limited' });
	assert.ok(await own.add('work', 1, { key: '1', here: 'only' }), 'one that is there is returned');
	await fake.runJobs();
	assert.ok(await own.add('work', 2, { here: 'only' }), 'a place is free');
	const stuck = await own.add('stuck', null, { deadlineMs: 20 });
	await fake.runJobs();
	const { status, error } = (await own.get(stuck.id)) ?? {};
	assert.deepEqual([status, error?.code], ['failed', 'timed_out']);
	await assert.rejects(
		async () => {
			for (let at = 0; at <= 1_000; at++) await own.add('work', at);
		},
		{ code: 'rate_limited' },
	);
});

test('a webhook is sent again until its receiver takes it', async () => {
	let count = 0;
	await using receiver = await listen(() => ({ status: ++count < 3 ? 503 : 200, body: '' }));
	await using fake = fakeCall({ allow: ['127.0.0.1'], jobs: 'by hand' });
	const { id } = await fake.call.deliver({ url: receiver.origin, body: { a: 1 } });
	await fake.runJobs();
	const delivery = await fake.call.deliveries.get(id);
	assert.deepEqual([delivery?.status, delivery?.attempts, delivery?.lastStatus, count], ['succeeded', 3, 200, 3]);
});

test('a question is answered as the test says, checked by its schema, and refused where the client cannot ask', async () => {
	const question = { message: 'How many?', schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } } as const;
	const asked = { ...question, schema: { ...question.schema, required: ['n'] } };
	await using fake = fakeCall({ ask: async () => ({ action: 'accept', content: { n: 3 } }) });
	assert.deepEqual(await fake.call.ask(asked), { action: 'accept', content: { n: 3 } });
	await using wrong = fakeCall({ ask: async () => ({ action: 'accept', content: { n: 'three' } }) });
	await assert.rejects(wrong.call.ask(asked), { code: 'validation_failed' });
	await using silent = fakeCall();
	await assert.rejects(silent.call.ask(asked), { code: 'not_implemented' });
});

test('log, progress, identity, signature and the operator’s configuration are those of the options', async () => {
	const operator = Joi.object({ size: Joi.number().default(7).description('The size.') });
	const leaving = new AbortController();
	await using fake = fakeCall({
		...{ plugin: plugin({ operator }), signal: leaving.signal, tool: { name: 'mine' } },
		sign: (request) => ({ ...request, headers: { 'x-key': 'k' } }),
		identity: { member: async (userId) => ({ method: 'own', subject: `user:${userId}`, scopes: [] }) },
	});
	const { call } = fake;
	call.log.warn({ a: 1 }, 'careful');
	call.progress(1, 2, 'half');
	assert.deepEqual(
		fake.lines.map(({ level, message }) => [level, message]),
		[['warn', 'careful']],
	);
	assert.deepEqual(fake.progress, [{ done: 1, total: 2, message: 'half' }]);
	assert.equal((await call.identity.member('7'))?.subject, 'user:7');
	assert.deepEqual((await call.sign({ method: 'GET', url: 'https://a.example' })).headers, { 'x-key': 'k' });
	assert.deepEqual([call.operator, call.tool?.name], [{ size: 7 }, 'mine']);
	leaving.abort();
	assert.ok(call.signal.aborted);
	assert.throws(() => fakeCall({ plugin: plugin({ operator }), operator: { size: 'large' } }), /size/);
});

test('its skills are listed and read like those of a gateway', async () => {
	const skills = [{ name: 'paint', body: '# Paint', files: { 'a.md': 'text', 'b.bin': Buffer.from([1]) } }];
	await using fake = fakeCall({ skills });
	const [skill] = await fake.call.skills();
	assert.deepEqual(
		skill?.files.map(({ path, isText, size }) => [path, isText, size]),
		[
			['SKILL.md', true, 55],
			['a.md', true, 4],
			['b.bin', false, 1],
		],
	);
	assert.throws(() => Object.assign(skill ?? {}, { name: 'other' }), TypeError);
	assert.match(String(await fake.call.skillFile(skill?.id ?? '', 'SKILL.md')), /^---\nname: paint\n.*# Paint$/s);
	assert.equal(await fake.call.skillFile(skill?.id ?? '', 'none'), null);
	assert.equal(await fake.call.skillFile('none', 'SKILL.md'), null);
	await using other = fakeCall({ skills, caller: { scopes: ['tools:execute'] } });
	await assert.rejects(other.call.skills(), { code: 'insufficient_scope' });
	await assert.rejects(other.call.skillFile(skill?.id ?? '', 'SKILL.md'), { code: 'insufficient_scope' });
});
