// Tests stored credentials of connected APIs, from the management API to the bytes that an upstream gets: each type at its place, and
// nowhere else.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Connected, connectApi, get } from '../helpers/connected.ts';
import { type Recorded, type Recorder, recorder } from '../helpers/executor.ts';
import { CLIENT, grantServer } from '../helpers/grants.ts';
import { freePort } from '../helpers/ports.ts';
import { administer } from '../helpers/postgres.ts';
import { type Account, must, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: TestService;
let account: Account;
const lines: string[] = [];

before(async () => {
	service = await startTestService({ onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url);
});
after(() => service.stop());

interface Case {
	id: string;
	type: string;
	credentials: object;
	/** Tells whether a request carries the credential. */
	isSigned(request: Recorded): boolean;
	/** Text that no other request may contain. */
	secret: string;
}

const basic = `Basic ${Buffer.from('ada:canary-pass:wörd').toString('base64')}`;
const CASES: Case[] = [
	{
		id: 'an API key in a header',
		type: 'api_key',
		credentials: { key: 'canary-header-key', name: 'X-Pet-Key', in: 'header' },
		isSigned: ({ headers }) => headers['x-pet-key'] === 'canary-header-key',
		secret: 'canary-header-key',
	},
	{
		id: 'an API key in the query',
		type: 'api_key',
		credentials: { key: 'canary+query&key', name: 'pet key', in: 'query' },
		isSigned: ({ line }) => line === 'GET /v1/plain?pet%20key=canary%2Bquery%26key HTTP/1.1',
		secret: 'canary%2Bquery%26key',
	},
	{
		id: 'an API key in a cookie',
		type: 'api_key',
		credentials: { key: 'canary-cookie-key', name: 'pet', in: 'cookie' },
		isSigned: ({ headers }) => headers['cookie'] === 'pet=canary-cookie-key',
		secret: 'canary-cookie-key',
	},
	{
		id: 'a bearer token',
		type: 'bearer_token',
		credentials: { token: 'canary-bearer' },
		isSigned: ({ headers }) => headers['authorization'] === 'Bearer canary-bearer',
		secret: 'canary-bearer',
	},
	{
		id: 'a user name and password',
		type: 'basic_auth',
		credentials: { username: 'ada', password: 'canary-pass:wörd' },
		isSigned: ({ headers }) => headers['authorization'] === basic,
		secret: basic.slice('Basic '.length),
	},
	{
		id: 'an OAuth client',
		type: 'oauth2',
		credentials: CLIENT,
		isSigned: ({ headers }) => headers['authorization'] === 'Bearer canary-access-1',
		secret: 'canary-access-1',
	},
];

const bytesOf = ({ line, headers, body }: Recorded): string => `${line}\n${JSON.stringify(headers)}\n${body.toString('latin1')}`;

/** Creates an API on a recording server, with a credential, and a second server on another origin. */
async function furnish(t: TestContext, { type, credentials }: Case) {
	const [own, other] = [await recorder(t), await recorder(t)];
	const tokens = await grantServer(t);
	const paths = {
		'/plain': get('plain'),
		'/none': get('none', { security: [] }),
		'/else': get('elsewhere', { servers: [{ url: other.origin }] }),
	};
	const api = await connectApi(account, own.origin, { paths, basePath: '/v1' });
	await api.store(type, type === 'oauth2' ? { ...credentials, tokenUrl: tokens.tokenUrl } : credentials);
	return { own, other, tokens, api };
}

async function sent(api: Connected, operationId: string, upstream: Recorder): Promise<Recorded> {
	const { body } = must(await api.run(operationId), 200);
	assert.equal(body.data.status, 'success', JSON.stringify(body.data));
	return upstream.take();
}

for (const one of CASES)
	describe(one.id, () => {
		test('reaches the origin of its API to the byte, and no other', async (t) => {
			const { own, other, tokens, api } = await furnish(t, one);
			const first = await sent(api, 'plain', own);
			assert.ok(one.isSigned(first), bytesOf(first));
			const unsigned = [await sent(api, 'none', own), await sent(api, 'elsewhere', other)];
			for (const request of unsigned) assert.ok(!bytesOf(request).includes(one.secret), bytesOf(request));
			for (const form of tokens.asked) assert.deepEqual([...form.keys()].toSorted(), ['client_id', 'client_secret', 'grant_type']);
			for (const headers of tokens.headers) assert.equal(headers.authorization ?? headers.cookie, undefined);
		});

		test('does not follow a redirect to another origin, also where that repeats it', async (t) => {
			const other = await recorder(t);
			const own = await httpUpstream(t, (request, response) =>
				response.writeHead(307, { location: `${other.origin}${request.url}` }).end(),
			);
			const tokens = await grantServer(t);
			const api = await connectApi(account, own.origin, { paths: { '/plain': get('plain') } });
			const credentials = one.type === 'oauth2' ? { ...one.credentials, tokenUrl: tokens.tokenUrl } : one.credentials;
			await api.store(one.type, credentials);
			const { data } = must(await api.run('plain'), 200).body;
			if (one.id.endsWith('query')) {
				assert.equal(data.error.code, 'EGRESS_REFUSED');
				assert.match(data.error.message, /carries the API’s credential/);
				assert.ok(!JSON.stringify(data).includes('canary'));
				return assert.equal(other.connections(), 0);
			}
			const request = other.take();
			assert.ok(!bytesOf(request).includes(one.secret), bytesOf(request));
		});

		test('is gone when the base URL moves, and is shown nowhere', async (t) => {
			const { own, other, api } = await furnish(t, one);
			await sent(api, 'plain', own);
			const shown = [
				...(await Promise.all([`/apis/${api.apiId}`, '/apis', '/audit-log'].map((path) => account.get(path)))),
				await account.post(`/apis/${api.apiId}/credentials/test`, {}),
			];
			for (const answer of shown) assert.ok(!JSON.stringify(must(answer, 200).body).includes('canary'), JSON.stringify(answer.body));
			must(await account.patch(`/apis/${api.apiId}`, { baseUrl: `${other.origin}/v1` }), 200);
			const request = await sent(api, 'plain', other);
			assert.ok(!bytesOf(request).includes(one.secret), bytesOf(request));
			must(await account.post(`/apis/${api.apiId}/credentials/test`, {}), 404);
		});
	});

/** Operations with alternatives: the credentials that are stored, and the headers that are then sent. */
const ALTERNATIVES: { id: string; security: object[]; stored: string[]; sent: string[] }[] = [
	{ id: 'the first that is stored', security: [{ bearer: [] }, { key: [] }], stored: ['api_key'], sent: ['x-key'] },
	{ id: 'the first of two', security: [{ bearer: [] }, { key: [] }], stored: ['api_key', 'bearer_token'], sent: ['authorization'] },
	{
		id: 'all of one that asks for two',
		security: [{ key: [], basic: [] }],
		stored: ['api_key', 'basic_auth'],
		sent: ['x-key', 'authorization'],
	},
	{ id: 'none of one that lacks a part', security: [{ key: [], basic: [] }], stored: ['api_key'], sent: [] },
	{ id: 'the next when a part is missing', security: [{ key: [], basic: [] }, { key: [] }], stored: ['api_key'], sent: ['x-key'] },
	{ id: 'none where none is asked for', security: [], stored: ['api_key', 'bearer_token'], sent: [] },
	{ id: 'none where it is optional and not stored', security: [{}, { key: [] }], stored: ['bearer_token'], sent: [] },
	{ id: 'one where it is optional and stored', security: [{}, { key: [] }], stored: ['api_key'], sent: ['x-key'] },
];
const STORED: Record<string, object> = {
	api_key: { key: 'k', name: 'X-Key', in: 'header' },
	bearer_token: { token: 'b' },
	basic_auth: { username: 'u', password: 'p' },
};

test('of an operation’s alternatives the first is sent that is stored whole', async (t) => {
	const upstream = await recorder(t);
	for (const { id, security, stored, sent: expected } of ALTERNATIVES) {
		const api = await connectApi(account, upstream.origin, { paths: { '/a': get('a', { security }) } });
		for (const type of stored) await api.store(type, STORED[type] ?? {});
		const { headers } = await sent(api, 'a', upstream);
		assert.deepEqual(
			['x-key', 'authorization'].filter((name) => headers[name] !== undefined),
			expected,
			id,
		);
	}
});

const UNSENDABLE: [type: string, credentials: object, path: RegExp][] = [
	['api_key', { key: 'k', name: 'Host', in: 'header' }, /name/],
	['api_key', { key: 'k', name: 'not a name', in: 'header' }, /name/],
	['api_key', { key: 'ключ', name: 'X-Key', in: 'header' }, /key/],
	['api_key', { key: 'a; admin=1', name: 'k', in: 'cookie' }, /key/],
	['api_key', { key: 'k', name: 'a=b', in: 'cookie' }, /name/],
	['bearer_token', { token: 'токен' }, /token/],
	['basic_auth', { username: 'a:b', password: 'p' }, /username/],
	['oauth2', { ...CLIENT, tokenUrl: 'http://10.0.0.1/token' }, /10\.0\.0\.1/],
	['oauth2', { ...CLIENT, tokenUrl: 'http://127.0.0.1:1/token', clientAuth: 'jwt' }, /clientAuth/],
];

test('a credential that could not be sent is a 400 that names the fault, and is not stored', async (t) => {
	const upstream = await recorder(t);
	const api = await connectApi(account, upstream.origin, { paths: { '/a': get('a') } });
	for (const [type, credentials, path] of UNSENDABLE) {
		const answer = must(await account.post(`/apis/${api.apiId}/credentials`, { type, credentials }), 400);
		assert.match(JSON.stringify([answer.body.message, answer.body.details]), path);
	}
});

describe('the test of what is stored', () => {
	const paths = { '/a': get('a') };

	test('says of each type whether the API takes it, and sends each its own', async (t) => {
		const seen: (string | undefined)[] = [];
		const upstream = await httpUpstream(t, ({ url, headers }, response) => {
			seen.push(url);
			const isKnown = headers.authorization === 'Bearer canary-good' || (headers['x-key'] === 'k' && !headers.authorization);
			response.writeHead(isKnown ? 200 : 401).end('canary-body');
		});
		const api = await connectApi(account, upstream.origin, { paths, basePath: '/v1' });
		const path = `/apis/${api.apiId}/credentials/test`;
		must(await account.post(path, {}), 404);
		await api.store('api_key', STORED['api_key'] ?? {});
		await api.store('bearer_token', { token: 'canary-bad' });
		must(await account.post(path, { type: 'basic_auth' }), 404);
		const { data } = must(await account.post(path, { path: '/me?x=1' }), 200).body;
		assert.deepEqual(
			[
				data.status,
				data.results.map(({ type, status, origin, httpStatus }: Record<string, unknown>) => [type, status, origin, httpStatus]),
			],
			[
				'refused',
				[
					['api_key', 'ok', upstream.origin, 200],
					['bearer_token', 'refused', upstream.origin, 401],
				],
			],
		);
		assert.ok(!JSON.stringify(data).includes('canary'));
		assert.deepEqual(seen, ['/v1/me?x=1', '/v1/me?x=1']);
		await api.store('bearer_token', { token: 'canary-good' });
		const one = must(await account.post(path, { type: 'bearer_token' }), 200).body.data;
		assert.deepEqual([one.status, one.results.length, seen.at(-1)], ['ok', 1, '/v1']);
		assert.match(one.results[0].message, /answered HTTP 200/);
	});

	test('shares no connection with another organization', async (t) => {
		const ports: (number | undefined)[] = [];
		const upstream = await httpUpstream(t, ({ socket }, response) => {
			ports.push(socket.remotePort);
			response.end();
		});
		for (const its of [account, await registerAccount(service.url)]) {
			const api = await connectApi(its, upstream.origin, { paths });
			await api.store('bearer_token', { token: 'b' });
			for (let turn = 0; turn < 2; turn++) must(await its.post(`/apis/${api.apiId}/credentials/test`, {}), 200);
		}
		assert.deepEqual([ports[1], ports[3]], [ports[0], ports[2]], 'each keeps its own');
		assert.notEqual(ports[0], ports[2]);
	});

	test('refuses a path that leaves the base URL', async (t) => {
		const upstream = await recorder(t);
		const api = await connectApi(account, upstream.origin, { paths, basePath: '/v1' });
		await api.store('bearer_token', { token: 'b' });
		for (const path of ['me', '//example.com/', '/../x', '/a/%2e%2E/x', '/a\\b', '/a#b', 'http://example.com/', '/a b'])
			assert.match(JSON.stringify(must(await account.post(`/apis/${api.apiId}/credentials/test`, { path }), 400).body), /path/, path);
		assert.equal(upstream.count(), 0);
	});

	test('asks for a token anew each time, and tells the OAuth error and nothing else of a refusal', async (t) => {
		const tokens = await grantServer(t);
		const upstream = await httpUpstream(t, ({ headers }, response) =>
			response.writeHead(tokens.isGood(headers.authorization) ? 204 : 401).end(),
		);
		const api = await connectApi(account, upstream.origin, { paths });
		await api.store('oauth2', { ...CLIENT, tokenUrl: tokens.tokenUrl });
		const tried = async () => must(await account.post(`/apis/${api.apiId}/credentials/test`, {}), 200).body.data.results[0];
		for (const asked of [1, 2]) {
			const { status, httpStatus } = await tried();
			assert.deepEqual([status, httpStatus, tokens.asked.length], ['ok', 204, asked]);
		}
		await api.store('oauth2', { ...CLIENT, tokenUrl: tokens.tokenUrl, clientSecret: 'canary-wrong' });
		const refused = await tried();
		assert.deepEqual([refused.status, refused.httpStatus], ['refused', null]);
		assert.equal(refused.message, `The token server 127.0.0.1:${tokens.port} answered 401 with the OAuth error invalid_client.`);
	});

	test('tells of an API that cannot be reached, that redirects elsewhere, or that the guard shuts', async (t) => {
		const other = await recorder(t);
		const moved = await httpUpstream(t, (_request, response) => response.writeHead(302, { location: other.origin }).end());
		const broken = await httpUpstream(t, (_request, response) => response.writeHead(503).end());
		const shut = await httpUpstream(t, (_request, response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end());
		const cases: [string, RegExp][] = [
			[`http://127.0.0.1:${await freePort()}`, /refused the connection/],
			[moved.origin, /redirected to .*, to which the credential is not sent/],
			[broken.origin, /503/],
			[shut.origin, /10\.0\.0\.1/],
		];
		for (const [origin, message] of cases) {
			const api = await connectApi(account, origin, { paths });
			await api.store('bearer_token', { token: 'b' });
			const { data } = must(await account.post(`/apis/${api.apiId}/credentials/test`, {}), 200).body;
			assert.equal(data.status, 'unreachable', origin);
			assert.match(data.results[0].message, message);
		}
		assert.equal(other.count(), 0);
	});
});

describe('a dry run', () => {
	test('shows the request that would be sent, secrets hidden, and sends nothing', async (t) => {
		const { own, tokens, api } = await furnish(t, CASES[5] ?? assert.fail());
		const before = [own.connections(), tokens.connections()];
		const { data } = must(await api.run('plain', {}, '?dryRun=true'), 200).body;
		assert.equal(data.request.headers.authorization, 'Bearer ••••');
		assert.deepEqual(
			[data.result, data.status, data.request.method, data.request.url, data.request.body, data.request.bodyEncoding],
			[null, 'success', 'GET', `${own.origin}/v1/plain`, null, null],
		);
		assert.deepEqual([own.connections(), tokens.connections()], before);
	});

	for (const [index, place] of [
		'x-pet-key: ••••',
		'?pet%20key=••••',
		'cookie: pet=••••',
		'authorization: Bearer ••••',
		'authorization: Basic ••••',
	].entries())
		test(`hides ${CASES[index]?.id}: ${place}`, async (t) => {
			const { own, api } = await furnish(t, CASES[index] ?? assert.fail());
			const answer = must(await api.run('plain', {}, '?dryRun=true'), 200);
			const { url, headers } = answer.body.data.request;
			const lines = [url, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
			assert.ok(
				lines.some((line) => line.endsWith(place)),
				lines.join('\n'),
			);
			assert.ok(!JSON.stringify(answer.body).includes('canary'));
			assert.equal(own.connections(), 0);
			const real = await sent(api, 'plain', own);
			// Apart from the secret and the framing headers, the shown request equals the real one.
			const names = Object.keys(real.headers).filter((name) => !['host', 'connection', 'content-length'].includes(name));
			assert.deepEqual(Object.keys(headers).toSorted(), names.toSorted());
			for (const name of names) if (!headers[name].includes('••••')) assert.equal(headers[name], real.headers[name], name);
		});

	test('knows where a key goes that was stored before its place was kept beside it', async (t) => {
		const { api } = await furnish(t, CASES[1] ?? assert.fail());
		const { database } = service.config;
		await administer(database ?? assert.fail(), 'UPDATE api_credentials SET place = NULL');
		const { url } = must(await api.run('plain', {}, '?dryRun=true'), 200).body.data.request;
		assert.ok(url.endsWith('?pet%20key=••••'), url);
	});

	test('writes bodies as text or base64, checks arguments alike, and is no run', async (t) => {
		const upstream = await recorder(t);
		const octets = (schema: object) => ({ content: { 'application/octet-stream': { schema } }, required: true });
		// OpenAPI 3.1, “Working with Binary Data”: bytes have no `contentEncoding`; with one, it is the encoded text that travels.
		const [binary, encoded] = [octets({}), octets({ type: 'string', contentEncoding: 'base64' })];
		const object = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
		const responses = { 200: { description: 'ok' } };
		const paths = {
			'/text': {
				post: { operationId: 'sendText', requestBody: { content: { 'application/json': { schema: object } }, required: true }, responses },
			},
			'/bytes': { put: { operationId: 'sendBytes', requestBody: binary, responses } },
			'/encoded': { put: { operationId: 'sendEncoded', requestBody: encoded, responses } },
		};
		const api = await connectApi(account, upstream.origin, { paths });
		const text = must(await api.run('sendText', { body: { n: 7 } }, '?dryRun=true'), 200).body.data.request;
		assert.deepEqual(
			[text.method, text.body, text.bodyEncoding, text.headers['content-type']],
			['POST', '{"n":7}', 'text', 'application/json'],
		);
		const bytes = must(await api.run('sendBytes', { body: '/w==' }, '?dryRun=true'), 200).body.data.request;
		assert.deepEqual([bytes.method, bytes.body, bytes.bodyEncoding], ['PUT', '/w==', 'base64']);
		const still = must(await api.run('sendEncoded', { body: '/w==' }, '?dryRun=true'), 200).body.data.request;
		assert.deepEqual([still.method, still.body, still.bodyEncoding], ['PUT', '/w==', 'text']);
		assert.match(must(await api.run('sendText', { body: { n: 'x' } }, '?dryRun=true'), 400).body.message, /n/);
		for (const query of ['?dryRun=yes', '?dryRun=1', '?dryRun=', '?dry=true', '?dryRun=true&dryRun=true'])
			assert.match(JSON.stringify(must(await api.run('sendText', { body: { n: 7 } }, query), 400).body), /dry/, query);
		assert.equal(upstream.connections(), 0);
		must(await api.run('sendText', { body: { n: 7 } }, '?dryRun=false'), 200);
		assert.equal(upstream.count(), 1);
	});

	test('reports a refusal of the guard as a real run does, and sends nothing', async (t) => {
		const upstream = await recorder(t);
		const servers = [{ url: 'http://10.0.0.1' }];
		const api = await connectApi(account, upstream.origin, { paths: { '/a': get('a', { servers }) } });
		const [dry, real] = [must(await api.run('a', {}, '?dryRun=true'), 200).body.data, must(await api.run('a'), 200).body.data];
		assert.deepEqual([dry.status, dry.error], ['failed', real.error]);
		assert.equal(dry.error.code, 'EGRESS_REFUSED');
	});
});

test('no line of the log holds a secret of these', () => {
	assert.ok(lines.length > 100);
	assert.deepEqual(
		lines.filter((line) => line.includes('canary')),
		[],
	);
});
