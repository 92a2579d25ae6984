// Compares the answers of gateways at the door with those that hapi sends: every header, status and body of the same request on both ways.

import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { after, before, test } from 'node:test';
import { WIRE_CASES } from '../catalog/wire.ts';
import { type Account, createHttpTool, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';
import { exchange } from '../helpers/wire.ts';

let service: TestService;
let account: Account;
let tools: string[];
const gateways = new Map<string, { path: string; key: string }>();
const upstreams: (() => unknown)[] = [];

before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	const upstream = await httpUpstream({ after: (stop: () => unknown) => void upstreams.push(stop) } as never, (request, response) => {
		if (request.url === '/refused') response.statusCode = 404;
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ text: 'x'.repeat(3000) }));
	});
	await account.post('/gateways', { name: 'unused', type: 'mcp', endpoint: '/unused' });
	tools = [
		await createHttpTool(account, { name: 'long', url: upstream.origin }),
		await createHttpTool(account, { name: 'refused', url: `${upstream.origin}/refused` }),
	];
	for (const type of ['mcp', 'a2a', 'utcp', 'skills']) {
		const { url, key } = await publishGateway(account, { type, toolIds: tools });
		gateways.set(type, { path: new URL(url).pathname, key });
	}
	const { url } = await publishGateway(account, { auth: 'none', toolIds: tools });
	gateways.set('open', { path: new URL(url).pathname, key: '' });
});
after(async () => {
	await service.stop();
	for (const stop of upstreams) await stop();
});

interface Asked {
	method?: string;
	path: string;
	headers?: Record<string, string>;
	body?: string | Buffer;
}

interface Got {
	status: number;
	headers: IncomingHttpHeaders;
	body: string;
}

function ask({ method = 'GET', path, headers = {}, body }: Asked): Promise<Got> {
	return new Promise((resolve, reject) => {
		const sent = httpRequest(`${service.url}${path}`, { method, agent: false, headers: { 'x-request-id': 'same', ...headers } });
		sent.on('error', reject);
		sent.on('response', (response) => {
			const chunks: Buffer[] = [];
			response.on('data', (chunk: Buffer) => void chunks.push(chunk));
			response.on('error', reject);
			response.on('end', () =>
				resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString('latin1') }),
			);
		});
		sent.end(body);
	});
}

/** Runs the same on both ways: at the door, then by hapi. */
async function onBoth<T>(work: () => Promise<T>): Promise<[atDoor: T, byHapi: T]> {
	const { app } = service.server;
	const { door } = app;
	assert.ok(door);
	const atDoor = await work();
	delete app.door;
	try {
		return [atDoor, await work()];
	} finally {
		app.door = door;
	}
}

