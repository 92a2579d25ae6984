// Tests tools of HTTP and GraphQL APIs with each kind of credential, over the management API and through a gateway, against real servers:
// one that records the bytes that it received, a GraphQL server, an OAuth token server.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { graphqlServer } from '../helpers/graphql.ts';
import { mcpClient } from '../helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';
import { type TokenServer, tokenServer } from '../helpers/token-server.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: SharedService;
let account: Account;

before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

/** A request that an API received. */
interface Seen {
	url: string;
	headers: Record<string, string | string[] | undefined>;
	body: string;
}

interface Credential {
	what: string;
	type: string;
	/** @returns the credentials to store, and a check whether a request carries them */
	make(t: TestContext): Promise<{ credentials: object; isCarried(seen: Seen): boolean | Promise<boolean>; tokens?: TokenServer }>;
}

const KEY = 'k-&?=% "ü';
const HEADER_KEY = 'key of a header-7';

const queryOf = (url: string): URLSearchParams => new URL(url, 'http://x').searchParams;
const oauth = (auth: 'client_secret_post' | 'client_secret_basic'): Credential => ({
	what: `oauth2, ${auth}`,
	type: 'oauth2',
	async make(t) {
		const tokens = await tokenServer(t, auth);
		const isCarried = ({ headers }: Seen): Promise<boolean> => tokens.isGranted(String(headers['authorization']).replace(/^Bearer /, ''));
		return { credentials: tokens.credentials, isCarried, tokens };
	},
});

const CREDENTIALS: Credential[] = [
	{
		what: 'api_key in a header',
		type: 'api_key',
		make: async () => ({
			credentials: { key: HEADER_KEY, name: 'X-Pet-Key', in: 'header' },
			isCarried: ({ headers }) => headers['x-pet-key'] === HEADER_KEY,
		}),
	},
	{
		what: 'api_key in the query',
		type: 'api_key',
		make: async () => ({
			credentials: { key: KEY, name: 'pet key', in: 'query' },
			isCarried: ({ url }) => queryOf(url).get('pet key') === KEY,
		}),
	},
	{
		what: 'api_key in a cookie',
		type: 'api_key',
		make: async () => ({
			credentials: { key: 'cookie-key', name: 'pet', in: 'cookie' },
			isCarried: ({ headers }) => headers['cookie'] === 'pet=cookie-key',
		}),
	},
	{
		what: 'bearer_token',
		type: 'bearer_token',
		make: async () => ({
			credentials: { token: 'a-bearer-token' },
			isCarried: ({ headers }) => headers['authorization'] === 'Bearer a-bearer-token',
		}),
	},
	{
		what: 'basic_auth',
		type: 'basic_auth',
		make: async () => ({
			credentials: { username: 'ada', password: 'pass:wörd' },
			isCarried: ({ headers }) => headers['authorization'] === `Basic ${Buffer.from('ada:pass:wörd').toString('base64')}`,
		}),
	},
	oauth('client_secret_post'),
	oauth('client_secret_basic'),
];

/** An API with one operation, and the answer that its calls must give. */
interface Target {
	type: string;
	baseUrl: string;
	schema: { schemaContent?: string; schemaUrl?: string };
	tool: string;
	args: object;
	answer: object;
	/** The requests of the tool alone, so far. */
	seen: Seen[];
}

