import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { administer, testDatabase } from '../test/helpers/postgres.ts';
import { silent } from '../test/helpers/silent.ts';
import { ROOT } from '../test/rooms.ts';
import { BULK_POOL_SIZE, connect, POOL_SIZE } from './connection.ts';
import { PROCESS_CONNECTIONS, startDatabase } from './index.ts';
import { createRunPool, RUN_CONNECTIONS } from './runs/pool.ts';

const WORK = 'SELECT pg_sleep(0.5)';

test('a busy process uses as many connections as it says, but the one that hears of changes, and README.md says the same', async () => {
	await using own = await testDatabase();
	const { database } = own;
	const store = connect(database, POOL_SIZE);
	const runs = createRunPool(database, silent);
	try {
		/** Asks for one more than there are connections. */
		const more = <T>(connections: number, work: () => Promise<T>): Promise<T>[] => Array.from({ length: connections + 1 }, work);
		const working = [
			...more(POOL_SIZE, () => store.ordinary.query(WORK)),
			...more(BULK_POOL_SIZE, () => store.bulk.query(WORK)),
			...more(1, () => store.records({ name: 'work', text: WORK, values: [] })),
			...more(RUN_CONNECTIONS / 2, () => runs.rows(WORK, [])),
			...more(RUN_CONNECTIONS / 2, () => runs.transact((sql) => sql.executeSql(WORK))),
		];
		const ended = Promise.allSettled(working);
		const most = await mostConnections(database, ended);
		assert.equal(most, PROCESS_CONNECTIONS - 1);
	} finally {
		await Promise.all([store.close(), runs.close()]);
	}
	const readme = readFileSync(join(ROOT, 'README.md'), 'utf8').replaceAll('\n', ' ');
	assert.ok(readme.includes(`uses up to ${PROCESS_CONNECTIONS} connections of PostgreSQL`), 'README.md');
});

type Database = Awaited<ReturnType<typeof testDatabase>>['database'];

/** Counts the connections again and again. @returns the largest count before the work has ended */
async function mostConnections(database: Database, ended: Promise<unknown>): Promise<number> {
	let [most, isOver] = [0, false];
	void ended.then(() => {
		isOver = true;
	});
	while (!isOver) {
		const [row] = await administer(
			database,
			'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
		);
		most = Math.max(most, Number(row?.['n']));
	}
	return most;
}

for (const [processes, least] of [
	[1, 100],
	[8, 9 * PROCESS_CONNECTIONS],
] as const) {
	test(`the embedded database of ${processes} process(es) admits all of their connections`, async () => {
		const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
		const embedded = await startDatabase({ dataDir, durable: false, processes });
		try {
			const [row] = await administer(embedded.database, 'SHOW max_connections');
			assert.equal(Number(row?.['max_connections']), least);
		} finally {
			await embedded.stop();
			rmSync(dataDir, { recursive: true, force: true });
		}
	});
}
