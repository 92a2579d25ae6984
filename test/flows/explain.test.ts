// Compares what an explanation says with what the call itself gets, situation by situation.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { bearer, type GuardedGateway, guardedGateway, type MethodBody } from '../helpers/gateway-auth.ts';
import { freePort } from '../helpers/ports.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const wide = { max: 1_000_000, seconds: 60 };
const AT_GATEWAY = 14;
const limits = { global: wide, categories: { health: null }, invoke: wide, gateways: { max: AT_GATEWAY, seconds: 3600 }, routes: {} };
const CANARY = 'canary-41d7';

let service: TestService;
let account: Account;
let other: Account;
let toolId: string;
let calls = 0;
const lines: string[] = [];
const ends: (() => unknown)[] = [];

const PARAMETERS = { type: 'object', properties: { id: { type: 'integer' } }, additionalProperties: false };

before(async () => {
	service = await startTestService({ limits, env: { TRUST_PROXY: '127.0.0.1' }, onLog: (line) => void lines.push(line) });
	account = await registerAccount(service.url, 'Acme');
	other = await registerAccount(service.url, 'Other');
	// A server of tests needs no more of its test than when it ends.
	const ending = { after: (end: () => unknown) => void ends.push(end) } as unknown as Parameters<typeof httpUpstream>[0];
	const upstream = await httpUpstream(ending, (_request, response) => {
		calls++;
		response.setHeader('content-type', 'application/json').end('{"ok":true}');
	});
	toolId = await createHttpTool(account, { name: 'look', url: `${upstream.origin}/look`, parameters: PARAMETERS });
});
after(async () => {
	await service.stop();
	for (const end of ends) end();
});

interface Situation {
	gateway: { id: string; url: string };
	headers?: Record<string, string>;
	/** The body of the explanation; default: the headers. */
	given?: object;
	tool?: string;
	args?: object;
}

const KEY: MethodBody[] = [{ type: 'api_key' }];

async function guarded(methods: MethodBody[] = KEY, toolIds = [toolId]): Promise<GuardedGateway & { key: string; keyId: string }> {
	const gateway = await guardedGateway(account, methods, toolIds, 'utcp');
	return { ...gateway, ...(await keyOf(gateway.id)) };
}

async function keyOf(gatewayId: string, fields: object = {}): Promise<{ key: string; keyId: string }> {
	const made = must(await account.post(`/gateways/${gatewayId}/auth/api-keys`, { name: 'k', ...fields }), 201).body.data;
	return { key: made.key, keyId: made.id };
}

const withKey = (key: string): Record<string, string> => ({ 'x-api-key': key });

const call = ({ gateway, headers = {}, tool = 'look', args = {} }: Situation): Promise<Answer> =>
	send(`${gateway.url}/tools/${tool}`, 'POST', { body: args, headers });

const explain = async ({ gateway, headers = {}, given, tool = 'look', args = {} }: Situation): Promise<Answer['body']> =>
	must(await account.post(`/gateways/${gateway.id}/explain`, { headers, tool, arguments: args, ...given }), 200).body.data;

