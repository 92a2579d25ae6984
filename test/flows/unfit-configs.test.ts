// Stored configs through three versions of a plugin on one database: upgraded where they can be, our fault where they cannot, told to the
// operator in the log and to their organization in GET /plugins, and mended by a change.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { administer } from '../helpers/postgres.ts';
import {
	type Account,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { writePackages } from '../helpers/written-packages.ts';

/** @param config the schema of both plugins' configs */
const source = (config: string, more = ''): string => `
import Joi from 'joi';
const secret = Joi.string().meta({ secret: true });
const config = ${config};
const more = { ${more} };
const executor = {
	kind: 'executor', name: 'fitted', summary: 'Shows.', creatable: true, config, ...more,
	execute: async (_args, config) => ({ content: [{ type: 'text', text: JSON.stringify(config) }] }),
};
const reply = async (_request, config) => ({ status: 200, body: JSON.stringify(config), headers: { 'content-type': 'text/plain' } });
const transport = { kind: 'transport', name: 'fitted', summary: 'Shows.', config, ...more, routes: [{ method: 'GET', path: '/', handler: reply }] };
export default [executor, transport];
`;

const PACKAGES = {
	'fitted-one': source('Joi.object({ a: Joi.string().required(), token: secret, code: Joi.string() })'),
	'fitted-two': source(
		'Joi.object({ b: Joi.string().required(), auth: Joi.object({ token: secret }), code: Joi.string() })',
		`version: 2, upgrade({ a, token, ...rest }, from) {
			if (a.startsWith('canary')) throw new Error(a);
			return { ...rest, b: a + from, ...(token && { auth: { token } }) };
		}`,
	),
};

interface Started {
	service: TestService;
	account: Account;
	lines: string[];
}

let packages: ReturnType<typeof writePackages>;
let base: SharedService;
let first: Account;
let tools: { good: string; bad: string };
let gateways: { good: Gateway; bad: Gateway; mcp: Gateway };
const started: TestService[] = [];

type Gateway = Awaited<ReturnType<typeof publishGateway>>;

/** Starts another version of the service on the database of the first; null: without the plugins. */
async function startVersion(name: keyof typeof PACKAGES | null): Promise<Started> {
	const lines: string[] = [];
	const env = name === null ? {} : { GATEWAY_PLUGINS: name };
	const service = await startTestService({ env, replicaOf: base, onLog: (line) => lines.push(line) });
	started.push(service);
	const headers = { authorization: `Bearer ${first.token}` };
	const ask = (method: string) => (path: string, body?: unknown) => send(service.url + path, method, { body, headers });
	const get = (path: string) => send(service.url + path, 'GET', { headers });
	const account = { ...first, url: service.url, get, post: ask('POST'), patch: ask('PATCH'), del: ask('DELETE') };
	return { service, account, lines };
}

before(async () => {
	packages = writePackages(PACKAGES);
	base = await startTestService({ env: { GATEWAY_PLUGINS: 'fitted-one' } });
	first = await registerAccount(base.url);
	const create = async (name: string, executionConfig: object): Promise<string> =>
		must(await first.post(toolsPath(), { name, description: 'Shows.', type: 'fitted', executionConfig, code: 'c' }), 201).body.data.id;
	tools = { good: await create('good', { a: 'x', token: 'canary-secret' }), bad: await create('bad', { a: 'canary-bad' }) };
	gateways = {
		good: await publishGateway(first, { type: 'fitted', configuration: { a: 'y', token: 'canary-secret' } }),
		bad: await publishGateway(first, { type: 'fitted', configuration: { a: 'canary-bad' } }),
		mcp: await publishGateway(first, { toolIds: Object.values(tools) }),
	};
});
after(async () => {
	for (const service of started) await service.stop();
	await base.stop();
	packages[Symbol.dispose]();
});

const toolsPath = (): string => `/organizations/${first.organization.id}/tools`;
const execute = ({ account }: Started, id: string) => account.post(`${toolsPath()}/${id}/execute`, { parameters: {} });
const at = ({ service }: Started, { url, key }: Gateway, path = '') =>
	send(url.replace(base.url, service.url) + path, 'GET', { headers: { 'x-api-key': key } });

async function mcp({ service }: Started, method: string, params: object = {}) {
	const headers = { 'x-api-key': gateways.mcp.key, accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' };
	const url = gateways.mcp.url.replace(base.url, service.url);
	const { body } = await send(url, 'POST', { headers, body: { jsonrpc: '2.0', id: 1, method, params } });
	return typeof body === 'string' ? JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? assert.fail(body)) : body;
}

const versionsOf = async (table: string, id: string): Promise<unknown> =>
	(await administer(base.config.database ?? assert.fail(), `SELECT config_version AS v FROM ${table} WHERE id = '${id}'`))[0]?.['v'];

const unfitOf = async ({ account }: Started): Promise<unknown> =>
	must(await account.get('/plugins'), 200).body.data.unfit.map(({ organizationId, ...rest }: { organizationId: string }) => {
		assert.equal(organizationId, first.organization.id);
		return rest;
	});

test('after an upgrade of the plugin', async (t) => {
	const second = await startVersion('fitted-two');

	await t.test('configs of former versions are upgraded when they are used and shown, secrets included', async () => {
		const run = must(await execute(second, tools.good), 200).body.data;
		assert.ok(
			JSON.stringify(run).includes(JSON.stringify('{"code":"c","b":"x1","auth":{"token":"canary-secret"}}').slice(1, -1)),
			JSON.stringify(run),
		);
		assert.equal((await at(second, gateways.good)).body, '{"b":"y1","auth":{"token":"canary-secret"}}');
		const shown = must(await second.account.get(`/tools/${tools.good}`), 200).body.data;
		assert.deepEqual([shown.executionConfig, shown.code], [{ b: 'x1', auth: {} }, 'c']);
		assert.deepEqual(must(await second.account.get(`/gateways/${gateways.good.id}`), 200).body.data.configuration, { b: 'y1', auth: {} });
		assert.deepEqual([await versionsOf('tools', tools.good), await versionsOf('gateways', gateways.good.id)], [1, 1]);
	});

	await t.test('the next change by a user stores them in the new version', async () => {
		must(await second.account.patch(`/tools/${tools.good}`, { description: 'Shows more.' }), 200);
		must(await second.account.patch(`/gateways/${gateways.good.id}`, { description: 'more' }), 200);
		assert.deepEqual([await versionsOf('tools', tools.good), await versionsOf('gateways', gateways.good.id)], [2, 2]);
		assert.equal((await at(second, gateways.good)).body, '{"b":"y1","auth":{"token":"canary-secret"}}');
		assert.match(JSON.stringify(must(await execute(second, tools.good), 200).body), /x1.*canary-secret/);
	});

	await t.test('one that cannot be upgraded is our fault, without a pointer into it', async () => {
		const message = 'The configuration of the tool “bad” no longer fits: its owner has to enter it again.';
		const run = await execute(second, tools.bad);
		assert.deepEqual([run.status, run.body.error, run.body.message, run.body.details], [500, 'INTERNAL', message, undefined]);
		assert.equal((await second.account.post(`${toolsPath()}/${tools.bad}/execute?dryRun=true`, { parameters: {} })).status, 500);
		const called = await mcp(second, 'tools/call', { name: 'bad', arguments: {} });
		assert.deepEqual([called.result, called.error], [undefined, { code: -32603, message }]);
		const served = await at(second, gateways.bad);
		assert.deepEqual([served.status, served.body.message], [500, message.replace('tool “bad”', 'gateway “Gateway”')]);
		assert.deepEqual(must(await second.account.get(`/tools/${tools.bad}`), 200).body.data.executionConfig, { a: 'canary-bad' });
	});

	await t.test('the log and GET /plugins tell of them, the log without values, GET /plugins of the own organization only', async () => {
		const told = () => second.lines.filter((line) => line.includes('no longer fit their plugin'));
		await until(() => told().length === 2, 'both are told');
		for (const line of second.lines) assert.doesNotMatch(line, /canary/);
		assert.match(
			told().join(),
			/"plugin":"executor:fitted","rows":1,"first":"executor:fitted cannot use the config of tools [0-9a-f-]{36}: upgrade from version 1 to 2 failed \(Error\)"/,
		);
		assert.deepEqual(await unfitOf(second), [
			{ kind: 'transport', name: 'fitted', missing: 0, misfits: 1 },
			{ kind: 'executor', name: 'fitted', missing: 0, misfits: 1 },
		]);
		const stranger = await registerAccount(second.service.url);
		assert.deepEqual(must(await stranger.get('/plugins'), 200).body.data.unfit, []);
	});

	await t.test('a change of the config mends them', async () => {
		must(await second.account.patch(`/tools/${tools.bad}`, { executionConfig: { b: 'mended' } }), 200);
		must(await second.account.patch(`/gateways/${gateways.bad.id}`, { configuration: { b: 'mended' } }), 200);
		assert.match(JSON.stringify(must(await execute(second, tools.bad), 200).body), /mended/);
		assert.equal((await at(second, gateways.bad)).body, '{"b":"mended"}');
		assert.deepEqual(await unfitOf(second), []);
	});
});

test('after a rollback, rows of the later version are told with both versions', async () => {
	const third = await startVersion('fitted-one');
	assert.equal((await execute(third, tools.good)).status, 500);
	const told =
		/executor:fitted cannot use the config of tools [0-9a-f-]{36}: it was written for version 2 of the plugin’s config, which has version 1/;
	assert.match(third.lines.join('\n'), told);
	assert.deepEqual(must(await third.account.get(`/tools/${tools.good}`), 200).body.data.executionConfig, { b: 'x1', auth: {} });
});

test('without the plugin its tools are not listed, its gateways are 501, and both are counted as missing', async () => {
	const fourth = await startVersion(null);
	assert.deepEqual((await mcp(fourth, 'tools/list')).result.tools, []);
	const called = await mcp(fourth, 'tools/call', { name: 'good', arguments: {} });
	assert.equal(called.error.message, 'The executor "fitted" of this tool is not loaded.');
	assert.equal((await at(fourth, gateways.good)).status, 501);
	assert.deepEqual(must(await fourth.account.get(`/tools/${tools.good}`), 200).body.data.executionConfig, { b: 'x1', auth: {} });
	await until(() => fourth.lines.some((line) => line.includes('"plugin":"executor:fitted"')), 'the rows are counted');
	assert.deepEqual(await unfitOf(fourth), [
		{ kind: 'transport', name: 'fitted', missing: 2, misfits: 0 },
		{ kind: 'executor', name: 'fitted', missing: 2, misfits: 0 },
	]);
	assert.match(fourth.lines.join('\n'), /"plugin":"executor:fitted","rows":2,"msg":"stored rows belong to a plugin that is not loaded"/);
});
