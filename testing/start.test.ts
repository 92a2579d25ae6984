import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Redis } from 'ioredis';
import Joi from 'joi';
import type { ToolExecutor, TransportAdapter } from '../core/contract/kinds.ts';
import type { Feature } from '../core/features.ts';
import { installPackages } from '../test/helpers/packages.ts';
import { type TestDatabase, testDatabase } from '../test/helpers/postgres.ts';
import { startRedis, type TestRedis, testRedis } from '../test/helpers/redis.ts';
import { databaseVariables, SECRETS } from '../test/helpers/service.ts';
import { startGatehouse } from './start.ts';
import { until } from './waiting.ts';

/** The database of all but the first, which makes one as a stranger's test does: that takes longer than the rest. */
let database: TestDatabase;
let redis: TestRedis;
let env: Record<string, string>;
before(async () => {
	database = await testDatabase();
	redis = await testRedis();
	env = { ...databaseVariables(database.database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS };
});
after(async () => {
	await database.drop();
	await redis.stop();
});

const upper: ToolExecutor = {
	...{ kind: 'executor', api: 1, name: 'acme_upper', summary: 'Writes a text in capitals.', creatable: true },
	config: Joi.object({ suffix: Joi.string().default('').description('What follows the text.') }),
	execute: async ({ text }, config) => ({
		content: [{ type: 'text', text: String(text).toUpperCase() + (config as { suffix: string }).suffix }],
	}),
};
const plain: TransportAdapter = {
	...{ kind: 'transport', api: 1, name: 'acme_plain', summary: 'Runs a tool by its name.', config: Joi.object({}) },
	routes: [
		{
			...{ method: 'POST', path: '/{name}', body: 'json' },
			handler: async ({ params, body }, _config, call) => {
				const { content } = await call.invoke({ name: params['name'] ?? '' }, body as object as { text: string });
				return { status: 200, body: { content: content as object as string[] } };
			},
		},
	],
};

test('a service with plugins of this process runs a tool of one at a gateway of the other, and leaves nothing behind', async () => {
	const gatehouse = await startGatehouse({ plugins: [upper, plain] });
	try {
		const account = await gatehouse.register('Acme');
		const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
		const tool = await account.tool({ name: 'upper', type: 'acme_upper', parameters, executionConfig: { suffix: '!' } });
		const executed = await account.execute(tool, { text: 'hi' });
		assert.deepEqual([executed.status, JSON.stringify(executed.body).includes('HI!')], [200, true]);
		const gateway = await account.gateway({ type: 'acme_plain', tools: [tool] });
		const called = await fetch(`${gateway.url}/upper`, {
			...{ method: 'POST', body: '{"text":"hello"}' },
			headers: { 'content-type': 'application/json', 'x-api-key': gateway.key ?? '' },
		});
		assert.match(await called.text(), /HELLO!/);
		assert.equal((await fetch(`${gateway.url}/upper`, { method: 'POST' })).status, 401);
		await assert.rejects(account.tool({ name: 'x', type: 'none', executionConfig: {} }), /answered 400/);
	} finally {
		await gatehouse.stop();
	}
	await assert.rejects(fetch(gatehouse.url));
});

test('a stop that fails says so, and leaves no folder behind either', async () => {
	const { TMPDIR } = process.env;
	const folder = mkdtempSync(join(tmpdir(), 'start-test-'));
	process.env['TMPDIR'] = folder;
	const stuck: Feature = {
		...{ kind: 'feature', api: 1, name: 'acme_stuck', summary: 'Fails when the service stops.', config: Joi.object({}) },
		register: (server) => server.ext('onPostStop', () => Promise.reject(new Error('stuck'))),
	};
	try {
		const gatehouse = await startGatehouse({ plugins: [stuck], env });
		await assert.rejects(gatehouse.stop(), /stuck/);
		assert.deepEqual(
			readdirSync(folder).filter((name) => name.startsWith('gatehouse-testing-')),
			[],
		);
	} finally {
		if (TMPDIR === undefined) delete process.env['TMPDIR'];
		else process.env['TMPDIR'] = TMPDIR;
		rmSync(folder, { recursive: true, force: true });
	}
});

test('a package that was packed and installed is loaded by its name, and configured by its operator', async () => {
	using packages = installPackages('feature-jobs-plugin');
	await using gatehouse = await startGatehouse({ packages: packages.names, operator: { 'feature:chores': { replica: 'two' } }, env });
	const account = await gatehouse.register();
	const { id } = (await account.send('POST', '/chores', { data: { n: 1 } })).body;
	const read = async () => (await account.send('GET', `/chores/${id}`)).body;
	await until(async () => (await read()).finishedAt !== null, 'the job has ended');
	assert.equal((await read()).status, 'succeeded');
	const { plugins } = (await account.send('GET', '/plugins')).body.data;
	const { package: from, operator, config } = plugins.find((plugin: { name: string }) => plugin.name === 'chores');
	assert.equal(from.name, packages.names[0]);
	assert.ok('replica' in (operator ?? config).properties);
	const wrong = { packages: packages.names, operator: { 'feature:chores': { replica: 2 } }, env };
	await assert.rejects(startGatehouse(wrong), /feature:chores.*replica/s);
	const viewer = await account.member('viewer');
	assert.equal((await viewer.send('POST', '/chores', { data: { n: 1 } })).status, 403);
});

test('a service counts for itself in a Redis that others use, too, and leaves no key behind', async () => {
	// Other files of a run start services at the shared one.
	const own = await startRedis();
	const client = new Redis({ host: own.host, port: own.port });
	try {
		await client.mset('gatehouse-testing-other:limit', 1, 'of-others', 1);
		for (let round = 0; round < 2; round++) {
			await using gatehouse = await startGatehouse({ env: { ...env, REDIS_PORT: String(own.port) } });
			// The limit of an address is ten an hour.
			for (let person = 0; person < 6; person++) await gatehouse.register();
			assert.ok((await client.keys('gatehouse-testing-*')).length > 1);
		}
		assert.deepEqual((await client.keys('*')).toSorted(), ['gatehouse-testing-other:limit', 'of-others']);
	} finally {
		client.disconnect();
		await own.stop();
	}
});

test('a plugin at fault stops the start with its name', async () => {
	const faulty = { ...upper, summary: '' };
	await assert.rejects(startGatehouse({ plugins: [faulty], env }), /acme_upper/);
	assert.ok(!existsSync('data'));
});
