// Tests a tool that reads its upstream's answer as a stream, over the public interfaces: an executor and an importer of a package, with
// the lane, the credentials and the callers of a real service.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { turns, until } from '../helpers/clock.ts';
import { CLIENT, grantServer } from '../helpers/grants.ts';
import { type Account, must, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream, type Upstream } from '../helpers/upstream.ts';
import { writePackages } from '../helpers/written-packages.ts';

/** The executor answers with the text of the stream; `parts` makes it leave after so many, and `unread` return without reading. */
const STREAMER = `
import Joi from 'joi';

const executor = {
	kind: 'executor',
	api: 1,
	name: 'streamer',
	summary: 'Reads an answer as a stream.',
	config: Joi.object({}),
	async execute({ parts, unread }, _config, call) {
		const request = { method: 'GET', url: call.api.baseUrl };
		const { status, body } = await call.stream(await call.sign(request));
		let text = status + ' ';
		if (unread) return { content: [{ type: 'text', text }] };
		let count = 0;
		for await (const part of body) {
			text += Buffer.from(part).toString();
			if (++count === parts) break;
		}
		return { content: [{ type: 'text', text }] };
	},
};

const parameters = { type: 'object', properties: { parts: { type: 'integer' }, unread: { type: 'boolean' } } };

const importer = {
	kind: 'importer',
	api: 1,
	name: 'streams',
	summary: 'Makes one operation.',
	config: Joi.object({}),
	detect: () => 0,
	async *parse() {
		yield {
			...{ key: 'GET /', operationId: 'read', name: 'read', description: 'Reads.', method: 'GET', path: '/', tags: [], deprecated: false },
			...{ parameters, outputSchema: null, definition: {}, outcome: 'converted', reasons: [] },
		};
		return { format: 'streams 1', title: null, version: null, servers: [] };
	},
	tool: ({ name, description }) => ({ name, description, parameters, outputSchema: null, annotations: {}, executor: 'streamer', executionConfig: {} }),
};

export default [executor, importer];
`;

let packages: Disposable;
let service: TestService;
let account: Account;
const lines: string[] = [];

before(async () => {
	packages = writePackages({ 'streaming-plugin': STREAMER });
	service = await startTestService({
		env: { GATEWAY_PLUGINS: 'streaming-plugin', LOG_LEVEL: 'debug' },
		onLog: (line) => void lines.push(line),
	});
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});
beforeEach(async () => {
	account = await registerAccount(service.url);
});

interface Tool {
	apiId: string;
	path: string;
	run(parameters?: object, query?: string): Promise<{ status: string; result: string; error: { code: string; message: string } }>;
}

/** Connects an upstream and makes its tool. */
async function connect(origin: string, owner = account, outbound: object | null = null): Promise<Tool> {
	const api = { name: 'Streams', type: 'streams', baseUrl: origin, ...(outbound && { outbound }) };
	const apiId = must(await owner.post('/apis', api), 201).body.data.id;
	must(await owner.post(`/apis/${apiId}/import-schema`, { schemaContent: 'streams', generateTools: true }), 200);
	const tools = `/organizations/${owner.organization.id}/tools`;
	const [{ id }] = must(await owner.get(`${tools}?apiId=${apiId}`), 200).body.data.tools;
	const path = `${tools}/${id}/execute`;
	const run = async (parameters = {}, query = '') => must(await owner.post(path + query, { parameters }), 200).body.data;
	return { apiId, path, run };
}

interface Streaming extends Upstream {
	responses: ServerResponse[];
}

async function streaming(t: TestContext, begin: (response: ServerResponse, request: IncomingMessage) => unknown): Promise<Streaming> {
	const responses: ServerResponse[] = [];
	const upstream = await httpUpstream(t, (request, response) => {
		responses.push(response);
		begin(response, request);
	});
	return { ...upstream, responses };
}

const begun = (response: ServerResponse): unknown => response.write('begun ');
const asked = (upstream: Streaming, count: number) => until(() => upstream.responses.length === count, `${count} requests`, 5);
const isClosed = (upstream: Upstream) => until(() => upstream.open() === 0, 'the connection is closed', 5);

test('a stream holds its place in the lane of its API, which no other organization waits for, until it ends', async (t) => {
	const limits = { maxConcurrent: 1, maxQueued: 0 };
	const upstream = await streaming(t, begun);
	const tool = await connect(upstream.origin, account, limits);
	const stranger = await registerAccount(service.url);
	const other = await connect(upstream.origin, stranger, limits);
	const running = tool.run();
	await asked(upstream, 1);
	const { status, error } = await tool.run();
	assert.deepEqual([status, error.code], ['failed', 'RATE_LIMITED']);
	assert.equal((await other.run({ parts: 1 })).status, 'success');
	upstream.responses[0]?.end('ended');
	assert.equal((await running).result, '200 begun ended');
	assert.equal((await tool.run({ parts: 1 })).status, 'success');
});

