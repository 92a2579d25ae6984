// Tests a third party's package that breaks its contracts: each fault is answered in our form, logged under the plugin's name, and leaves
// nothing behind for the next request.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

let packages: InstalledPackages;
let service: TestService;
let account: Account;
let gateway: { id: string; url: string };
/** The gateway’s own answer, before anything went wrong. */
let shown: unknown;
let lines: Record<string, unknown>[] = [];

const PARAMETERS = { type: 'object', properties: { name: { type: 'string' } } };

before(async () => {
	packages = installPackages('unruly-plugin');
	const onLog = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
	service = await startTestService({ env: { GATEWAY_PLUGINS: packages.names.join(',') }, onLog });
	account = await registerAccount(service.url, 'Acme');
	const toolIds: string[] = [];
	for (const name of ['odd', 'another']) {
		const made = await account.post(`/organizations/${account.organization.id}/tools`, {
			name,
			type: 'unruly_tool',
			parameters: PARAMETERS,
		});
		toolIds.push(must(made, 201).body.data.id);
	}
	gateway = await publishGateway(account, { type: 'unruly', endpoint: '/main', auth: 'unruly_door', toolIds });
	shown = must(await ask('', {}), 200).body;
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

interface Asked {
	path?: string;
	caller?: string;
}

function ask(method: '' | 'POST', { path = '', caller = 'good' }: Asked): Promise<Answer> {
	return send(gateway.url + path, method || 'GET', { headers: { 'x-name': encodeURIComponent(caller) } });
}

/** Asserts that the answer is a 500 of ours, and that a line of the log names the plugin and the fault. */
function isOurFault({ status, body }: Answer, plugin: string, said: RegExp): void {
	assert.equal(status, 500);
	const { success, error, statusCode, requestId, message } = body;
	assert.deepEqual([success, error, statusCode, typeof requestId], [false, 'INTERNAL', 500, 'string']);
	assert.doesNotMatch(message, /canary/);
	const line = lines.find((one) => one['requestId'] === requestId && one['msg'] === 'request failed') ?? assert.fail('it was not logged');
	assert.equal(line['plugin'], plugin);
	assert.match(`${line['error']} ${line['cause']}`, said);
}

async function isUnharmed(): Promise<void> {
	assert.deepEqual(must(await ask('', {}), 200).body, shown, 'the next request sees everything as it was');
}

const REPLIES: [name: string, said: RegExp][] = [
	['nothing', /must be an object with a status/],
	['text', /must be an object with a status/],
	['empty', /status from 200 to 599/],
	['status 999', /not 999/],
	['status 101', /not 101/],
	['line break', /a header that cannot be sent: "x-a"/],
	['name of a header', /a header that cannot be sent: "a b"/],
	['length of a body', /may not have the header "content-length"/],
	['own cookie', /may not set the cookie gatehouse_token/],
	['bigint', /\/a is a bigint/],
	['circular', /contains itself/],
	['number', /not a number/],
	['promise', /an instance of Promise/],
	['ended stream', /a stream that can still be read/],
	['stream of objects', /stream/],
	['thrown text', /canary/],
	['thrown null', /null/],
	['thrown', /canary/],
	['put 2 MB', /records\.put: the value must have at most 1048576/],
	['put a text', /records\.put: the value must be a JSON object/],
	['put for ever', /kv\.put: ttlMs must be a finite number/],
	['sort tools', /read only|not extensible|Cannot/],
	['push a tool', /not extensible/],
	['cut tools', /read only|Cannot/],
	['rename a tool', /read only/],
	['change a schema', /not extensible/],
	['change a config', /not extensible/],
	['change the gateway', /read only/],
	['change the caller', /not extensible/],
	['change settings', /read only/],
];
for (const [name, said] of REPLIES) {
	test(`a handler’s fault, ${name}, is a 500 of that request`, async () => {
		isOurFault(await ask('POST', { path: `/${encodeURIComponent(name)}` }), 'transport:unruly', said);
		await isUnharmed();
	});
}

const CALLERS: [name: string, said: RegExp][] = [
	['true', /must be an object or null/],
	['empty', /must have a subject/],
	['scopes as text', /must have a list of scopes/],
	['unknown scope', /must have a list of scopes/],
	['another one’s key', /userId, memberSince and keyId/],
	['endless subject', /must have a subject/],
	['thrown', /canary/],
];
for (const [name, said] of CALLERS) {
	test(`a method’s fault, ${name}, lets nobody in`, async () => {
		isOurFault(await ask('', { caller: name }), 'auth:unruly_door', said);
		await isUnharmed();
	});
}

const RESULTS: [name: string, said: RegExp][] = [
	['text', /the result of execute must be an object/],
	['content as text', /a list of blocks as content/],
	['video', /type must be one of/],
	['bigint', /structured is a bigint/],
	['circular', /contains itself/],
	['change a config', /not extensible/],
];
for (const [name, said] of RESULTS) {
	test(`an executor’s fault, ${name}, is a failed run`, async () => {
		lines = [];
		const { content, isError } = must(await ask('POST', { path: `/run/${encodeURIComponent(name)}` }), 200).body;
		assert.deepEqual([content[0].text, isError], ['The tool failed unexpectedly.', true]);
		const line = lines.find((one) => one['msg'] === 'an executor failed unexpectedly') ?? assert.fail('it was not logged');
		assert.deepEqual(
			[line['plugin'], line['gateway'], typeof line['tool']],
			['executor:unruly_tool', `${account.organization.slug}/main`, 'string'],
		);
		assert.match(String(line['error']), said);
		const { content: next } = must(await ask('POST', { path: '/run/good' }), 200).body;
		assert.equal(next[0].text, 'done');
	});
}

const ENDS: [name: string, said: RegExp][] = [
	['half a token', /an integer of 0 or more as usage\.inputTokens/],
	['many tokens', /an integer of 0 or more as usage\.inputTokens/],
	['no number', /an integer of 0 or more as usage\.outputTokens/],
	['model 7', /a string as model/],
	['nothing', /an object of type text, reasoning, tool_call, end/],
];
test('a provider’s fault is a 500 that names it, and the call is counted', async () => {
	const prices = { small: { input: 2, output: 10 } };
	const body = { name: 'Odd', provider: 'unruly_model', model: 'small', prices, configuration: { maxTokens: 10 } };
	const { id } = must(await account.post('/llm-providers', { ...body, budget: { perMonth: 1 } }), 201).body.data;
	const say = (message: string): Promise<Answer> => account.post(`/llm-providers/${id}/chat`, { message });
	let cost = 0;
	for (const [name, said] of ENDS) {
		lines = [];
		isOurFault(await say(name), 'provider:unruly_model', said);
		const { totalCost } = must(await account.get(`/llm-providers/${id}`), 200).body.data;
		assert.ok(totalCost > cost, name);
		cost = totalCost;
	}
	const { data } = must(await say('good'), 200).body;
	assert.deepEqual([data.message, data.model, data.cost], ['x', 'small', (10 * 2 + 10) / 1_000_000]);
	const left = await administer(service.config.database ?? assert.fail(), `SELECT id FROM llm_reservations WHERE provider_id = '${id}'`);
	assert.deepEqual(left, []);
});

test('a result of 50 MB is a failed run that says so', async () => {
	const { content, isError } = must(await ask('POST', { path: '/run/50%20MB' }), 200).body;
	assert.equal(isError, true);
	assert.match(content[0].text, /larger than 16 MiB/);
});

for (const [name, said] of [
	['nothing', /the management route getUnruly must answer with/],
	['list', /the management route getUnruly must answer with/],
	['bigint', /the management route getUnruly must answer with/],
	['thrown', /the management route getUnruly failed unexpectedly.*canary/s],
] as const) {
	test(`a management route’s fault, ${name}, is a 500 that names the plugin`, async () => {
		const answer = await account.get(`/gateways/${gateway.id}/unruly/${name}`);
		isOurFault(answer, 'auth:unruly_door', said);
		assert.deepEqual(must(await account.get(`/gateways/${gateway.id}/unruly/good`), 200).body.data, { a: 1 });
	});
}

for (const [configuration, said] of [
	[{ challenge: 'a\nb' }, /challenge must return a header’s value|challenge must return a header's value/],
	[{ takes: '' }, /takes must return a line/],
	[{ takes: 'x'.repeat(600) }, /takes must return a line/],
] as const) {
	test(`a refusal with ${JSON.stringify(configuration).slice(0, 30)} is a 500 that names the method`, async () => {
		const made = must(
			await account.post('/gateways', { name: 'Wrong', type: 'unruly', endpoint: `/wrong-${JSON.stringify(configuration).length}` }),
			201,
		);
		const { id, url } = made.body.data;
		must(await account.post(`/gateways/${id}/auth`, { type: 'unruly_door', configuration }), 201);
		isOurFault(await send(url, 'GET'), 'auth:unruly_door', said);
	});
}

for (const [type, said] of [
	['unruly_answer_of_check', /check must return nothing/],
	['unruly_error_of_check', /check failed unexpectedly.*canary/s],
	['unruly_agent', /agent must return an object/],
] as const) {
	test(`a tool of ${type} is not saved: a 500 that names the executor`, async () => {
		const path = `/organizations/${account.organization.id}/tools`;
		isOurFault(await account.post(path, { name: type, type, parameters: PARAMETERS }), `executor:${type}`, said);
	});
}

for (const [hook, said] of [
	['effect', /effect must return one of none, repeatable, once/],
	['ports', /ports must return undefined, or a list/],
	['uses', /uses must return a list of objects/],
	['check', /check must return a list of faults/],
] as const) {
	test(`an agent with a node whose ${hook} is wrong is a 500 that names the node`, async () => {
		const nodes = [
			{ id: 'in', type: 'input', data: {} },
			{ id: 'odd', type: 'unruly_node', data: { hook } },
			{ id: 'out', type: 'output', data: {} },
		];
		const edges = [
			{ id: 'a', source: 'in', target: 'odd' },
			{ id: 'b', source: 'odd', target: 'out' },
		];
		isOurFault(await account.post('/agents', { name: `Odd ${hook}`, pipeline: { nodes, edges } }), 'node:unruly_node', said);
	});
}

test('models of a provider that are none are a 500 that names it', async () => {
	const { id } = must(await account.post('/llm-providers', { name: 'Lists', provider: 'unruly_model', model: 'small' }), 201).body.data;
	isOurFault(await account.get(`/llm-providers/${id}/models`), 'provider:unruly_model', /models must return a list/);
});

test('an error’s status and sentence count, whatever else the plugin put into it', async () => {
	const headers = await ask('POST', { path: '/error%20with%20a%20header' });
	assert.deepEqual([headers.status, headers.body.message, headers.headers.get('x-a')], [409, 'It is taken.', null]);
	assert.equal(headers.headers.get('retry-after'), '5');
	const { status, body } = await ask('POST', { path: '/error%20with%20details' });
	assert.deepEqual([status, body.details], [409, [{ path: '/a', message: 'is taken' }]]);
});

test('text is sent as plain text, and a stream of the web as it is', async () => {
	const plain = must(await ask('POST', { path: '/plain%20text' }), 200);
	assert.match(plain.headers.get('content-type') ?? '', /^text\/plain/);
	assert.equal(must(await ask('POST', { path: '/web' }), 200).body, 'web');
});

test('a plugin’s lines carry its name, the gateway and the request, and it cannot take another name', async () => {
	lines = [];
	must(await ask('POST', { path: '/run/good' }), 200);
	const line = lines.find((one) => one['msg'] === 'running') ?? assert.fail('it was not logged');
	assert.deepEqual(
		[line['plugin'], line['gateway'], typeof line['requestId']],
		['transport:unruly', `${account.organization.slug}/main`, 'string'],
	);
});

test('subjects of an outside method begin with its name', () => {
	assert.equal((shown as { caller: { subject: string } }).caller.subject, 'unruly_door:unruly');
});
