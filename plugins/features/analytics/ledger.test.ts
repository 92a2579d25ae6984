// Tests of the token ledger: what answers cost, over two replicas, by tool and field.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask } from '../../../test/helpers/gateway-auth.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';
import { soon } from '../../../test/helpers/soon.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import { presentTools } from './ledger.ts';

let service: TestService;
let replica: TestService;
let account: Account;
before(async () => {
	service = await startTestService();
	replica = await startTestService({ replicaOf: service });
	account = await registerAccount(service.url);
});
after(async () => {
	await replica.stop();
	await service.stop();
});

test('each field is looked at a few times, however many tools have answered', () => {
	let reads = 0;
	const sums = { calls: 1, outputTokens: 100, bytesOut: 40, histogram: [1] } as Parameters<typeof presentTools>[0][number];
	const fields = Array.from({ length: 2000 }, (_, n) => ({
		...sums,
		get value() {
			reads++;
			return `gateway tool${n % 200} /field ${n}`;
		},
	}));
	const tools = presentTools(
		Array.from({ length: 200 }, (_, n) => ({ ...sums, value: `gateway tool${n}` })),
		fields,
	);
	assert.ok(reads <= 3 * fields.length, `${reads} reads`);
	assert.deepEqual(
		[tools.length, tools[7]?.toolId, tools[7]?.fields.map(({ path }) => path).slice(0, 2)],
		[200, 'tool7', ['/field 7', '/field 207']],
	);
});

const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });

test('the ledger adds up what the answers of each tool cost over both replicas, and names the fields to cut', async (t) => {
	const page = { items: Array.from({ length: 10 }, (_, id) => ({ id, title: 'A title', html: 'h'.repeat(3000) })), next: null };
	const bodies: Record<string, object> = { '/pages': page, '/small': { ok: true } };
	const upstream = await httpUpstream(t, (request, response) => {
		const body = bodies[request.url ?? ''];
		response.writeHead(body ? 200 : 500, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}));
	});
	const ids = await Promise.all(
		['pages', 'small', 'broken'].map((name) => createHttpTool(account, { name, url: `${upstream.origin}/${name}` })),
	);
	const gateway = await publishGateway(account, { toolIds: ids });
	const urls = [gateway.url, gateway.url.replace(service.url, replica.url)];
	for (const name of ['pages', 'small', 'broken'])
		for (let n = 0; n < 30; n++) assert.equal((await ask(urls[n % 2] ?? '', { 'x-api-key': gateway.key }, call(name))).status, 200);
	const path = `/analytics/gateways/${gateway.id}/tokens`;
	const read = async () => must(await account.get(path), 200).body.data;
	await soon(
		async () => (await read()).tools.reduce((sum: number, { answers }: { answers: number }) => sum + answers, 0) === 60,
		'all are summed',
	);
	const { tools, lists } = await read();
	assert.ok(lists.full > 0 && lists.search > 0, JSON.stringify(lists));
	assert.deepEqual(
		tools.map(({ toolId, name, answers }: Record<string, unknown>) => [toolId, name, answers]),
		[
			[ids[0], 'pages', 30],
			[ids[1], 'small', 30],
		],
	);
	const [pages, small] = tools;
	const whole = JSON.stringify(page).length / 4;
	assert.ok(Math.abs(pages.mean - whole) < whole / 10, `${pages.mean} of ${whole}`);
	for (const at of [pages.p50, pages.p95]) assert.ok(at > whole * 0.7 && at < whole * 1.4, String(at));
	assert.ok(small.mean < 20);
	const [largest, ...rest] = pages.fields;
	assert.equal(largest.path, '/items');
	const html = rest.find((field: { path: string }) => field.path === '/items/*/html');
	assert.ok(html.share > 0.9 && html.share <= 1, JSON.stringify(html));
	// The first answer of each process, and each twentieth.
	assert.equal(html.samples, 2);
	assert.ok(!JSON.stringify(pages.fields).includes('hhh'));

	const stranger = await registerAccount(service.url);
	assert.equal((await stranger.get(path)).status, 404);
	assert.equal((await account.get('/analytics/gateways/none/tokens')).status, 404);
	const other = await publishGateway(account);
	assert.deepEqual(must(await account.get(`/analytics/gateways/${other.id}/tokens`), 200).body.data.tools, []);
	assert.equal((await account.get(`${path}?limit=0`)).status, 400);
	const former = must(await account.get(`${path}?since=2026-01-01&until=2026-01-02`), 200).body.data;
	assert.deepEqual([former.tools, former.interval], [[], 'hour']);
});