test('what a run leaves unread is closed with the run, and holds no place', async (t) => {
	const upstream = await streaming(t, begun);
	const tool = await connect(upstream.origin, account, { maxConcurrent: 1, maxQueued: 0 });
	for (const parameters of [{ unread: true }, { parts: 1 }, { unread: true }]) {
		assert.equal((await tool.run(parameters)).status, 'success');
		await isClosed(upstream);
	}
});

test('a client who leaves in the middle of a stream takes the connection to the upstream along', async (t) => {
	const upstream = await streaming(t, begun);
	const tool = await connect(upstream.origin);
	const leaving = new AbortController();
	const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
	const call = fetch(service.url + tool.path, { method: 'POST', headers, body: '{"parameters":{}}', signal: leaving.signal });
	call.catch(() => undefined);
	await asked(upstream, 1);
	// The run reads by then.
	await turns(20);
	leaving.abort();
	await once(upstream.responses[0] ?? assert.fail(), 'close');
	await isClosed(upstream);
});

test('a request is repeated before its answer, and its end in the middle is a failed run without the upstream’s words', async (t) => {
	const upstream = await streaming(t, (response) => {
		if (upstream.responses.length === 1) return response.writeHead(503).end('canary');
		return response.write('canary', () => response.destroy());
	});
	const { status, error } = await (await connect(upstream.origin)).run();
	assert.deepEqual([status, error.code, upstream.responses.length], ['failed', 'UPSTREAM_FAILED', 2]);
	assert.match(error.message, /^127\.0\.0\.1:\d+ closed the connection before its answer was complete\.$/);
});

test('a refused access token is renewed once, in a lane of one, and neither token is shown', async (t) => {
	const tokens = await grantServer(t);
	const seen: string[] = [];
	const upstream = await streaming(t, (response, { headers }) => {
		seen.push(headers.authorization ?? '');
		// The answer to a refused token does not end by itself.
		if (!tokens.isGood(headers.authorization)) return response.writeHead(401).write('refused');
		return response.end(`You sent ${headers.authorization}.`);
	});
	const tool = await connect(upstream.origin, account, { maxConcurrent: 1, maxQueued: 0 });
	const credential = { type: 'oauth2', credentials: { ...CLIENT, tokenUrl: tokens.tokenUrl } };
	must(await account.post(`/apis/${tool.apiId}/credentials`, credential), 201);
	assert.match((await tool.run()).result, /^200 You sent Bearer /);
	tokens.revoke();
	assert.equal((await tool.run()).result, '200 You sent Bearer [hidden].');
	assert.deepEqual([tokens.asked.length, new Set(seen).size, seen.length], [2, 2, 3]);
	assert.doesNotMatch(lines.join(), /canary-access/);
});

test('a credential does not follow a redirect to another origin', async (t) => {
	const tokens = await grantServer(t);
	const seen: (string | undefined)[] = [];
	const target = await streaming(t, (response, { headers }) => {
		seen.push(headers.authorization);
		response.end('there');
	});
	const upstream = await streaming(t, (response) => response.writeHead(307, { location: target.origin }).end());
	const tool = await connect(upstream.origin);
	const credential = { type: 'oauth2', credentials: { ...CLIENT, tokenUrl: tokens.tokenUrl } };
	must(await account.post(`/apis/${tool.apiId}/credentials`, credential), 201);
	assert.deepEqual([(await tool.run()).result, seen], ['200 there', [undefined]]);
});

test('a dry run shows the streamed request, without its credential, and sends nothing', async (t) => {
	const upstream = await streaming(t, begun);
	const tool = await connect(upstream.origin);
	must(await account.post(`/apis/${tool.apiId}/credentials`, { type: 'bearer_token', credentials: { token: 'canary-bearer' } }), 201);
	const answer = await tool.run({}, '?dryRun=true');
	assert.match(JSON.stringify(answer), new RegExp(`"url":"${upstream.origin}/"`));
	assert.match(JSON.stringify(answer), /"authorization":"Bearer ••••"/);
	assert.doesNotMatch(JSON.stringify(answer), /canary/);
	assert.equal(upstream.connections(), 0);
});

test('an address that the guard refuses is refused for a stream, too', async (t) => {
	const upstream = await streaming(t, (response) => response.writeHead(307, { location: 'http://10.0.0.1/' }).end());
	const { status, error } = await (await connect(upstream.origin)).run();
	assert.deepEqual([status, error.code], ['failed', 'EGRESS_REFUSED']);
});
