// The embedded default: it survives crashes, is private to its user, and leaves nothing behind.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { PATIENCE_MS, until } from '../../test/helpers/clock.ts';
import { freePort } from '../../test/helpers/ports.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { type Kinds, runReplica } from '../../test/helpers/runs.ts';
import { addApi, addTenant } from '../../test/helpers/samples.ts';
import { silent } from '../../test/helpers/silent.ts';
import { openStore } from '../index.ts';
import { startEmbedded } from './server.ts';

const folders: string[] = [];
after(() => {
	for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function freshFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-embedded-'));
	folders.push(folder);
	return join(folder, 'data');
}

// Prints the socket's folder, then the number of each row once it is committed.
const WRITER = `
import { startEmbedded } from ${JSON.stringify(new URL('./server.ts', import.meta.url).href)};
import pg from ${JSON.stringify(import.meta.resolve('pg'))};
const { database } = await startEmbedded({ dataDir: process.argv[1], durable: true });
const client = new pg.Client({ host: database.host, user: database.username, database: database.name });
await client.connect();
await client.query('CREATE TABLE IF NOT EXISTS written (n integer)');
process.stdout.write(database.host + '\\n');
for (let n = 1; ; n++) {
	await client.query('INSERT INTO written VALUES ($1)', [n]);
	process.stdout.write(n + '\\n');
}`;

/** Runs the writer until `rows` are acknowledged, then kills it with SIGKILL. @returns its output until then */
async function writeAndKill(dataDir: string, rows: number): Promise<{ socketDir: string; acknowledged: number }> {
	const child = spawn(process.execPath, ['--input-type=module', '--eval', WRITER, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
	const exited = new Promise((resolve) => child.on('close', resolve));
	const said: string[] = [];
	createInterface({ input: child.stdout }).on('line', (line) => {
		said.push(line);
		if (said.length > rows) child.kill('SIGKILL');
	});
	await exited;
	return { socketDir: said[0] ?? '', acknowledged: Number(said.at(-1)) };
}

test('every acknowledged write survives after the service was killed with SIGKILL, three times over', async () => {
	const dataDir = freshFolder();
	for (const round of [1, 2, 3]) {
		const { socketDir, acknowledged } = await writeAndKill(dataDir, 50);
		assert.ok(acknowledged >= 50, `${acknowledged} rows were acknowledged`);
		const embedded = await startEmbedded({ dataDir, durable: true });
		const [row] = await administer(embedded.database, `SELECT count(*)::int AS n FROM written WHERE n <= ${acknowledged}`);
		await administer(embedded.database, 'TRUNCATE written');
		await embedded.stop();
		assert.equal(row?.['n'], acknowledged, `round ${round}`);
		assert.equal(existsSync(socketDir), false, 'the killed service’s socket folder is gone');
	}
});

test('a server whose service was killed ends by itself', { skip: process.platform !== 'linux' }, async () => {
	const dataDir = freshFolder();
	folders.push((await writeAndKill(dataDir, 1)).socketDir);
	const isRunning = (): boolean =>
		readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(join(dataDir, 'postgres')));
	await until(() => !isRunning(), 'it has ended', 50);
});

function commandLine(pid: string): string {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
	} catch {
		// It ended meanwhile.
		return '';
	}
}

test('a second service on the same folder is refused with a message that names the folder', async () => {
	const dataDir = freshFolder();
	const embedded = await startEmbedded({ dataDir, durable: false });
	try {
		await assert.rejects(startEmbedded({ dataDir, durable: false }), (error: Error) => {
			assert.equal(
				error.message,
				`The data folder ${dataDir} is in use by another service (process ${process.pid}): stop it, or set SVC_DATA_DIR.`,
			);
			return true;
		});
		assert.deepEqual(await administer(embedded.database, 'SELECT 1 AS one'), [{ one: 1 }], 'the first one is unharmed');
	} finally {
		await embedded.stop();
	}
});

test('a lock with a reused process number does not keep the service out', async () => {
	const dataDir = freshFolder();
	await (await startEmbedded({ dataDir, durable: false })).stop();
	const holder = { pid: process.pid, start: 'another boot 1', socketDir: join(dataDir, 'gone') };
	writeFileSync(join(dataDir, 'service.lock'), JSON.stringify(holder));
	writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), `${process.ppid}\n${join(dataDir, 'postgres')}\n0\n5432\n`);
	const embedded = await startEmbedded({ dataDir, durable: false });
	await embedded.stop();
});

