// Tests the error tracker of the whole service: what it is told of requests, of transports and executors that fail, and that no request waits for it.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { type Account, must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { startTracker, type TestTracker } from '../helpers/tracker.ts';
import { FEATURES, writePackages } from '../helpers/written-packages.ts';

const CANARY = 'canary-9c27';

const SOURCE = `
import Joi from 'joi';
import { operation } from '${FEATURES}';
const feature = {
	kind: 'feature', name: 'acme_faults', summary: 'Fails as it is asked to.', config: Joi.object({}), segments: ['acme-faults'],
	register(server, config, core) {
		server.route({
			method: 'GET', path: '/acme-faults/{name}',
			options: { auth: false },
			handler(request, h) {
				const { name } = request.params;
				if (name === 'throw') throw new TypeError('said ${CANARY} ' + request.url.search + request.headers['x-canary']);
				if (name === 'answer') return h.response({ success: false }).code(503);
				return h.response({ success: false }).code(418);
			},
		});
	},
};
const executor = {
	kind: 'executor', name: 'acme_broken', summary: 'Breaks.', config: Joi.object({}), creatable: true,
	async execute(args) { throw new RangeError('said ${CANARY} ' + JSON.stringify(args)); },
};
export default [feature, executor];
`;

let packages: ReturnType<typeof writePackages>;
let service: TestService;
let account: Account;
let tracker: TestTracker;
const ends: (() => void)[] = [];

before(async () => {
	packages = writePackages({ 'acme-faults': SOURCE });
	// A server of tests needs no more of its test than when it ends.
	tracker = await startTracker({ after: (end: () => void) => void ends.push(end) } as unknown as TestContext);
	service = await startTestService({ env: { GATEWAY_PLUGINS: 'acme-faults', ERROR_TRACKER_DSN: tracker.dsn } });
	account = await registerAccount(service.url, 'Acme');
});
after(async () => {
	await service.stop();
	for (const end of ends) end();
	packages[Symbol.dispose]();
});

const get = (path: string): Promise<Response> =>
	fetch(`${service.url}${path}`, { headers: { 'x-canary': CANARY, authorization: `Bearer ${CANARY}` } });
// biome-ignore lint/suspicious/noExplicitAny: an event has any members
const eventOf = (requestId: string | null): any => tracker.received.find(({ event }) => event.tags.request_id === requestId)?.event;

test('an exception of a route is told with its plugin and request id, and without anything that was sent', async () => {
	const answer = await get(`/acme-faults/throw?key=${CANARY}`);
	assert.equal(answer.status, 500);
	await tracker.arrived(1);
	const event = eventOf(answer.headers.get('x-request-id'));
	assert.deepEqual(event.tags, {
		code: 'internal',
		status: '500',
		plugin: 'feature:acme_faults',
		request_id: answer.headers.get('x-request-id'),
	});
	assert.equal(event.exception.values[0].type, 'TypeError');
	assert.equal(event.exception.values[0].stacktrace.frames.at(-1).module.split('/').at(-2), 'acme-faults');
});

test('a 5xx that a plugin answers itself is told, a 4xx never', async () => {
	const before = tracker.received.length;
	for (const path of ['/acme-faults/other', '/nothing-here', '/auth/profile', '/acme/nowhere/at/all'])
		assert.ok((await get(path)).status < 500);
	const answer = await get('/acme-faults/answer');
	assert.equal(answer.status, 503);
	await tracker.arrived(before + 1);
	assert.equal(tracker.received.length, before + 1);
	assert.equal(eventOf(answer.headers.get('x-request-id')).tags.status, '503');
});

test('an executor that throws is told with gateway, organization and request id, though its transport answers 200', async () => {
	const path = `/organizations/${account.organization.id}/tools`;
	const tool = must(await account.post(path, { name: 'broken', description: 'Breaks.', type: 'acme_broken', executionConfig: {} }), 201)
		.body.data;
	const { url } = await publishGateway(account, { type: 'mcp', auth: 'none', toolIds: [tool.id] });
	const before = tracker.received.length;
	const params = { name: 'broken', arguments: { [CANARY]: CANARY } };
	const headers = {
		'content-type': 'application/json',
		accept: 'application/json, text/event-stream',
		'mcp-protocol-version': '2025-06-18',
	};
	const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
	const answer = await fetch(url, { method: 'POST', headers, body });
	assert.equal(answer.status, 200);
	await tracker.arrived(before + 1);
	const { tags, exception } = eventOf(answer.headers.get('x-request-id'));
	assert.equal(tags.plugin, 'executor:acme_broken');
	assert.equal(tags.organization, account.organization.id);
	assert.equal(tags.gateway, new URL(url).pathname.slice(1));
	assert.equal(exception.values[0].type, 'RangeError');
});

test('no request waits for a tracker that does not answer, and neither does the stop', async () => {
	tracker.answers(null);
	for (let at = 0; at < 40; at++) assert.equal((await get('/acme-faults/throw')).status, 500);
	assert.equal((await get('/health')).status, 200);
});

test('nothing that was sent has reached the tracker', () => {
	assert.ok(tracker.received.length > 0);
	for (const { text } of tracker.received) assert.ok(!text.includes(CANARY), text);
});
