// Tests how the service starts: its first lines, and its messages when it cannot start.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { freePort } from '../helpers/ports.ts';
import { testDatabase } from '../helpers/postgres.ts';
import { ready, start } from '../helpers/processes.ts';
import { testRedis } from '../helpers/redis.ts';
import { databaseVariables, SECRETS } from '../helpers/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-starts-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Wrong {
	title: string;
	env: Record<string, string>;
	said: RegExp;
}

const file = join(folder, 'file');
writeFileSync(file, '');
const dataDir = join(folder, 'never');

/** `processes.test.ts` has faults of the configuration, and `core/process/data-folder.test.ts` other folders. */
const WRONG: Wrong[] = [
	{ title: 'a host that is not ours', env: { HOST: '10.1.2.3' }, said: /^HOST: 10\.1\.2\.3 is not an address of this machine/ },
	{ title: 'a file for a folder', env: { SVC_DATA_DIR: file }, said: /^SVC_DATA_DIR must be a folder/ },
];
for (const { title, env, said } of WRONG) {
	test(`${title} ends the start with a sentence that names the variable, before anything is made`, async () => {
		await using started = start({ SVC_DATA_DIR: dataDir, PORT: String(await freePort()), ...env });
		assert.equal(await started.ended, 1);
		assert.match(started.output(), said);
		assert.ok(!started.output().includes('    at '), 'a sentence, no stack');
		assert.equal(existsSync(dataDir), false);
	});
}

test('a port that is taken ends the start with a sentence that names PORT, before anything is made, with workers too', async () => {
	const port = await freePort();
	const other = createServer().listen(port, '127.0.0.1');
	await once(other, 'listening');
	for (const more of [{}, { WEB_CONCURRENCY: '2', REDIS_HOST: '127.0.0.1', REDIS_PORT: '1' }]) {
		await using started = start({ SVC_DATA_DIR: dataDir, PORT: String(port), ...more });
		assert.equal(await started.ended, 1);
		assert.match(started.output(), new RegExp(`^PORT: something else listens at 127.0.0.1:${port} already`));
		assert.equal(existsSync(dataDir), false);
	}
	other.close();
});

test('the first line of the log says where it listens, where the docs are and where the data lie, and no secret', async () => {
	await using owned = await testDatabase();
	const redis = await testRedis();
	const port = await freePort();
	const database = { ...databaseVariables(owned.database), DATABASE_PASSWORD: 'never-shown' };
	const env = { ...database, REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS, PUBLIC_URL: 'https://gate.example' };
	await using started = start({ ...env, HOST: '127.0.0.1', PORT: String(port), SVC_DATA_DIR: folder });
	await ready(`http://127.0.0.1:${port}`, started);
	started.child.kill('SIGTERM');
	assert.equal(await started.ended, 0);
	const { host, port: databasePort, name } = owned.database;
	const places = {
		url: `http://127.0.0.1:${port}`,
		docs: 'https://gate.example/docs',
		data: `PostgreSQL at ${host}:${databasePort}, database ${name}`,
	};
	const lines = started.lines();
	for (const line of [lines[0], lines.find(({ msg }) => msg === 'listening')]) {
		const { url, docs, data } = line;
		assert.deepEqual({ url, docs, data }, places);
	}
	for (const secret of ['never-shown', ...Object.values(SECRETS)]) assert.ok(!started.output().includes(secret));
	await redis.stop();
});

test('with a database of its own, the data lie in its folder', async () => {
	const own = join(folder, 'own');
	await using started = start({ SVC_DATA_DIR: own, PORT: String(await freePort()) });
	await once(started.child.stdout ?? assert.fail('no output'), 'data');
	assert.equal(started.lines()[0].data, own);
	started.signalGroup('SIGINT');
	await started.ended;
});

test('a start that each worker refuses ends the service with the reason, instead of being tried for ever', async () => {
	await using owned = await testDatabase();
	const redis = await testRedis();
	const env = { ...databaseVariables(owned.database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS };
	const workers = { WEB_CONCURRENCY: '2', PORT: String(await freePort()), SVC_DATA_DIR: folder, GATEWAY_PLUGINS: 'no-such-package' };
	await using started = start({ ...env, ...workers, HOST: '127.0.0.1' });
	assert.equal(await started.ended, 1);
	assert.match(started.output(), /no-such-package/);
	assert.ok(!started.output().includes('will be replaced'), started.output());
	await redis.stop();
});
