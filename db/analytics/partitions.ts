// The days of the request log: made ahead, and dropped as a whole when they are old.

import { QueryTypes, type Transaction } from 'sequelize';
import { lengthOf } from '../../core/store/metric-cells.ts';
import type { Analytics } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { rows } from '../rows.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Days that are made ahead, so that an outage of the sweep is no outage of the log. */
const AHEAD = 7;
/** Buckets of minutes answer for the last days, and those of a few seconds for live views. */
const MINUTES_MS = 3 * DAY_MS;
const LIVE_MS = 60 * 60 * 1000;
/** Batches that are written again after that would be added again: a process gives up before. */
const BATCHES_MS = DAY_MS;
/** An arbitrary number: one replica at a time changes the partitions. */
const LOCK = 7_046_112_026;
/** Calls are recorded again soon when the log cannot be locked at once. */
const PATIENCE = `SET LOCAL lock_timeout = '1s'`;

const DAYS = `
SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'request_log'::regclass AND c.relname <> 'request_log_default' ORDER BY 1`;
const STRAYS = `SELECT DISTINCT (started_at AT TIME ZONE 'UTC')::date::text AS day FROM request_log_default ORDER BY 1 LIMIT 100`;
const NAME = /^request_log_(\d{4})(\d\d)(\d\d)$/;

export function createPartitions({ bulk, transact }: Database): Pick<Analytics, 'prepare' | 'prune'> {
	const run = (sql: string, transaction: Transaction) => bulk.query(sql, { transaction });
	const locked = <T>(work: (transaction: Transaction) => Promise<T>, otherwise: T): Promise<T> =>
		transact(async (transaction) => {
			await run(PATIENCE, transaction);
			const [lock] = await rows<{ got: boolean }>(bulk, 'SELECT pg_try_advisory_xact_lock($1) AS got', [LOCK], transaction);
			return lock?.got ? work(transaction) : otherwise;
		});
	return {
		async prepare() {
			const known = new Set((await rows<{ name: string }>(bulk, DAYS, [])).map(({ name }) => name));
			const strays = (await rows<{ day: string }>(bulk, STRAYS, [])).map(({ day }) => day);
			const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
			const coming = Array.from({ length: AHEAD + 1 }, (_, ahead) => new Date(today + ahead * DAY_MS).toISOString().slice(0, 10));
			let moved = 0;
			for (const day of [...new Set([...strays, ...coming])])
				if (!known.has(nameOf(day))) moved += await locked((transaction) => make(day, (sql) => rows(bulk, sql, [], transaction)), 0);
			return moved;
		},
		async prune(olderThan) {
			const remove = (sql: string, before: Date): Promise<number> => bulk.query(sql, { bind: [before], type: QueryTypes.BULKDELETE });
			const ago = (ms: number): Date => new Date(Date.now() - ms);
			await remove('DELETE FROM request_batches WHERE written_at < $1', ago(BATCHES_MS));
			let sums = await remove(`DELETE FROM metrics WHERE resolution = 'live' AND bucket < $1`, ago(LIVE_MS));
			// Nobody can ask for older minutes.
			const minutes = new Date(Math.max(ago(MINUTES_MS).getTime(), olderThan?.getTime() ?? 0));
			sums += await remove(`DELETE FROM metrics WHERE resolution = 'minute' AND bucket < $1`, minutes);
			if (!olderThan) return { days: 0, sums };
			// A bucket goes when its end is old, as a day of the log does.
			for (const resolution of ['hour', 'day'] as const) {
				const last = new Date(olderThan.getTime() - lengthOf(resolution));
				sums += await remove(`DELETE FROM metrics WHERE resolution = '${resolution}' AND bucket <= $1`, last);
			}
			let days = 0;
			for (const { name } of await rows<{ name: string }>(bulk, DAYS, []))
				if (endOf(name) <= olderThan.getTime())
					days += await locked(async (transaction) => {
						await run(`DROP TABLE IF EXISTS "${name}"`, transaction);
						return 1;
					}, 0);
			return { days, sums };
		},
	};
}

const nameOf = (day: string): string => `request_log_${day.replaceAll('-', '')}`;

/** Returns the end of a partition's day in milliseconds since 1970; never, of a table with another name. */
function endOf(name: string): number {
	const [, year, month, day] = NAME.exec(name) ?? [];
	return year === undefined ? Number.POSITIVE_INFINITY : Date.parse(`${year}-${month}-${day}T00:00:00Z`) + DAY_MS;
}

/** Makes the partition of a day; what came before it moves in. @returns how many lines those are */
async function make(day: string, run: (sql: string) => Promise<{ count: number }[]>): Promise<number> {
	const [name, from] = [nameOf(day), `'${day}T00:00:00Z'::timestamptz`];
	// The day's rows must have left the default partition before the new one begins, and no more may come to it meanwhile.
	await run('LOCK TABLE request_log_default IN ACCESS EXCLUSIVE MODE');
	await run(`CREATE TABLE IF NOT EXISTS "${name}" (LIKE request_log INCLUDING DEFAULTS)`);
	const [moved] = await run(`
WITH strays AS (DELETE FROM request_log_default WHERE started_at >= ${from} AND started_at < ${from} + interval '24 hours' RETURNING *),
	moved AS (INSERT INTO "${name}" SELECT * FROM strays RETURNING 1)
SELECT count(*)::integer AS count FROM moved`);
	const [known] = await run(`SELECT count(*)::integer AS count FROM pg_inherits WHERE inhrelid = '"${name}"'::regclass`);
	if (known?.count === 0)
		await run(`ALTER TABLE request_log ATTACH PARTITION "${name}" FOR VALUES FROM (${midnight(day)}) TO (${midnight(day, 1)})`);
	return moved?.count ?? 0;
}

/** Returns a bound of a partition: a literal, since expressions are not taken everywhere. */
const midnight = (day: string, later = 0): string => `'${new Date(Date.parse(`${day}T00:00:00Z`) + later * DAY_MS).toISOString()}'`;
