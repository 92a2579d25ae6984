// Tests webhooks that a plugin sends: signed, repeated until the receiver takes them, through the guard, and with nothing told by a row.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, type TestContext, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { administer } from '../helpers/postgres.ts';
import { type Account, must, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const KEY = Buffer.from('canary-of-a-webhook-with-more-than-24-bytes');
const SECRET = `whsec_${KEY.toString('base64')}`;
const logs: string[] = [];

let packages: InstalledPackages;
let service: TestService;
let owner: Account;
let desk: Awaited<ReturnType<typeof publishGateway>>;

before(async () => {
	packages = installPackages('jobs-plugin');
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') }, onLog: (line) => logs.push(line) });
	owner = await registerAccount(service.url);
	desk = await publishGateway(owner, { type: 'jobs_desk' });
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

const ask = (method: string, path: string, body?: unknown, at = desk) =>
	send(`${at.url}${path}`, method, { ...(body !== undefined && { body }), headers: { 'x-api-key': at.key } });
const deliver = async (body: object): Promise<string> => must(await ask('POST', '/webhooks', body), 202).body.id;
const look = async (id: string) => must(await ask('GET', `/webhooks/${id}`), 200).body;
// biome-ignore lint/suspicious/noExplicitAny: deliveries are what is looked into
async function ended(id: string): Promise<any> {
	await until(async () => (await look(id)).finishedAt !== null, 'the delivery ends');
	return look(id);
}

interface Got {
	method: string;
	url: string;
	headers: IncomingMessage['headers'];
	body: string;
}

/** Starts a receiver that answers its requests in this order, the last way for ever. */
async function receiver(t: TestContext, ...ways: ((response: ServerResponse) => void)[]): Promise<{ origin: string; got: Got[] }> {
	const got: Got[] = [];
	const { origin } = await httpUpstream(t, async (request, response) => {
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk as Buffer);
		const { method = '', url = '', headers } = request;
		got.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
		(ways[got.length - 1] ?? ways.at(-1))?.(response);
	});
	return { origin, got };
}

const status =
	(code: number, headers: Record<string, string> = {}) =>
	(response: ServerResponse): void =>
		void response.writeHead(code, headers).end('a body that nobody reads');

/** Headers that put the next attempt off: the first pause may be as short as one for which no run leaves its process. */
const LATER = { 'retry-after': '60' };

/** Lets the pause before the next attempt be over. */
async function hurry(id: string): Promise<void> {
	await until(async () => (await look(id)).status === 'waiting', 'it waits for its next attempt');
	await administer(
		service.config.database ?? assert.fail(),
		`UPDATE run_steps SET until = now() WHERE run_id = '${id}' AND until IS NOT NULL`,
		`UPDATE runs SET due_at = now() WHERE id = '${id}'`,
		`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${id}'`,
	);
}

const hmac = (key: Buffer | string, text: string, encoding: 'base64' | 'hex'): string =>
	createHmac('sha256', key).update(text).digest(encoding);

test('a webhook is signed, and repeated under its id until the receiver takes it', async (t) => {
	const { origin, got } = await receiver(t, status(503, LATER), (response) => void response.socket?.destroy(), status(204));
	const headers = { 'X-Tenant': 'acme' };
	const sign = { secret: SECRET, scheme: 'both', header: 'X-Signature' };
	const id = await deliver({
		url: `${origin}/hook?token=canary-of-a-url`,
		body: { type: 'order.canary-of-an-event' },
		event: 'order.canary-of-an-event',
		headers,
		sign,
	});
	await until(() => got.length === 1, 'the first attempt');
	await hurry(id);
	await until(() => got.length === 2, 'the second attempt');
	await hurry(id);
	const { status: how, attempts, lastStatus, messageId, error } = await ended(id);
	assert.deepEqual([how, attempts, lastStatus, error], ['succeeded', 3, 204, null]);
	assert.equal(got.length, 3);
	assert.deepEqual(new Set(got.map((one) => one.headers['webhook-id'])), new Set([messageId]));
	for (const { method, url, headers: sent, body } of got) {
		assert.deepEqual([method, url, body], ['POST', '/hook?token=canary-of-a-url', '{"type":"order.canary-of-an-event"}']);
		assert.deepEqual(
			[sent['content-type'], sent['x-tenant'], sent['webhook-event']],
			['application/json', 'acme', 'order.canary-of-an-event'],
		);
		const at = sent['webhook-timestamp'];
		assert.equal(sent['webhook-signature'], `v1,${hmac(KEY, `${messageId}.${at}.${body}`, 'base64')}`);
		assert.equal(sent['x-signature'], `sha256=${hmac(SECRET, body, 'hex')}`);
		assert.match(String(at), /^\d{10}$/, 'in seconds');
	}
	const [{ text } = { text: '' }] = await administer(
		service.config.database ?? assert.fail(),
		`SELECT (SELECT json_agg(r)::text FROM runs r) || (SELECT json_agg(s)::text FROM run_steps s) AS text`,
	);
	for (const canary of ['canary-of-a', KEY.toString('base64'), 'order.canary-of-an-event'])
		assert.ok(!String(text).includes(canary) && !logs.some((line) => line.includes(canary)), canary);
});

test('a webhook under a key is one, also when it has ended, and another gateway’s is another', async (t) => {
	const { origin, got } = await receiver(t, status(204));
	const letter = { url: origin, body: 'once', key: 'task:1' };
	const ids = await Promise.all([deliver(letter), deliver(letter)]);
	await ended(ids[0]);
	assert.deepEqual(new Set([...ids, await deliver(letter)]).size, 1);
	const there = await publishGateway(owner, { type: 'jobs_desk' });
	const other = must(await ask('POST', '/webhooks', letter, there), 202).body.id;
	assert.notEqual(other, ids[0]);
	await until(() => got.length === 2, 'both are sent');
	assert.notEqual(await deliver({ ...letter, key: 'task:2' }), ids[0]);
});

test('a receiver that refuses for good is asked once, and no redirect is followed', async (t) => {
	const target = await receiver(t, status(200));
	for (const [way, code] of [
		[status(404), 404],
		[status(410), 410],
		[status(302, { location: target.origin }), 302],
	] as const) {
		const { origin, got } = await receiver(t, way);
		const { status: how, attempts, lastStatus, error } = await ended(await deliver({ url: origin, body: 'text' }));
		assert.deepEqual([how, attempts, lastStatus, got.length], ['failed', 1, code, 1]);
		assert.deepEqual(error, { code: 'upstream_failed', message: `The receiver answered with status ${code}.` });
		assert.match(got[0]?.headers['content-type'] ?? '', /^text\/plain/);
	}
	assert.equal(target.got.length, 0);
});

test('Retry-After puts the next attempt off; after the last one it is given up', async (t) => {
	const { origin, got } = await receiver(t, status(429, { 'retry-after': '3000' }), status(500));
	const id = await deliver({ url: origin, body: null, attempts: 2 });
	await until(async () => (await look(id)).status === 'waiting', 'it waits');
	const [row] = await administer(
		service.config.database ?? assert.fail(),
		`SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM runs WHERE id = '${id}'`,
	);
	assert.ok(Number(row?.['seconds']) > 2000, 'as the receiver asked');
	await hurry(id);
	const { status: how, attempts, lastStatus } = await ended(id);
	assert.deepEqual([how, attempts, lastStatus, got.length], ['failed', 2, 500, 2]);
});

test('a receiver that gives no answer holds up none but its own', async (t) => {
	const dead = await receiver(t, () => undefined);
	const quick = await receiver(t, status(200));
	const waiting = await Promise.all(Array.from({ length: 8 }, () => deliver({ url: dead.origin, body: {} })));
	await until(() => dead.got.length === 2, 'two are sent to it');
	const { status: how } = await ended(await deliver({ url: quick.origin, body: {} }));
	assert.deepEqual([how, dead.got.length], ['succeeded', 2]);
	for (const id of waiting) assert.deepEqual((await ask('DELETE', `/webhooks/${id}`)).body, { was: true });
	assert.ok((await Promise.all(waiting.map(look))).every((delivery) => delivery.status === 'cancelled'));
});

test('what is wrong with a webhook is told at once, with its place', async () => {
	const url = 'http://127.0.0.1:1/';
	const wrong: [body: object, path: string][] = [
		[{ url: 'http://169.254.169.254/', body: {} }, '/url'],
		[{ url: 'http://127.0.0.1:5432/', body: {} }, '/url'],
		[{ url: 'ftp://example.com/', body: {} }, '/url'],
		[{ url: `http://127.0.0.1/${'x'.repeat(3000)}`, body: {} }, '/url'],
		[{ url }, '/body'],
		[{ url, body: {}, attempts: 13 }, '/attempts'],
		[{ url, body: {}, event: 'a\r\nb' }, '/event'],
		[{ url, body: {}, headers: { 'webhook-id': 'mine' } }, '/headers'],
		[{ url, body: {}, headers: { host: 'other' } }, '/headers'],
		[{ url, body: {}, headers: { a: 'b\nc' } }, '/headers'],
		[{ url, body: {}, headers: { 'x-long': 'x'.repeat(9000) } }, '/headers'],
		[{ url, body: {}, sign: { secret: 'short' } }, '/sign/secret'],
		[{ url, body: {}, sign: { secret: 'whsec_c2hvcnQtYnV0LXZhbGlk' } }, '/sign/secret'],
		[{ url, body: {}, sign: { secret: SECRET, scheme: 'md5' } }, '/sign/scheme'],
		[{ url, body: {}, sign: { secret: SECRET, header: 'webhook-signature' } }, '/sign/header'],
	];
	for (const [body, path] of wrong) {
		const answer = await ask('POST', '/webhooks', body);
		assert.deepEqual([answer.status, answer.body.details?.[0]?.path], [400, path], JSON.stringify(answer.body));
		assert.doesNotMatch(JSON.stringify(answer.body), /short\b|c2hvcnQ/);
	}
	assert.equal((await ask('POST', '/webhooks', { url, body: 'x'.repeat(300_000) })).status, 413);
});

test('a webhook of another gateway does not exist, and one of a gateway that is gone is not sent', async (t) => {
	const { origin, got } = await receiver(t, status(500, LATER));
	const id = await deliver({ url: origin, body: {} });
	const other = await publishGateway(owner, { type: 'jobs_desk' });
	assert.equal((await ask('GET', `/webhooks/${id}`, undefined, other)).status, 404);
	assert.deepEqual((await ask('DELETE', `/webhooks/${id}`, undefined, other)).body, { was: false });
	await until(() => got.length === 1, 'the first attempt');
	await until(async () => (await look(id)).status === 'waiting', 'it waits');
	must(await owner.del(`/gateways/${desk.id}`), 200);
	const database = service.config.database ?? assert.fail();
	await administer(
		database,
		`UPDATE run_steps SET until = now() WHERE run_id = '${id}' AND until IS NOT NULL`,
		`UPDATE runs SET due_at = now() WHERE id = '${id}'`,
		`UPDATE engine.job_common SET start_after = now() WHERE data ->> 'runId' = '${id}'`,
	);
	const row = async () => (await administer(database, `SELECT status, error ->> 'code' AS code FROM runs WHERE id = '${id}'`))[0];
	await until(async () => (await row())?.['status'] !== 'waiting' && (await row())?.['status'] !== 'running', 'it ends');
	assert.deepEqual([await row(), got.length], [{ status: 'failed', code: 'not_found' }, 1]);
});