test('folder, socket and lock are for this user only, nothing listens on TCP, and a clean stop leaves only the data', async () => {
	const dataDir = freshFolder();
	const embedded = await startEmbedded({ dataDir, durable: false });
	const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
	const { host } = embedded.database;
	const modes = [dataDir, join(dataDir, 'postgres'), host, join(host, '.s.PGSQL.5432'), join(dataDir, 'service.lock')].map(mode);
	const listening = await administer(embedded.database, `SELECT current_setting('listen_addresses') AS addresses`);
	await embedded.stop();
	assert.deepEqual(modes, ['700', '700', '700', '700', '600']);
	assert.deepEqual(listening, [{ addresses: '' }]);
	assert.deepEqual(readdirSync(dataDir), ['postgres']);
	assert.equal(existsSync(host), false);
});

test('an interrupted initialization starts anew', async () => {
	const dataDir = freshFolder();
	mkdirSync(join(dataDir, 'postgres.new'), { recursive: true, mode: 0o700 });
	writeFileSync(join(dataDir, 'postgres.new', 'PG_VERSION'), '18');
	const embedded = await startEmbedded({ dataDir, durable: false });
	await embedded.stop();
	assert.deepEqual(readdirSync(dataDir), ['postgres']);
});

test('without a database in the configuration the store opens on the embedded one, and keeps what it stored', async () => {
	const options = { database: null, dataDir: freshFolder(), migrate: true, log: silent };
	const first = await openStore(options);
	const user = { email: 'ada@example.com', passwordHash: 'hash', firstName: 'Ada', lastName: 'Lovelace' };
	await first.accounts.register(user, { name: 'Acme', slugs: ['acme'] });
	await first.close();
	const second = await openStore(options);
	const found = await second.accounts.byEmail('ADA@example.com');
	await second.close();
	assert.equal(found?.firstName, 'Ada');
});

test('a run on the embedded database waits over a restart', async () => {
	const options = { database: null, dataDir: freshFolder(), migrate: true, log: silent };
	const kinds: Kinds = { approval: [async (run) => [await run.step('before', async () => run.attempt), await run.event('go')]] };
	const first = await openStore(options);
	const { organizationId } = await addTenant(first);
	const asking = await runReplica(first, kinds);
	const { id } = await asking.runs.start({ organizationId, kind: 'approval', input: null });
	await until(async () => (await asking.runs.get({ organizationId, id }))?.status === 'waiting', 'it waits');
	await asking[Symbol.asyncDispose]();
	await first.close();
	const second = await openStore(options);
	const answering = await runReplica(second, kinds);
	await answering.runs.signal({ organizationId, id }, 'go', 'yes');
	const { output } = await answering.runs.wait({ organizationId, id }, PATIENCE_MS);
	await answering[Symbol.asyncDispose]();
	await second.close();
	assert.deepEqual(output, [1, 'yes']);
});

test('non-ASCII letters are found and sorted ignoring case, though its locale knows none', async () => {
	const store = await openStore({ database: null, dataDir: freshFolder(), migrate: true, log: silent });
	try {
		const { organizationId } = await addTenant(store);
		for (const name of ['ÄRGER', 'Ω', 'ärger', 'zoo']) await addApi(store, organizationId, { name });
		const names = async (sort: string, q: string) =>
			(await store.apis.list(organizationId, { limit: 100, sort }, { q })).items.map(({ name }) => name);
		assert.deepEqual(await names('name', ''), ['zoo', 'ÄRGER', 'ärger', 'Ω']);
		assert.deepEqual(await names('createdAt', 'Ärger'), ['ÄRGER', 'ärger']);
		assert.deepEqual(await names('createdAt', 'ω'), ['Ω']);
	} finally {
		await store.close();
	}
});

test('a test may have it listen on a port of 127.0.0.1, too', async () => {
	const embedded = await startEmbedded({ dataDir: freshFolder(), durable: false, openPort: await freePort() });
	const [row] = await administer(embedded.database, `SELECT host(inet_server_addr()) AS address`);
	await embedded.stop();
	assert.deepEqual([row?.['address'], embedded.database.host], ['127.0.0.1', '127.0.0.1']);
});
