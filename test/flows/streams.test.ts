// Tests event streams of the whole service over real sockets: of a transport from outside, and of MCP.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { writePackages } from '../helpers/written-packages.ts';

/** The transport shares this process with the test. */
interface Seen {
	lastEventIds: (string | null)[];
	/** The signals by the name that the request gives. */
	signals: Map<string, AbortSignal>;
	release: PromiseWithResolvers<void>;
}
const seen: Seen = { lastEventIds: [], signals: new Map(), release: Promise.withResolvers() };
Object.assign(globalThis, { seenStreams: seen });

const PACKAGE = `
import { PassThrough, Readable } from 'node:stream';
import Joi from 'joi';
const seen = globalThis.seenStreams;
const aborted = (signal) => signal.aborted ? null : new Promise((resolve) => signal.addEventListener('abort', resolve));
const kinds = {
	async *steps() {
		yield { event: 'step', id: '1', data: { step: 1 } };
		await seen.release.promise;
		yield { id: '2', data: 'two\\nlines' };
	},
	async *idle({ signal }) { await aborted(signal); },
	async *missing() { throw Object.assign(new Error('There is no such thing.'), { code: 'not_found' }); },
};
export default {
	kind: 'transport', name: 'acme_events', summary: 'Streams.', config: Joi.object({}),
	routes: [
		{ method: 'GET', path: '/{kind}', handler: async (request, _config, call) => {
			seen.lastEventIds.push(request.lastEventId);
			const { kind } = request.params;
			if (request.query.has('name')) seen.signals.set(request.query.get('name'), call.signal);
			if (kind === 'pushed') return { status: 200, headers: { 'Content-Type': 'text/event-stream' }, body: Readable.from(['data: x\\n\\n'], { objectMode: false }) };
			if (kind === 'poured') {
				const body = new PassThrough();
				body.write('data: x\\n\\n');
				return { status: 200, headers: { 'Content-Type': 'text/event-stream' }, body };
			}
			if (kind === 'held') { await seen.release.promise; return { status: 200, body: { aborted: call.signal.aborted } }; }
			if (kind === 'detached') { seen.signals.set('detached', call.with({ detached: true }).signal); return { status: 202 }; }
			return { status: 200, body: kinds[kind](call) };
		} },
	],
};`;

const PACKAGES = { 'acme-events': PACKAGE };
const GZIP = { 'accept-encoding': 'gzip, br' };

let service: TestService;
let packages: Disposable;
let account: Account;
let gateway: { url: string; key: string };

const upstream = createServer((_request, response) => void seen.release.promise.then(() => response.end('ready')));

before(async () => {
	packages = writePackages(PACKAGES);
	await new Promise<void>((resolve) => void upstream.listen(0, '127.0.0.1', resolve));
	service = await startTestService({ env: { GATEWAY_PLUGINS: 'acme-events' } });
	account = await registerAccount(service.url);
	gateway = await published(account);
});

after(async () => {
	await service?.stop();
	upstream.closeAllConnections();
	upstream.close();
	packages?.[Symbol.dispose]();
});

async function published(by: Account): Promise<{ url: string; key: string }> {
	const { url, key } = await publishGateway(by, { type: 'acme_events' });
	return { url: by.url + new URL(url).pathname, key };
}

interface Reading {
	response: Response;
	text(): string;
	ended: Promise<void>;
	leave(): void;
}

/** Reads an answer as it comes. */
async function read(url: string, init: RequestInit = {}): Promise<Reading> {
	const leaving = new AbortController();
	const response = await fetch(url, { ...init, headers: { ...GZIP, ...init.headers }, signal: leaving.signal });
	let text = '';
	const collect = async (): Promise<void> => {
		for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
	};
	const ended = collect();
	ended.catch(() => undefined);
	return { response, text: () => text, ended, leave: () => leaving.abort() };
}

const at = (path: string, { url, key } = gateway, headers: Record<string, string> = {}): Promise<Reading> =>
	read(url + path, { headers: { 'x-api-key': key, ...headers } });

test('the first event of a transport arrives before the second one exists, and the client says where it stopped', async () => {
	seen.release = Promise.withResolvers();
	const { response, text, ended } = await at('/steps', gateway, { 'last-event-id': Buffer.from('é-7').toString('latin1') });
	await until(() => text() !== '', 'the first event');
	assert.equal(text(), 'id: 1\nevent: step\ndata: {"step":1}\n\n');
	assert.equal(response.headers.get('content-encoding'), 'identity');
	assert.equal(response.headers.get('x-request-id')?.length, 36);
	seen.release.resolve();
	await ended;
	assert.equal(text().slice(text().indexOf('id: 2')), 'id: 2\ndata: two\ndata: lines\n\n');
	assert.equal(seen.lastEventIds.at(-1), 'é-7');
	await (await at('/missing')).ended;
	assert.equal(seen.lastEventIds.at(-1), null);
});