const PATHS = {
	'/pets/{id}': {
		post: {
			operationId: 'addToy',
			parameters: [
				{ name: 'id', in: 'path', required: true, schema: { type: 'string' } },
				{ name: 'tags', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
			],
			requestBody: {
				required: true,
				content: { 'application/json': { schema: { type: 'object', properties: { name: { type: 'string' } } } } },
			},
			responses: { 200: { description: 'x', content: { 'application/json': { schema: { type: 'object' } } } } },
		},
	},
};

async function httpTarget(t: TestContext, isAllowed: (seen: Seen) => boolean | Promise<boolean>): Promise<Target> {
	const seen: Seen[] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		let body = '';
		for await (const chunk of request) body += chunk;
		const one = { url: request.url ?? '', headers: request.headers, body };
		seen.push(one);
		const isGood = await isAllowed(one);
		response
			.writeHead(isGood ? 200 : 401, { 'content-type': 'application/json' })
			.end(JSON.stringify(isGood ? { toy: JSON.parse(body) } : { who: 'are you' }));
	});
	const document = { openapi: '3.1.0', info: { title: 'Pets', version: '1' }, servers: [{ url: upstream.origin }], paths: PATHS };
	return {
		type: 'openapi',
		baseUrl: upstream.origin,
		schema: { schemaContent: JSON.stringify(document) },
		tool: 'addToy',
		args: { id: 'a/b', tags: ['x', 'y z'], body: { name: 'bäll' } },
		answer: { toy: { name: 'bäll' } },
		seen,
	};
}

async function graphqlTarget(t: TestContext, isAllowed: (seen: Seen) => boolean | Promise<boolean>): Promise<Target> {
	const seen: Seen[] = [];
	const upstream = await graphqlServer(t, ({ url, headers, query }) => {
		const one = { url, headers, body: query };
		seen.push(one);
		return isAllowed(one);
	});
	const baseUrl = `${upstream.origin}/graphql`;
	return { type: 'graphql', baseUrl, schema: { schemaUrl: baseUrl }, tool: 'old', args: {}, answer: { old: 1 }, seen };
}

interface Connected {
	apiId: string;
	toolId: string;
	execute(args: object): Promise<{ result: unknown; status: string; error?: { message: string } }>;
	call(args: object): Promise<{ structuredContent?: unknown; isError?: boolean; content: unknown }>;
}

