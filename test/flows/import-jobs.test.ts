// Tests imports as jobs over the public interfaces, with two replicas in this process, and with processes that are killed.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EventSource } from 'eventsource';
import { elapsing, PATIENCE_MS, until as untilTrue } from '../helpers/clock.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { type Judge, readDocument } from '../helpers/document.ts';
import { addMember } from '../helpers/members.ts';
import { freePort } from '../helpers/ports.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	type Answer,
	databaseVariables,
	must,
	registerAccount,
	SECRETS,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

const ASYNC = { prefer: 'respond-async' };
const DOCUMENT = JSON.stringify({
	openapi: '3.0.3',
	info: { title: 'Pets', version: '1' },
	paths: { '/pets': { get: { operationId: 'listPets', responses: {} } } },
});

let service: TestService;
let replica: TestService;
let account: Account;
let judge: Judge;
let origin: string;
/** Holds back the document until the test resolves it. */
let open = Promise.withResolvers<void>();
const asked: string[] = [];
const upstream = createServer((request, response) => {
	asked.push(request.url ?? '');
	if (request.url === '/held.json') void open.promise.then(() => response.end(DOCUMENT));
	else response.end(DOCUMENT);
});

before(async () => {
	await new Promise<void>((resolve) => void upstream.listen(0, '127.0.0.1', resolve));
	const address = upstream.address();
	assert.ok(address !== null && typeof address === 'object');
	origin = `http://127.0.0.1:${address.port}`;
	service = await startTestService();
	replica = await startTestService({ replicaOf: service });
	account = await registerAccount(service.url);
	judge = await readDocument(service.url);
});
after(async () => {
	open.resolve();
	upstream.closeAllConnections();
	upstream.close();
	await replica.stop();
	await service.stop();
});

const held = (): object => ({ schemaUrl: `${origin}/held.json` });

async function connect(): Promise<string> {
	return must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: origin }), 201).body.data.id;
}

/** Sends a request of the same account to the other replica. */
const there = (path: string, method = 'GET', headers: Record<string, string> = {}): Promise<Answer> =>
	send(replica.url + path, method, { headers: { authorization: `Bearer ${account.token}`, ...headers } });