/** Headers that differ between any two answers: the time, what is left of a limit, and ids of chance. */
const CHANGING = ['date', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-request-id', 'mcp-session-id'];
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
const UPTIME = /"uptimeSeconds":\d+/;

function comparable({ status, headers, body }: Got): Got {
	const shown = { ...headers };
	for (const name of CHANGING) if (shown[name] !== undefined) shown[name] = '(changes)' as never;
	if (headers['content-encoding'] === undefined)
		return { status, headers: shown, body: body.replace(ID, '(id)').replace(TIME, '(time)').replace(UPTIME, '(uptime)') };
	return { status, headers: shown, body };
}

const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const rpc = (method: string, params: object = {}): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const LISTED = rpc('tools/list');
const CALLED = rpc('tools/call', { name: 'long', arguments: {} });

/** hapi drains a body above its own bound before it answers, until Node's time is over; at the door it is refused at once. */
const DRAINED_BY_HAPI = 'Content-Length of petabytes';

/** Requests below the path of a gateway. */
const INSIDE: [what: string, Asked][] = [
	['its root', { path: '' }],
	['its root, with a slash', { path: '/' }],
	['HEAD', { method: 'HEAD', path: '' }],
	['DELETE', { method: 'DELETE', path: '' }],
	['PATCH', { method: 'PATCH', path: '' }],
	['OPTIONS', { method: 'OPTIONS', path: '', headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' } }],
	['a list', { method: 'POST', path: '', headers: JSON_TYPE, body: LISTED }],
	['a long answer', { method: 'POST', path: '', headers: JSON_TYPE, body: CALLED }],
	['a long answer in gzip', { method: 'POST', path: '', headers: { ...JSON_TYPE, 'accept-encoding': 'gzip, deflate, br' }, body: CALLED }],
	[
		'a long answer in deflate',
		{ method: 'POST', path: '', headers: { ...JSON_TYPE, 'accept-encoding': 'deflate;q=1, gzip;q=0.5' }, body: CALLED },
	],
	[
		'a long answer in br, which is not served',
		{ method: 'POST', path: '', headers: { ...JSON_TYPE, 'accept-encoding': 'br' }, body: CALLED },
	],
	['codings that cannot be read', { method: 'POST', path: '', headers: { ...JSON_TYPE, 'accept-encoding': ';;q=x' }, body: CALLED }],
	['a page', { method: 'POST', path: '', headers: { ...JSON_TYPE, origin: 'https://page.example' }, body: LISTED }],
	['a call that is refused', { method: 'POST', path: '', headers: JSON_TYPE, body: rpc('tools/call', { name: 'refused', arguments: {} }) }],
	['an unknown method', { method: 'POST', path: '', headers: JSON_TYPE, body: rpc('no/such') }],
	['a notification', { method: 'POST', path: '', headers: JSON_TYPE, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' }],
	['no JSON', { method: 'POST', path: '', headers: JSON_TYPE, body: '{' }],
	['nothing', { method: 'POST', path: '', headers: JSON_TYPE }],
	['another type', { method: 'POST', path: '', headers: { 'content-type': 'text/xml' }, body: '<a/>' }],
	['another coding', { method: 'POST', path: '', headers: { ...JSON_TYPE, 'content-encoding': 'br' }, body: LISTED }],
	['too long a body', { method: 'POST', path: '', headers: JSON_TYPE, body: Buffer.alloc(5 * 1024 * 1024, 32) }],
	['a bad query', { path: '?a=%ff' }],
	['a bad path', { path: '/%ff' }],
	['nothing there', { path: '/nothing/there' }],
	['a document', { path: '/.well-known/agent-card.json' }],
	['a document of resources', { path: '/.well-known/oauth-protected-resource' }],
	['a document in gzip', { path: '/.well-known/agent-card.json', headers: { 'accept-encoding': 'gzip' } }],
	['a document that is known', { path: '/.well-known/agent-card.json', headers: { 'if-none-match': '*' } }],
	['the manual', { path: '/utcp' }],
	['an index of skills', { path: '/.well-known/agent-skills/index.json' }],
	['a tool', { method: 'POST', path: '/tools/long', headers: JSON_TYPE, body: '{}' }],
	[
		'a message',
		{
			method: 'POST',
			path: '',
			headers: JSON_TYPE,
			body: rpc('SendMessage', { message: { role: 'ROLE_USER', messageId: 'm', parts: [] } }),
		},
	],
];

for (const type of ['mcp', 'a2a', 'utcp', 'skills', 'open'])
	for (const [credential, header] of [
		['with a key', 'right'],
		['with a bad key', 'bad'],
		['without a key', null],
	] as const) {
		if (type === 'open' && header !== null) continue;
		test(`an answer at the door is hapi’s, at ${type}, ${credential}`, async () => {
			const { path, key } = gateways.get(type) ?? assert.fail();
			for (const [what, asked] of INSIDE) {
				const own = header === null ? {} : { 'x-api-key': header === 'right' ? key : `${key}x` };
				const [atDoor, byHapi] = await onBoth(() => ask({ ...asked, path: path + asked.path, headers: { ...own, ...asked.headers } }));
				assert.deepEqual(comparable(atDoor), comparable(byHapi), what);
			}
		});
	}

test('an answer at the door is hapi’s, at paths that are no gateway’s and at the universal endpoint', async () => {
	const { path, key } = gateways.get('mcp') ?? assert.fail();
	const [, organization] = path.split('/');
	const authorization = { authorization: `Bearer ${account.token}` };
	const asked: Asked[] = [
		...['/nobody/main', `/${organization}//x`, `/${organization}/`, `/@${organization}/x`, `/.well-known//${organization}/x`].map((to) => ({
			path: to,
		})),
		...[`/.well-known/oauth-protected-resource${path}`, `/${organization}/.well-known/agent-card.json`, `${path}.git/x`, `${path}//`].map(
			(to) => ({
				path: to,
			}),
		),
		{ method: 'POST', path: '/mcp', headers: { ...JSON_TYPE, ...authorization }, body: LISTED },
		{ method: 'POST', path: '/mcp/', headers: { ...JSON_TYPE, ...authorization, 'accept-encoding': 'gzip' }, body: CALLED },
		{ method: 'POST', path: '/mcp', headers: { ...JSON_TYPE, 'x-api-key': `${key}x` }, body: LISTED },
		{ method: 'POST', path: '/mcp', headers: JSON_TYPE, body: LISTED },
		{ path: '/mcp/nothing' },
		{ method: 'HEAD', path: '/mcp' },
		{ path: '/mcp?a=%ff' },
		{ path: '/.well-known/oauth-protected-resource/mcp' },
	];
	for (const one of asked) {
		const [atDoor, byHapi] = await onBoth(() => ask(one));
		assert.deepEqual(comparable(atDoor), comparable(byHapi), `${one.method ?? 'GET'} ${one.path}`);
	}
});

test('malformed HTTP to a gateway is answered alike on both ways', async () => {
	const { path } = gateways.get('open') ?? assert.fail();
	for (const { id, bytes } of WIRE_CASES) {
		if (id === DRAINED_BY_HAPI) continue;
		const sent = bytes.replaceAll(/(?<=^|\n)([A-Z]+) \/(?:gateways|auth\/profile) /g, `$1 ${path} `);
		const [atDoor, byHapi] = await onBoth(async () => {
			const { answers, closed } = await exchange(service.url, sent, { enough: 2 });
			return {
				closed,
				answers: answers.map(({ status, headers, body }) => comparable({ status, headers: Object.fromEntries(headers), body })),
			};
		});
		assert.deepEqual(atDoor, byHapi, id);
	}
});