async function connect(t: TestContext, target: Target, credential: { type: string; credentials: object } | null): Promise<Connected> {
	const { type, baseUrl, schema } = target;
	const apiId: string = must(await account.post('/apis', { name: 'Pets', type, baseUrl }), 201).body.data.id;
	if (credential) must(await account.post(`/apis/${apiId}/credentials`, credential), 201);
	must(await account.post(`/apis/${apiId}/import-schema`, { ...schema, generateTools: true }), 200);
	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data;
	const toolId: string = tools.find(({ name }: { name: string }) => name === target.tool)?.id ?? assert.fail('no tool');
	const gateway = await publishGateway(account, { toolIds: [toolId] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	const path = `/organizations/${account.organization.id}/tools/${toolId}/execute`;
	return {
		apiId,
		toolId,
		execute: async (args) => must(await account.post(path, { parameters: args }), 200).body.data,
		call: (args) => client.callTool({ name: target.tool, arguments: { ...args } }) as ReturnType<Connected['call']>,
	};
}

for (const [executor, targetFor] of [
	['http', httpTarget],
	['graphql', graphqlTarget],
] as const)
	describe(`A tool of the ${executor} executor`, () => {
		for (const { what, type, make } of CREDENTIALS)
			test(`calls with ${what}, over the management API and through a gateway`, async (t) => {
				const { credentials, isCarried, tokens } = await make(t);
				const target = await targetFor(t, isCarried);
				const { execute, call } = await connect(t, target, { type, credentials });
				const executed = await execute(target.args);
				assert.deepEqual([executed.status, executed.result], ['success', target.answer], JSON.stringify(executed.error));
				const called = await call(target.args);
				assert.deepEqual([called.structuredContent, called.isError], [target.answer, undefined], JSON.stringify(called.content));
				assert.equal(target.seen.length, 2);
				if (tokens) assert.equal(tokens.granted(), 1, 'both calls with one token');
				if (executor === 'http') assert.match(target.seen[0]?.url ?? '', /^\/pets\/a%2Fb\?tags=x&tags=y%20z(&|$)/);
			});

		test('is refused by the upstream when there is no credential', async (t) => {
			const target = await targetFor(t, () => false);
			const { execute, call } = await connect(t, target, null);
			const { status, error } = await execute(target.args);
			assert.equal(status, 'failed');
			assert.match(error?.message ?? '', /^HTTP 401 Unauthorized\n/);
			assert.equal((await call(target.args)).isError, true);
		});
	});

test('An operation with a server of its own is called there, without the API’s credential', async (t) => {
	const seen: Seen[] = [];
	const elsewhere = await httpUpstream(t, (request, response) => {
		seen.push({ url: request.url ?? '', headers: request.headers, body: '' });
		response.setHeader('content-type', 'application/json').end('{"ok":true}');
	});
	const target = await httpTarget(t, () => true);
	const servers = [{ url: `${elsewhere.origin}/{version}`, variables: { version: { default: 'v2' } } }];
	const paths = {
		'/far/{id}': {
			get: { operationId: 'far', servers, parameters: PATHS['/pets/{id}'].post.parameters, responses: { 200: { description: 'x' } } },
		},
	};
	const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, servers: [{ url: target.baseUrl }], paths };
	for (const credentials of [
		{ type: 'bearer_token', credentials: { token: 'canary-token' } },
		{ type: 'api_key', credentials: { key: 'canary-key', name: 'key', in: 'query' } },
	]) {
		const { execute } = await connect(t, { ...target, tool: 'far', schema: { schemaContent: JSON.stringify(document) } }, credentials);
		assert.deepEqual((await execute({ id: 'a' })).result, { ok: true });
	}
	assert.deepEqual(
		seen.map(({ url }) => url),
		['/v2/far/a', '/v2/far/a'],
	);
	assert.ok(!JSON.stringify(seen).includes('canary'));
	assert.equal(target.seen.length, 0);
});

/** Values of rows 19 and 20 of the security catalog. */
const CLIMBING: [value: string, segment: string | null][] = [
	['..', null],
	['.', null],
	['', null],
	['%2e%2e', '%252e%252e'],
	['a/b', 'a%2Fb'],
	['a?x', 'a%3Fx'],
	['a#b', 'a%23b'],
	['\\', '%5C'],
	['..\\..\\', '..%5C..%5C'],
	['../../admin', '..%2F..%2Fadmin'],
];

describe('A tool written by hand', () => {
	const path = (): string => `/organizations/${account.organization.id}/tools`;
	const create = (executionConfig: object) =>
		account.post(path(), { name: 'by_hand', description: 'x', type: 'http', parameters: { type: 'object' }, executionConfig });

	test('19. does not leave its path, whatever its arguments', async (t) => {
		const lines: string[] = [];
		const upstream = await httpUpstream(t, (request, response) => {
			lines.push(request.url ?? '');
			response.end('ok');
		});
		const { id } = must(await create({ method: 'GET', url: `${upstream.origin}/v1/pets/{id}/toys` }), 201).body.data;
		for (const [value, segment] of CLIMBING) {
			const answer = await account.post(`${path()}/${id}/execute`, { parameters: { id: value } });
			assert.deepEqual([answer.status, lines.splice(0)], segment === null ? [400, []] : [200, [`/v1/pets/${segment}/toys`]], value);
			if (segment === null) assert.deepEqual([answer.body.error, answer.body.details[0].path], ['VALIDATION_FAILED', '/parameters/id']);
		}
	});

	test('20. takes no header that frames the message or divides it', async (t) => {
		let requests = 0;
		const upstream = await httpUpstream(t, (_request, response) => {
			requests += 1;
			response.end('ok');
		});
		for (const name of ['Host', 'content-length', 'Transfer-Encoding', 'Connection', 'a b', 'a\r\nb']) {
			const { body } = must(await create({ method: 'GET', url: upstream.origin, headers: { [name]: '{value}' } }), 400);
			assert.equal(body.details[0].path, '/executionConfig/headers', name);
		}
		const { id } = must(await create({ method: 'GET', url: upstream.origin, headers: { 'X-Team': '{value}' } }), 201).body.data;
		for (const value of ['a\r\nX-Injected: 1', 'a\nb', 'a\u0000', '日本'])
			must(await account.post(`${path()}/${id}/execute`, { parameters: { value } }), 400);
		assert.equal(requests, 0);
		must(await account.post(`${path()}/${id}/execute`, { parameters: { value: 'a' } }), 200);
		assert.equal(requests, 1);
	});
});