/** Each makes its situation, and names the step that refuses; null when the call is admitted. */
const SITUATIONS: Record<string, { step: string | null; make(): Promise<Situation> }> = {
	'a good key': {
		step: null,
		make: async () => {
			const gateway = await guarded();
			return { gateway, headers: withKey(gateway.key) };
		},
	},
	'the id of a good key': {
		step: null,
		make: async () => {
			const gateway = await guarded();
			return { gateway, headers: withKey(gateway.key), given: { headers: {}, keyId: gateway.keyId } };
		},
	},
	'a key on its own, where the method looks in a header of its own': {
		step: null,
		make: async () => {
			const gateway = await guarded([{ type: 'api_key', configuration: { keyHeader: 'X-Desk-Key' } }]);
			return { gateway, headers: { 'x-desk-key': gateway.key }, given: { headers: {}, credential: gateway.key } };
		},
	},
	'no credential': { step: 'authentication', make: async () => ({ gateway: await guarded() }) },
	'no method at all': { step: 'authentication', make: async () => ({ gateway: await guarded([]) }) },
	'no credential where none is needed': { step: null, make: async () => ({ gateway: await guarded([{ type: 'none' }]) }) },
	'a made-up key': { step: 'authentication', make: async () => ({ gateway: await guarded(), headers: withKey(`svc_gw_${CANARY}`) }) },
	'the key of another gateway': {
		step: 'authentication',
		make: async () => ({ gateway: await guarded(), headers: withKey((await guarded()).key) }),
	},
	'a member of another organization': {
		step: 'authentication',
		make: async () => ({ gateway: await guarded([{ type: 'bearer_token' }]), headers: bearer(other.token) }),
	},
	'a member': { step: null, make: async () => ({ gateway: await guarded([{ type: 'bearer_token' }]), headers: bearer(account.token) }) },
	'a revoked key, by its id': {
		step: 'authentication',
		make: async () => {
			const gateway = await guarded();
			must(await account.del(`/gateways/${gateway.id}/auth/api-keys/${gateway.keyId}`), 200);
			return { gateway, headers: withKey(gateway.key), given: { headers: {}, keyId: gateway.keyId } };
		},
	},
	'an address that is not allowed': {
		step: 'authentication',
		make: async () => {
			const gateway = await guarded([{ type: 'api_key', validationRules: { allowedIpRanges: ['203.0.113.0/24'] } }]);
			return { gateway, headers: withKey(gateway.key) };
		},
	},
	'an address that is allowed': {
		step: null,
		make: async () => {
			const gateway = await guarded([{ type: 'api_key', validationRules: { allowedIpRanges: ['203.0.113.0/24'] } }]);
			const headers = { ...withKey(gateway.key), 'x-forwarded-for': '203.0.113.7' };
			return { gateway, headers, given: { headers: withKey(gateway.key), address: '203.0.113.7' } };
		},
	},
	'a header that a rule wants': {
		step: 'authentication',
		make: async () => {
			const gateway = await guarded([{ type: 'api_key', validationRules: { requiredHeaders: ['x-desk'] } }]);
			return { gateway, headers: withKey(gateway.key) };
		},
	},
	'an inactive gateway': {
		step: 'gateway',
		make: async () => {
			const gateway = await guarded();
			must(await account.patch(`/gateways/${gateway.id}`, { status: 'inactive' }), 200);
			return { gateway, headers: withKey(gateway.key) };
		},
	},
	'a key without the scope': {
		step: 'scope',
		make: async () => {
			const gateway = await guarded();
			return { gateway, headers: withKey((await keyOf(gateway.id, { scopes: ['tools:read'] })).key) };
		},
	},
	'a tool that is not assigned': {
		step: 'tool',
		make: async () => {
			const gateway = await guarded(KEY, []);
			return { gateway, headers: withKey(gateway.key) };
		},
	},
	'an inactive tool': {
		step: 'tool',
		make: async () => {
			const id = await createHttpTool(account, { name: 'asleep', url: 'https://example.com/' });
			const gateway = await guarded(KEY, [id]);
			must(await account.patch(`/tools/${id}`, { status: 'inactive' }), 200);
			return { gateway, headers: withKey(gateway.key), tool: 'asleep' };
		},
	},
	'arguments that do not fit': {
		step: 'arguments',
		make: async () => {
			const gateway = await guarded();
			return { gateway, headers: withKey(gateway.key), args: { id: 'seven' } };
		},
	},
	'a full window of the gateway': {
		step: 'rate_limit',
		make: async () => {
			const gateway = await guarded();
			for (let at = 0; at < AT_GATEWAY; at++) must(await call({ gateway, headers: withKey(gateway.key) }), 200);
			return { gateway, headers: withKey(gateway.key) };
		},
	},
	'a full window of the tool': {
		step: 'tool_rate_limit',
		make: async () => {
			const gateway = await guarded(KEY, []);
			must(await account.post(`/gateways/${gateway.id}/tools`, { toolId, rateLimit: 1 }), 201);
			must(await call({ gateway, headers: withKey(gateway.key) }), 200);
			return { gateway, headers: withKey(gateway.key) };
		},
	},
	'an API that keeps failing': {
		step: 'breaker',
		make: async () => {
			const document = {
				...{ openapi: '3.0.3', info: { title: 't', version: '1' } },
				paths: { '/pets': { post: { operationId: 'make_pet', responses: { 200: { description: 'ok' } } } } },
			};
			const baseUrl = `http://127.0.0.1:${await freePort()}`;
			const api = must(await account.post('/apis', { name: 'Down', type: 'openapi', baseUrl }), 201).body.data;
			must(await account.post(`/apis/${api.id}/import-schema`, { schemaContent: JSON.stringify(document) }), 200);
			must(await account.post(`/apis/${api.id}/generate-tools`, {}), 200);
			const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools?q=make_pet`), 200).body.data;
			const gateway = await guarded(KEY, [tools[0].id]);
			for (let at = 0; at < 12; at++) await call({ gateway, headers: withKey(gateway.key), tool: 'make_pet' });
			return { gateway, headers: withKey(gateway.key), tool: 'make_pet' };
		},
	},
};

/** Names that this protocol has for errors. */
const IN_UTCP: Record<string, string> = { VALIDATION_FAILED: 'INVALID_PARAMS', UPSTREAM_FAILED: 'EXECUTION_FAILED' };

for (const [name, { step, make }] of Object.entries(SITUATIONS)) {
	test(`${name}: the explanation says what the call gets`, async () => {
		const situation = await make();
		const before = calls;
		const explained = await explain(situation);
		assert.equal(calls, before, 'nothing was called');
		const again = await explain(situation);
		assert.deepEqual([again.verdict, again.code], [explained.verdict, explained.code], 'nothing was counted');
		const real = await call(situation);
		const text = JSON.stringify({ explained, real: real.body, status: real.status });
		assert.equal(explained.verdict, step === null ? 'admitted' : 'refused', text);
		assert.equal(explained.steps.find(({ outcome }: { outcome: string }) => outcome === 'refused')?.step ?? null, step, text);
		assert.equal(real.status < 400, step === null, text);
		if (step === null) return;
		assert.equal(real.status, explained.status, text);
		const said = real.body.error.code ?? real.body.error;
		assert.equal(IN_UTCP[explained.code] ?? explained.code, said, text);
	});
}

test('each method says what it found, and later steps are unknown', async () => {
	const gateway = await guarded([{ type: 'basic_auth' }, { type: 'api_key' }, { type: 'none', isRequired: false }]);
	const { steps } = await explain({ gateway, headers: withKey('svc_gw_nothing') });
	const { methods } = steps.find(({ step }: { step: string }) => step === 'authentication');
	assert.deepEqual(
		methods.map(({ method, outcome }: Record<string, string>) => [method, outcome]),
		[
			['basic_auth', 'no_credential'],
			['api_key', 'refused'],
			['none', 'not_asked'],
		],
	);
	assert.equal(steps.find(({ step }: { step: string }) => step === 'breaker').outcome, 'unknown');
});

test('without a tool, only the way to the gateway is explained', async () => {
	const gateway = await guarded();
	const answer = must(await account.post(`/gateways/${gateway.id}/explain`, { keyId: gateway.keyId }), 200).body.data;
	assert.deepEqual(
		answer.steps.map(({ step, outcome }: Record<string, string>) => `${step} ${outcome}`),
		['gateway passed', 'address passed', 'authentication passed', 'rate_limit passed'],
	);
	assert.equal(answer.caller.subject, `key:${gateway.keyId}`);
});

test('what belongs to another organization is not found, and its tool is none', async () => {
	const gateway = await guarded();
	assert.equal((await other.post(`/gateways/${gateway.id}/explain`, {})).status, 404);
	const theirs = must(await other.post('/gateways', { name: 'g', type: 'utcp', endpoint: '/theirs' }), 201).body.data;
	const key = must(await other.post(`/gateways/${theirs.id}/auth/api-keys`, { name: 'k' }), 201).body.data;
	assert.equal((await account.post(`/gateways/${gateway.id}/explain`, { keyId: key.id })).status, 404);
	const tool = must(
		await other.post(`/organizations/${other.organization.id}/tools`, {
			name: 'x',
			description: 'x',
			type: 'http',
			executionConfig: { method: 'GET', url: 'https://example.com' },
		}),
		201,
	).body.data.id;
	const unknown = '00000000-0000-4000-8000-000000000000';
	const [one, none] = [
		await explain({ gateway, given: { keyId: gateway.keyId }, tool }),
		await explain({ gateway, given: { keyId: gateway.keyId }, tool: unknown }),
	];
	const said = ({ steps }: Answer['body']) => steps.map(({ limit: _limit, ...step }: Record<string, unknown>) => step);
	assert.deepEqual(said(one), said(none));
});

test('a wrong field is named; a credential and the id of a key are not both given', async () => {
	const { id } = await guarded();
	for (const [given, path] of [
		[{ address: 'here' }, '/address'],
		[{ keyId: 'x' }, '/keyId'],
		[{ headers: { 'a b': 'c' } }, '/headers/a b'],
		[{ tool: '' }, '/tool'],
	] as const) {
		const { status, body } = await account.post(`/gateways/${id}/explain`, given);
		assert.deepEqual([status, body.details[0].path], [400, path]);
	}
	assert.equal((await account.post(`/gateways/${id}/explain`, { credential: 'a', keyId: id })).status, 400);
});

test('no credential that was tried is in the log', () => {
	assert.ok(lines.length > 0);
	for (const line of lines) assert.ok(!line.includes(CANARY), line);
});
