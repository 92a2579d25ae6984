// Measures what a line of the request log costs the database where the ids of requests begin with the time, beside random ones: so many lines in
// a database for each, and batches added in turn. `node test/bench/request-ids.ts [lines]`: three million unless told, some five minutes. The server's
// write-ahead log is counted as a whole, so nothing else may write there.

import { randomUUID } from 'node:crypto';
import { newRequestId } from '../../core/http/request-ids.ts';
import { BATCH } from '../../core/store/request-log.ts';
import { administer, serverCpuMs } from '../helpers/postgres.ts';
import { batchOf, requestRow } from '../helpers/requests.ts';
import { addTenant } from '../helpers/samples.ts';
import { type TestStore, testStore } from '../helpers/store.ts';
import { IS_SHORT, median, printRows } from './rounds.ts';

const HELD = Number(process.argv[2] ?? (IS_SHORT ? 40_000 : 3_000_000));
const [ROUNDS, BATCHES] = IS_SHORT ? [2, 2] : [8, 25];

/** A log with ids of one kind. */
interface Log {
	title: string;
	store: TestStore;
	organizationId: string;
	newId: () => string;
	rounds: { cpuMicros: number; walBytes: number }[];
}

async function openLog(title: string, newId: () => string): Promise<Log> {
	const store = await testStore();
	const { organizationId } = await addTenant(store);
	return { title, store, organizationId, newId, rounds: [] };
}

/** Adds lines as a service does: two of each call. */
async function write({ store, organizationId, newId }: Log, batches: number): Promise<void> {
	for (let batch = 0; batch < batches; batch++) {
		const calls = Array.from({ length: BATCH / 2 }, newId);
		const rows = calls.flatMap((requestId) => {
			const row = requestRow({ organizationId, requestId, startedAt: Date.now() });
			return [row, { ...row, kind: 'tool' as const }];
		});
		await store.analytics.add(batchOf(rows));
	}
}

const walBytes = async ({ store }: Log): Promise<number> =>
	Number((await administer(store.database, `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bytes`))[0]?.['bytes']);

async function measure(log: Log): Promise<void> {
	const before = [await serverCpuMs(log.store.database), await walBytes(log)] as const;
	await write(log, BATCHES);
	const perLine = (difference: number): number => difference / BATCHES / BATCH;
	log.rounds.push({
		cpuMicros: perLine((await serverCpuMs(log.store.database)) - before[0]) * 1000,
		walBytes: perLine((await walBytes(log)) - before[1]),
	});
}

const logs = [await openLog('random', randomUUID), await openLog('in the order of time', newRequestId)];
for (let made = 0; made < HELD; made += BATCH * BATCHES) for (const log of logs) await write(log, Math.min(BATCHES, (HELD - made) / BATCH));
for (let round = 0; round < ROUNDS; round++) for (const log of round % 2 === 0 ? logs : logs.toReversed()) await measure(log);
console.log(`${HELD} lines each, then ${ROUNDS} rounds of ${BATCHES} batches of ${BATCH}, in turn; medians.\n`);
printRows(
	['ids', 'CPU µs of the database a line', 'bytes of its write-ahead log'],
	logs.map(({ title, rounds }) => [
		title,
		median(rounds.map(({ cpuMicros }) => cpuMicros)).toFixed(1),
		median(rounds.map(({ walBytes }) => walBytes)).toFixed(0),
	]),
);
for (const { store } of logs) await store.close();
