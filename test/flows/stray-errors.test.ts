// Tests errors of a third party's package that nothing catches, in a process of its own: a rejection ends nothing, a throw ends the process
// in order, and the log names the package.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type InstalledPackages, installPackages } from '../helpers/packages.ts';
import { freePort } from '../helpers/ports.ts';
import { type TestDatabase, testDatabase } from '../helpers/postgres.ts';
import { ready, type Started, start as startWith, until } from '../helpers/processes.ts';
import { startRedis, type TestRedis } from '../helpers/redis.ts';
import { databaseVariables, publishGateway, registerAccount, SECRETS, send } from '../helpers/service.ts';
import { startTracker } from '../helpers/tracker.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-strays-'));
let packages: InstalledPackages;
let database: TestDatabase;
let redis: TestRedis;
before(async () => {
	packages = installPackages('unruly-plugin');
	database = await testDatabase();
	redis = await startRedis();
});
after(async () => {
	packages[Symbol.dispose]();
	await database.drop();
	await redis.stop();
	rmSync(folder, { recursive: true, force: true });
});

interface Running {
	started: Started;
	/** Has the package do what is wrong under a name. */
	ask(name: string): Promise<number>;
}

async function start(env: Record<string, string>): Promise<Started & { url: string }> {
	const port = String(await freePort());
	const { names } = packages;
	const shared = { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS, SVC_DATA_DIR: folder, HOST: '127.0.0.1' };
	const started = startWith(
		{ ...databaseVariables(database.database), ...shared, PORT: port, GATEWAY_PLUGINS: names.join(','), ...env },
		[],
		process.cwd(),
	);
	return Object.assign(started, { url: `http://127.0.0.1:${port}` });
}

async function serve(env: Record<string, string> = {}): Promise<Running> {
	await using stack = new AsyncDisposableStack();
	const started = stack.use(await start(env));
	await ready(started.url, started);
	const account = await registerAccount(started.url);
	const { url } = await publishGateway(account, { type: 'unruly', auth: 'unruly_door' });
	const ask = async (name: string): Promise<number> =>
		(await send(`${url}/${encodeURIComponent(name)}`, 'POST', { headers: { 'x-name': 'good' } })).status;
	// Whoever asked for the process ends it from here on.
	stack.move();
	return { started, ask };
}

// biome-ignore lint/suspicious/noExplicitAny: log lines have any fields
const lineOf = (started: Started, said: RegExp): any => started.lines().find(({ error }) => said.test(String(error)));

async function isNamed(started: Started, said: RegExp): Promise<void> {
	await until(() => lineOf(started, said) !== undefined, `a line with ${said}`, started);
	const line = lineOf(started, said);
	assert.equal(line.package, 'gatehouse-unruly-plugin');
	assert.match(line.plugin, /transport:unruly/);
}

test('a rejection that nothing handled is logged with its package and ends nothing; a throw ends the process in order; both are told', async (t) => {
	const tracker = await startTracker(t);
	const { started, ask } = await serve({ ERROR_TRACKER_DSN: tracker.dsn });
	await using _ended = started;
	assert.equal(await ask('reject later'), 200);
	await isNamed(started, /stray rejection\n/);
	for (let time = 0; time < 20; time++) assert.equal(await ask('reject in a timer'), 200);
	await isNamed(started, /stray rejection in a timer/);
	const lines = started.lines().filter(({ error }) => String(error).includes('in a timer'));
	assert.equal(lines.length, 1, 'the same error is one line a minute');
	const waiting = ask('wait a second');
	assert.equal(await ask('throw later'), 200);
	assert.equal(await waiting, 200, 'requests in flight are answered');
	assert.equal(await started.ended, 1);
	await isNamed(started, /stray throw/);
	const told = tracker.received.map(({ event }) => [event.exception.values[0].value, event.tags.plugin]);
	const [rejection, thrown] = ['a rejection that nothing handled', 'an error that nothing caught: the process stops'];
	const plugin = lineOf(started, /stray throw/).plugin;
	assert.deepEqual(told, [
		[rejection, plugin],
		[rejection, plugin],
		[thrown, plugin],
	]);
});

test('a rejection while the package loads is logged with its name and the start goes on; a worker in which something threw is replaced', async () => {
	const { started, ask } = await serve({ WEB_CONCURRENCY: '2', UNRULY: 'reject' });
	await using _ended = started;
	assert.equal(lineOf(started, /stray rejection at load/).package, 'gatehouse-unruly-plugin');
	const count = (): number => started.output().split('"msg":"listening"').length - 1;
	await until(() => count() === 2, 'two workers', started);
	assert.equal(await ask('emit an error'), 200);
	await until(() => count() === 3, 'another worker', started);
	await isNamed(started, /stray event/);
	assert.equal(await ask('good'), 200);
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0);
});

test('a throw while the package loads ends the start, and the log names the package', async () => {
	const started = await start({ UNRULY: 'throw' });
	await using _ended = started;
	assert.equal(await started.ended, 1);
	assert.equal(lineOf(started, /stray throw at load/).package, 'gatehouse-unruly-plugin');
});
