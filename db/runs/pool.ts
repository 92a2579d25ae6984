// The connections of runs, opened when they are first used: two for transactions, which the engine and our rows share, and two for single
// statements. So a transaction in which the engine reads its settings on the side never waits for another transaction.

import pg from 'pg';
import type { Log } from '../../core/contract/nouns.ts';
import type { Endpoint } from '../connection.ts';
import { type Deadline, inTime } from '../deadline.ts';

/** The interface that pg-boss asks its statements of. */
export interface Sql {
	// biome-ignore lint/suspicious/noExplicitAny: the declaration of pg-boss
	executeSql(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

export interface RunPool extends Sql {
	rows<R extends object>(text: string, values: unknown[]): Promise<R[]>;
	transact<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
	close(): Promise<void>;
}

/** The size of each of both. */
const SIZE = 2;
export const RUN_CONNECTIONS = 2 * SIZE;
/** The wait for a connection, and for a statement outside of a request; one of a request has the deadline of that. */
const STATEMENT_MS = 5_000;
const CLIENT_GRACE_MS = 200;
const IDLE_MS = 15_000;

export function createRunPool(endpoint: Endpoint, log: Log): RunPool {
	const [single, joint] = [new pg.Pool(settings(endpoint)), new pg.Pool(settings(endpoint))];
	for (const pool of [single, joint]) pool.on('error', (error) => log.debug({ err: error }, 'an idle connection of runs broke'));
	return {
		executeSql: (text, values) => inTime(null, () => single.query(text, values)),
		rows: async (text, values) => (await inTime(null, () => single.query(text, values))).rows,
		transact: (work) => inTime(null, (deadline) => transact(joint, deadline, work)),
		close: async () => {
			await Promise.all([single.end(), joint.end()]);
		},
	};
}

const settings = ({ host, port, username, password, name, ssl }: Endpoint): pg.PoolConfig => ({
	host,
	port,
	user: username,
	password,
	database: name,
	ssl,
	max: SIZE,
	application_name: 'gatehouse-runs',
	connectionTimeoutMillis: STATEMENT_MS,
	statement_timeout: STATEMENT_MS,
	query_timeout: STATEMENT_MS + CLIENT_GRACE_MS,
	idle_in_transaction_session_timeout: IDLE_MS,
	idleTimeoutMillis: 30_000,
	keepAlive: true,
	allowExitOnIdle: true,
});

async function transact<T>(pool: pg.Pool, deadline: Deadline, work: (sql: Sql) => Promise<T>): Promise<T> {
	const client = await pool.connect();
	let fault: Error | undefined;
	try {
		await client.query('BEGIN');
		const result = await work({ executeSql: (text, values) => client.query(text, values) });
		// A change that was reported as failed must not be committed, and one that is being committed must not be reported as failed.
		deadline.end();
		await client.query('COMMIT');
		return result;
	} catch (error) {
		// A connection that cannot roll back is closed, which rolls back.
		fault = await client.query('ROLLBACK').then(
			() => undefined,
			(broken: Error) => broken,
		);
		throw error;
	} finally {
		client.release(fault);
	}
}