test('a source that refuses at once is answered as any refusal', async () => {
	const { response, text, ended } = await at('/missing');
	await ended;
	assert.equal(response.status, 404);
	const { error, message } = JSON.parse(text());
	assert.deepEqual([error, message], ['NOT_FOUND', 'There is no such thing.']);
});

test('events that a transport frames itself are not compressed either', async () => {
	const { response, text, ended } = await at('/pushed');
	await ended;
	assert.deepEqual([response.headers.get('content-encoding'), text()], ['identity', 'data: x\n\n']);
});

test('all organizations of an account share its streams, and another account has its own', async () => {
	const open = await Promise.all(Array.from({ length: 100 }, () => at('/idle')));
	assert.ok(open.every(({ response }) => response.status === 200));
	const second = must(await account.post('/organizations', { name: `Second of ${account.organization.name}` }), 201).body.data;
	const sibling = { ...account, organization: second };
	const headers = { 'x-organization-id': second.id };
	sibling.post = (path, body, more) => account.post(path, body, { ...headers, ...more });
	const place = await published(sibling);
	assert.ok(place.url.startsWith(`${service.url}/${second.slug}/`), place.url);
	const refused = await at('/idle', place);
	assert.deepEqual([refused.response.status, refused.response.headers.get('retry-after')], [429, '10']);
	await refused.ended;
	assert.equal(JSON.parse(refused.text()).error, 'RATE_LIMITED');
	const other = await at('/idle', await published(await registerAccount(service.url)));
	assert.equal(other.response.status, 200);
	for (const { leave } of [...open, other]) leave();
	await until(async () => {
		const again = await at('/idle');
		again.leave();
		return again.response.status === 200;
	}, 'room again');
});

/** Asks a slow tool over MCP, with progress. */
async function askSlowly(by: Account): Promise<Reading> {
	const { port } = upstream.address() as { port: number };
	const toolId = await createHttpTool(by, { name: `slow_${port}`, url: `http://127.0.0.1:${port}/` });
	const { url, key } = await publishGateway(by, { toolIds: [toolId] });
	const headers = { 'x-api-key': key, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
	const params = { name: `slow_${port}`, arguments: {}, _meta: { progressToken: 't' } };
	const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
	return read(by.url + new URL(url).pathname, { method: 'POST', headers, body });
}

test('the stream of a tool that says nothing has its first byte before the tool is done', async () => {
	seen.release = Promise.withResolvers();
	const { response, text, ended } = await askSlowly(await registerAccount(service.url));
	assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
	await until(() => text() !== '', 'a first byte');
	assert.equal(text(), ':\n\n');
	seen.release.resolve();
	await ended;
	assert.match(text(), /^:\n\nevent: message\ndata: \{"jsonrpc":"2\.0","id":1,"result":.*ready.*\n\n$/);
});

test('a tool whose account has no more streams is run and answered with JSON', async () => {
	const busy = await registerAccount(service.url);
	const theirs = await published(busy);
	seen.release = Promise.withResolvers();
	const open = await Promise.all(Array.from({ length: 100 }, () => at('/idle', theirs)));
	// Streams of running tools may take a fifth more.
	const working = await Promise.all(Array.from({ length: 20 }, () => askSlowly(busy)));
	const answer = askSlowly(busy);
	// The stream would open after a second of silence.
	setTimeout(seen.release.resolve, 1500);
	const { response, text, ended } = await answer;
	await ended;
	assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/json; charset=utf-8']);
	assert.match(JSON.parse(text()).result.content[0].text, /ready/);
	await Promise.all(working.map((one) => one.ended));
	for (const { leave } of open) leave();
});

test('the stop ends streams at once, lets calls in flight and running tools finish, and is heard by detached work', async () => {
	const leaving = await startTestService({ replicaOf: service, env: { GATEWAY_PLUGINS: 'acme-events' } });
	const there = { ...gateway, url: leaving.url + new URL(gateway.url).pathname };
	seen.release = Promise.withResolvers();
	const [idle, poured, tool] = await Promise.all([
		at('/idle?name=idle', there),
		at('/poured?name=poured', there),
		askSlowly({ ...(await registerAccount(service.url)), url: leaving.url }),
	]);
	const held = at('/held?name=held', there);
	assert.equal((await at('/detached', there)).response.status, 202);
	await until(() => seen.signals.has('held') && tool.text() !== '', 'all of them under way');
	const stopped = leaving.stop();
	await idle.ended;
	assert.equal(idle.text(), ':\n\n');
	await poured.ended;
	assert.equal(poured.text(), 'data: x\n\n');
	const isAborted = (name: string): boolean | undefined => seen.signals.get(name)?.aborted;
	assert.deepEqual([isAborted('idle'), isAborted('poured'), isAborted('held'), isAborted('detached')], [true, true, false, false]);
	seen.release.resolve();
	const { text, ended } = await held;
	await ended;
	assert.equal(text(), '{"aborted":false}');
	await tool.ended;
	assert.match(tool.text(), /ready/);
	await stopped;
	assert.equal(isAborted('detached'), true);
	assert.equal(seen.signals.get('detached')?.reason.message, 'The service is stopping.');
});
