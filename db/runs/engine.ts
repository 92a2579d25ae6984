// pg-boss, which decides whose turn it is: one queue per kind of run, jobs that hold the id of a run and nothing else. It is loaded when a
// run is first started or taken; a process without runs never loads it.

import type { PgBoss } from 'pg-boss';
import type { Log } from '../../core/contract/nouns.ts';
import type { RunHold } from '../../core/store/store.ts';
import type { Endpoint } from '../connection.ts';
import { createRunPool, type RunPool, type Sql } from './pool.ts';

/** The PostgreSQL schema of its tables. */
const SCHEMA = 'engine';
/** A holder that has not kept a job for so long is gone: longer than a short outage of the database. */
const HEARTBEAT_SECONDS = 30;
/** The time after which a run that was begun ahead of the queue is taken over, unless it is kept. */
const HERE_SECONDS = 35;
/** The least that the engine allows between two of its searches for jobs whose holder is gone, over all replicas. */
const MONITOR_SECONDS = 2;
const NEVER_SECONDS = 10 * 365 * 24 * 3600;
/** The engine's longest: an attempt that takes longer is taken over. */
const DAY_SECONDS = 24 * 3600;

/** The record of its tables among our migrations; a newer version of the engine has another name. */
export const ENGINE_MIGRATION = 'pg-boss-12.35.0';

/** Drops the jobs of the rows that `ended` returns with their `kind` and `jobId`: the statement of the engine's own `deleteJob`. */
export const DROP_ENDED = `DELETE FROM ${SCHEMA}.job j USING ended WHERE j.name = ended.kind AND j.id = ended."jobId"`;

export interface Turn {
	id: string;
	retryCount: number;
	data: { runId: string };
}

/** Creates or upgrades its tables. */
export async function installEngine(endpoint: Endpoint, log: Log): Promise<void> {
	const pool = createRunPool(endpoint, log);
	try {
		// A role that may not create schemas can be given this one.
		const [found] = await pool.rows<{ has: boolean }>('SELECT to_regnamespace($1) IS NOT NULL AS has', [SCHEMA]);
		const boss = await create(pool, log, { migrate: true, createSchema: found?.has !== true });
		await boss.start();
		await boss.stop({ close: false, graceful: false });
	} finally {
		await pool.close();
	}
}

async function create(pool: RunPool, log: Log, settings: { migrate: boolean; createSchema: boolean }): Promise<PgBoss> {
	const { PgBoss } = await import('pg-boss');
	const boss = new PgBoss({
		db: pool,
		schema: SCHEMA,
		...settings,
		// Cron, the watch over its indexes and its own timers are not used: `supervise` is called when there is something to watch.
		schedule: false,
		supervise: false,
		reindex: false,
		monitorVacuum: false,
		monitorIntervalSeconds: MONITOR_SECONDS,
		queueCacheIntervalSeconds: DAY_SECONDS,
	});
	boss.on('error', (error) => log.warn({ err: error }, 'the engine of runs reports a fault'));
	boss.on('warning', (warning) => log.warn({ warning }, 'the engine of runs warns'));
	return boss;
}

export class Engine {
	readonly #pool: RunPool;
	readonly #log: Log;
	readonly #known = new Map<string, Promise<void>>();
	#starting: Promise<PgBoss> | null = null;

	constructor(pool: RunPool, log: Log) {
		this.#pool = pool;
		this.#log = log;
	}

	/** Creates the queues that are not there: usually all of them are, so that a process without any work does not load the engine. */
	async open(kinds: readonly string[]): Promise<void> {
		const found = await this.#pool.rows<{ name: string }>(`SELECT name FROM ${SCHEMA}.queue WHERE name = ANY($1)`, [kinds]);
		const there = new Set(found.map(({ name }) => name));
		for (const kind of kinds) if (!there.has(kind)) await this.prepare(kind);
	}

	/** Creates the queue of a kind, unless there is one. */
	prepare(kind: string): Promise<void> {
		const known = this.#known.get(kind) ?? this.#create(kind);
		this.#known.set(kind, known);
		known.catch(() => this.#known.delete(kind));
		return known;
	}

	/** Gives a run its turn, in the transaction that changes its row. @param afterSeconds not before; `here`: when nobody keeps it */
	async send(
		sql: Sql,
		run: { id: string; kind: string; priority: number; jobId: string },
		afterSeconds: number | 'here' = 0,
	): Promise<void> {
		const boss = await this.#boss();
		const startAfter = afterSeconds === 'here' ? HERE_SECONDS : afterSeconds;
		const options = { id: run.jobId, priority: run.priority, db: sql, ...(startAfter > 0 && { startAfter }) };
		await boss.send(run.kind, { runId: run.id }, options);
	}

	async drop(sql: Sql, kind: string, jobId: string): Promise<void> {
		await (await this.#boss()).deleteJob(kind, jobId, { db: sql });
	}

	/** Drops a job that names no run any more, unless somebody else has it by now. */
	async dismiss(sql: Sql, kind: string, { id, retryCount }: Turn): Promise<void> {
		await (await this.#boss()).deleteJob(kind, { id, retryCount }, { db: sql });
	}

	async fetch(kind: string, count: number): Promise<Turn[]> {
		return (await this.#boss()).fetch<{ runId: string }>(kind, { batchSize: count });
	}

	/** @returns the ids of the jobs that are still held */
	async keep(kind: string, holds: readonly RunHold[]): Promise<Set<string>> {
		const boss = await this.#boss();
		const touch = async (jobs: RunHold['job'][]): Promise<string[]> => {
			// The engine's declaration leaves out the fields of this answer; the version is pinned, and a test loses a job.
			const { settled } = (await boss.touch(kind, jobs)) as { settled?: string[] | null };
			return settled ?? [];
		};
		const putOff = async ({ id: runId, job: { id } }: RunHold): Promise<string[]> => {
			// The data is replaced, too.
			const { updated } = await boss.update(kind, { runId }, { id, startAfter: HERE_SECONDS });
			return updated > 0 ? [id] : [];
		};
		const queued = holds.filter(({ here }) => !here).map(({ job }) => job);
		const here = holds.filter((hold) => hold.here).map(putOff);
		const kept = await Promise.all([queued.length > 0 ? touch(queued) : [], ...here]);
		return new Set(kept.flat());
	}

	async supervise(): Promise<void> {
		await (await this.#boss()).supervise();
	}

	async close(): Promise<void> {
		const boss = await this.#starting?.catch(() => null);
		await boss?.stop({ close: false, graceful: false });
	}

	async #create(kind: string): Promise<void> {
		const boss = await this.#boss();
		if (await boss.getQueue(kind)) return;
		await boss.createQueue(kind, {
			heartbeatSeconds: HEARTBEAT_SECONDS,
			expireInSeconds: DAY_SECONDS,
			retentionSeconds: NEVER_SECONDS,
			// A retry means that another process takes over; retries of what failed are not the engine's.
			retryLimit: 1_000_000,
			retryDelay: 0,
		});
	}

	#boss(): Promise<PgBoss> {
		this.#starting ??= this.#start().catch((error: unknown) => {
			this.#starting = null;
			throw error;
		});
		return this.#starting;
	}

	async #start(): Promise<PgBoss> {
		const boss = await create(this.#pool, this.#log, { migrate: false, createSchema: false });
		return boss.start();
	}
}