async function begin(api: string, body: object = held()): Promise<string> {
	const answer = must(await account.post(`/apis/${api}/import-schema`, body, ASYNC), 202);
	assert.equal(judge.fault('POST /apis/{id}/import-schema', answer), null);
	const path = `/apis/${api}/imports/${answer.body.data.id}`;
	assert.equal(answer.headers.get('location'), path);
	assert.equal(answer.headers.get('retry-after'), '1');
	return path;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
async function until(path: string, is: (job: any) => boolean, url = service.url): Promise<any> {
	for (const isOver = elapsing(PATIENCE_MS); ; ) {
		const answer = await send(url + path, 'GET', { headers: { authorization: `Bearer ${account.token}` } });
		const job = must(answer, 200).body.data;
		if (is(job)) return job;
		assert.ok(!isOver(), `still ${JSON.stringify(job)}`);
		await sleep(50);
	}
}

const isOver = ({ finishedAt }: { finishedAt: string | null }): boolean => finishedAt !== null;

test('who asks for it gets a 202, and finds the job on every replica, with its end and what it wrote', async () => {
	const api = await connect();
	const path = await begin(api, { schemaContent: DOCUMENT, generateTools: true });
	const job = await until(path, isOver, replica.url);
	assert.deepEqual([job.status, job.phase, job.operations, job.error], ['succeeded', 'tools', 1, null]);
	assert.deepEqual(job.tools, { created: 1, updated: 0, unchanged: 0, total: 1 });
	assert.equal(judge.fault('GET /apis/{id}/imports/{importId}', await account.get(path)), null);
	const schema = must(await account.get(`/apis/${api}/schemas/${job.schemaId}`), 200).body.data;
	assert.deepEqual([schema.report.operations, schema.changes.added], [[], 1]);
	const list = must(await account.get(`/apis/${api}/imports?status=succeeded`), 200);
	assert.equal(judge.fault('GET /apis/{id}/imports', list), null);
	assert.deepEqual(list.body.data.imports, [job]);
	assert.deepEqual(must(await account.get(`/apis/${api}/imports?status=failed`), 200).body.data.imports, []);
});

test('an import that is not done within the time that the client waits goes on as a job', async () => {
	open = Promise.withResolvers();
	const api = await connect();
	const isTime = elapsing(990);
	const answer = must(await account.post(`/apis/${api}/import-schema`, held(), { prefer: 'return=minimal, wait="1"' }), 202);
	assert.ok(isTime(), 'it did not wait');
	const path = answer.headers.get('location') ?? '';
	assert.deepEqual([answer.body.data.status, answer.body.data.phase], ['running', 'fetching']);
	open.resolve();
	assert.equal((await until(path, isOver)).status, 'succeeded');
});

test('an answer says which preferences were kept to (RFC 7240, section 3)', async () => {
	open = Promise.withResolvers();
	const prefer = async (preferences: string, body: object = { schemaContent: DOCUMENT }): Promise<[number, string | null]> => {
		const { status, headers } = await account.post(`/apis/${await connect()}/import-schema`, body, { prefer: preferences });
		return [status, headers.get('preference-applied')];
	};
	assert.deepEqual(await prefer('handling=lenient'), [200, null]);
	assert.deepEqual(await prefer('wait=9000'), [200, 'wait=300']);
	assert.deepEqual(await prefer('respond-async, wait=10'), [200, 'wait=10']);
	assert.deepEqual(await prefer('respond-async, wait=1', held()), [202, 'respond-async, wait=1']);
	assert.deepEqual(await prefer('Respond-Async; a=b', held()), [202, 'respond-async']);
	assert.deepEqual(await prefer('respond-async=""', held()), [202, 'respond-async']);
	assert.deepEqual(await prefer('note="x, respond-async, wait=1", wait=20, wait=1'), [200, 'wait=20']);
	open.resolve();
});

test('while an import is under way, the next one waits for it, and then gets an error that names it', async () => {
	open = Promise.withResolvers();
	const api = await connect();
	const path = await begin(api);
	for (const headers of [ASYNC, { prefer: 'wait=1' }]) {
		const answer = await account.post(`/apis/${api}/import-schema`, { schemaContent: DOCUMENT }, headers);
		assert.deepEqual([answer.status, answer.body.error], [409, 'CONFLICT']);
		assert.match(answer.body.message, new RegExp(path.split('/').at(-1) ?? '?'));
		assert.equal(judge.fault('POST /apis/{id}/import-schema', answer), null);
	}
	const waiting = account.post(`/apis/${api}/import-schema`, { schemaContent: DOCUMENT });
	await sleep(200);
	open.resolve();
	must(await waiting, 200);
	assert.equal((await until(path, isOver)).status, 'succeeded');
});

test('of fifty that do not wait, over two replicas, one runs', async () => {
	open = Promise.withResolvers();
	const api = await connect();
	const answers = await Promise.all(
		Array.from({ length: 50 }, (_, index) =>
			send(`${(index % 2 ? service : replica).url}/apis/${api}/import-schema`, 'POST', {
				body: held(),
				headers: { authorization: `Bearer ${account.token}`, ...ASYNC },
			}),
		),
	);
	const counted = Object.groupBy(answers, ({ status }) => String(status));
	assert.deepEqual([counted['202']?.length, counted['409']?.length], [1, 49]);
	assert.equal(must(await account.get(`/apis/${api}/imports`), 200).body.data.imports.length, 1);
	open.resolve();
	await until(counted['202']?.[0]?.headers.get('location') ?? '', isOver);
});

test('a job is cancelled on another replica at once, nothing of it stays, and afterwards it cannot be', async () => {
	open = Promise.withResolvers();
	const api = await connect();
	const path = await begin(api);
	await until(path, ({ status }) => status === 'running');
	const cancelled = must(await there(`${path}/cancel`, 'POST'), 200);
	assert.equal(judge.fault('POST /apis/{id}/imports/{importId}/cancel', cancelled), null);
	assert.equal(cancelled.body.data.status, 'cancelled');
	must(await account.post(`${path}/cancel`), 200);
	open.resolve();
	must(await account.post(`/apis/${api}/import-schema`, { schemaContent: DOCUMENT }), 200);
	const [, done] = must(await account.get(`/apis/${api}/imports`), 200).body.data.imports;
	const late = await account.post(`/apis/${api}/imports/${done.id}/cancel`);
	assert.deepEqual([late.status, late.body.error], [409, 'CONFLICT']);
	assert.equal(must(await account.get(`/apis/${api}/schemas`), 200).body.data.schemas.length, 1);
});

interface Seen {
	type: string;
	// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
	job: any;
}

/** Follows a stream with a client written after the standard. Resolves with the last event. */
function follow(url: string, seen: Seen[], headers: Record<string, string> = {}): { source: EventSource; done: Promise<void> } {
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	const source = new EventSource(url, {
		fetch: (address, init) =>
			fetch(address, { ...init, headers: { ...init.headers, authorization: `Bearer ${account.token}`, ...headers } }),
	});
	const note = ({ type, data }: MessageEvent): void => void seen.push({ type, job: JSON.parse(data) });
	source.addEventListener('progress', note);
	source.addEventListener('done', (event) => {
		note(event);
		source.close();
		resolve();
	});
	source.addEventListener('error', ({ code, message }) => (code === undefined ? undefined : reject(new Error(`${code} ${message}`))));
	return { source, done: promise };
}

test('progress comes as events from the other replica, and the last one is the end', async () => {
	open = Promise.withResolvers();
	const api = await connect();
	const path = await begin(api);
	const seen: Seen[] = [];
	const { done } = follow(`${replica.url}${path}/events`, seen, { 'accept-encoding': 'gzip, br' });
	while (seen.length === 0) await sleep(20);
	open.resolve();
	await done;
	assert.deepEqual([...new Set(seen.slice(0, -1).map(({ type }) => type))], ['progress']);
	assert.deepEqual(seen.at(-1), { type: 'done', job: must(await account.get(path), 200).body.data });
	assert.equal(seen.at(-1)?.job.status, 'succeeded');
	const again: Seen[] = [];
	await follow(`${service.url}${path}/events`, again).done;
	assert.deepEqual(
		again.map(({ type }) => type),
		['done'],
		'of a job that has ended, the end alone',
	);
});

test('a client that reconnects gets only new events, and after the last one learns that no more will come', async () => {
	open = Promise.withResolvers();
	const api = await connect();
	const path = await begin(api);
	await until(path, ({ phase }) => phase === 'fetching');
	const listen = (id: string | null): Promise<Response> =>
		fetch(`${replica.url}${path}/events`, {
			headers: { authorization: `Bearer ${account.token}`, ...(id !== null && { 'last-event-id': id }) },
		});
	const idsOf = (text: string): string[] => [...text.matchAll(/^id: (.+)$/gm)].map(([, id = '']) => id);
	const first = await listen(null);
	const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail();
	let begun = '';
	while (idsOf(begun).length === 0) begun += (await reader.read()).value ?? assert.fail('it ended');
	await reader.cancel();
	const [known = ''] = idsOf(begun);
	const again = (await listen(known)).text();
	await sleep(500);
	open.resolve();
	const told = idsOf(await again);
	assert.ok(told.length > 0 && !told.includes(known), `told again: ${told}`);
	const last = await listen(told.at(-1) ?? '');
	assert.deepEqual([last.status, await last.text()], [204, '']);
	const other = await listen(known);
	assert.deepEqual(idsOf(await other.text()), told.slice(-1), 'the end is not lost');
});

test('a stream is neither compressed nor kept, says that it is alive, and ends with the service', async () => {
	open = Promise.withResolvers();
	const leaving = await startTestService({ replicaOf: service });
	const path = await begin(await connect());
	const headers = { authorization: `Bearer ${account.token}`, 'accept-encoding': 'gzip' };
	const response = await fetch(`${leaving.url}${path}/events`, { headers });
	assert.equal(response.status, 200);
	assert.equal(response.headers.get('content-type')?.split(';')[0], 'text/event-stream');
	assert.notEqual(response.headers.get('content-encoding'), 'gzip');
	assert.match(response.headers.get('cache-control') ?? '', /no-store/);
	const reading = response.text();
	await sleep(5_500);
	// The import goes on, yet does not keep the service from stopping.
	await leaving.stop();
	assert.match(await reading, /^retry: 2000\n\nid: [\w-]{22}\nevent: progress\ndata: \{.*\}\n\n(?:.|\n)*: still there\n\n/);
	open.resolve();
	await until(path, isOver);
});

test('a client that reads nothing of its stream does not keep the service from stopping', async () => {
	open = Promise.withResolvers();
	const leaving = await startTestService({ replicaOf: service });
	const path = await begin(await connect());
	const client = createConnection(Number(new URL(leaving.url).port), '127.0.0.1').pause();
	client.once('error', () => undefined);
	client.write(`GET ${path}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.token}\r\n\r\n`);
	await sleep(1_000);
	// The client leaves only when the service has stopped.
	await leaving.stop();
	client.destroy();
	open.resolve();
	await until(path, isOver);
});

test('an account has so many streams open at one replica, and one that is left makes room', async () => {
	open = Promise.withResolvers();
	const path = await begin(await connect());
	const headers = { authorization: `Bearer ${account.token}` };
	for (let index = 0; index < 101; index++) await fetch(`${service.url}${path}/events`, { method: 'HEAD', headers });
	const left = Array.from({ length: 100 }, () => new AbortController());
	const streams = await Promise.all(left.map(({ signal }) => fetch(`${service.url}${path}/events`, { headers, signal })));
	assert.ok(streams.every(({ status }) => status === 200));
	const refused = await account.get(`${path}/events`);
	assert.deepEqual([refused.status, refused.body.error, refused.headers.get('retry-after')], [429, 'RATE_LIMITED', '10']);
	const [first] = left;
	first?.abort();
	const isLong = elapsing(PATIENCE_MS);
	const room = new AbortController();
	for (;;) {
		const next = await fetch(`${service.url}${path}/events`, { headers, signal: room.signal });
		if (next.status === 200) break;
		assert.ok(!isLong(), 'the place is not given back');
		await sleep(50);
	}
	for (const each of [...left, room]) each.abort();
	open.resolve();
	await until(path, isOver);
});

test('of another organization, of another API, or of none, an import is a 404; a viewer may look and not cancel', async () => {
	open = Promise.withResolvers();
	const api = await connect();
	const path = await begin(api);
	const [, , , , id] = path.split('/');
	const stranger = await registerAccount(service.url);
	const other = await connect();
	for (const rest of ['', '/events', '/cancel']) {
		const ask = (who: Account, where: string) => (rest === '/cancel' ? who.post(where + rest) : who.get(where + rest));
		assert.equal((await ask(stranger, path)).status, 404);
		for (const bad of [`/apis/${other}/imports/${id}`, `/apis/${api}/imports/${api}`, `/apis/${api}/imports/x`, `/apis/x/imports/${id}`])
			assert.equal((await ask(account, bad)).status, 404, bad + rest);
	}
	const viewer = await addMember(account, 'viewer');
	const here = { 'x-organization-id': account.organization.id };
	must(await viewer.get(path, here), 200);
	must(await viewer.post(`${path}/cancel`, undefined, here), 403);
	assert.equal(must(await account.get(path), 200).body.data.finishedAt, null);
	open.resolve();
	await until(path, isOver);
});

test('an API that is removed while it is imported leaves nothing, and its stream ends', async () => {
	open = Promise.withResolvers();
	const api = await connect();
	const path = await begin(api);
	const stream = await fetch(`${replica.url}${path}/events`, { headers: { authorization: `Bearer ${account.token}` } });
	must(await account.del(`/apis/${api}`), 200);
	assert.ok(!(await stream.text()).includes('event: done'));
	must(await account.get(path), 404);
	open.resolve();
});

// ── processes ──────────────────────────────────────────────────────────────────────────────────────────────────────

const MAIN = fileURLToPath(new URL('../../core/main.ts', import.meta.url));

async function startProcess(folder: string): Promise<{ child: ChildProcess; url: string }> {
	const { database, redis } = service.config;
	assert.ok(database && redis);
	const port = await freePort();
	const child = spawn(process.execPath, [MAIN], {
		env: {
			PATH: process.env['PATH'],
			...COMPILE_CACHE,
			...databaseVariables(database),
			...SECRETS,
			REDIS_HOST: redis.host,
			REDIS_PORT: String(redis.port),
			HOST: '127.0.0.1',
			PORT: String(port),
			EGRESS_ALLOW: '127.0.0.1',
			SVC_DATA_DIR: folder,
			LOG_LEVEL: 'fatal',
		},
		stdio: 'ignore',
	});
	const url = `http://127.0.0.1:${port}`;
	const isReady = async (): Promise<boolean> => (await send(`${url}/health/ready`, 'GET').catch(() => null))?.status === 200;
	await untilTrue(isReady, 'the process serves', 100).catch((error) => {
		child.kill('SIGKILL');
		throw error;
	});
	return { child, url };
}

test('a process that is killed in the middle of an import leaves nothing half done: another one imports it', async () => {
	open = Promise.withResolvers();
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-imports-'));
	const { child, url } = await startProcess(folder);
	try {
		const api = await connect();
		const before = asked.length;
		const answer = await send(`${url}/apis/${api}/import-schema`, 'POST', {
			body: { ...held(), generateTools: true },
			headers: { authorization: `Bearer ${account.token}`, ...ASYNC },
		});
		const path = must(answer, 202).headers.get('location') ?? '';
		while (asked.length === before) await sleep(20);
		child.kill('SIGKILL');
		assert.deepEqual(must(await account.get(`/apis/${api}/operations`), 200).body.data.operations, []);
		// It has 35 s to keep its import, which are over here.
		const id = path.split('/').at(-1);
		await administer(
			service.config.database ?? assert.fail(),
			`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${id}'`,
		);
		open.resolve();
		const job = await until(path, isOver);
		assert.deepEqual([job.status, job.tools.total], ['succeeded', 1]);
		assert.equal(must(await account.get(`/apis/${api}/schemas`), 200).body.data.schemas.length, 1);
		assert.equal(asked.length, before + 2, 'it was fetched once more');
	} finally {
		child.kill('SIGKILL');
		rmSync(folder, { recursive: true, force: true });
	}
});

test('an import whose run was removed by age is shown as it ended, cannot be cancelled, and goes with its API', async () => {
	const api = await connect();
	const path = await begin(api, { schemaUrl: `${origin}/open.json` });
	const job = await until(path, isOver);
	// The retention of runs may be shorter than that of imports.
	const id = path.split('/').at(-1);
	const database = service.config.database ?? assert.fail();
	assert.equal((await administer(database, `DELETE FROM runs WHERE id = '${id}' RETURNING id`)).length, 1);
	assert.deepEqual(must(await there(path), 200).body.data, job);
	assert.equal(must(await account.get(`/apis/${api}/imports`), 200).body.data.imports[0].status, 'succeeded');
	must(await account.post(`${path}/cancel`), 409);
	must(await account.post(`/apis/${api}/import-schema`, { schemaUrl: `${origin}/open.json` }), 200);
	must(await account.del(`/apis/${api}`), 200);
	must(await there(path), 404);
});
