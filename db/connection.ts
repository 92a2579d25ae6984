// Pools of connections whose deadlines make an outage show in seconds: Sequelize's own defaults hang for over a minute.

import pg from 'pg';
import { Sequelize, type Transaction } from 'sequelize';
import type { Config } from '../core/config.ts';

/** Where a PostgreSQL listens. A `host` that begins with `/` is the folder of its unix socket. */
export type Endpoint = NonNullable<Config['database']>;

const CONNECT_TIMEOUT_MS = 1_500;
const ACQUIRE_TIMEOUT_MS = 2_000;
const ORDINARY_TIMEOUT_MS = 2_000;
const BULK_TIMEOUT_MS = 120_000;
const BULK_POOL_SIZE = 8;
/** The client gives up a little after the server would have, so that a server that is alive answers for itself. */
const CLIENT_GRACE_MS = 200;

/**
 * Two pools, since a deadline belongs to a connection: `ordinary` for single statements that answer in milliseconds, `bulk`
 * for transactions over thousands of rows, which must neither be cut off nor stand in the way of the others.
 */
export interface Database {
	ordinary: Sequelize;
	bulk: Sequelize;
	/** A transaction of the bulk pool, to be ended by the caller. */
	begin(): Promise<Transaction>;
	/** The same, ended with `work`. */
	transact<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
	close(): Promise<void>;
}

export function connect(endpoint: Endpoint, poolSize: number): Database {
	const ordinary = createPool(endpoint, { size: poolSize, acquireMs: ACQUIRE_TIMEOUT_MS, statementMs: ORDINARY_TIMEOUT_MS });
	const bulk = createPool(endpoint, { size: BULK_POOL_SIZE, acquireMs: BULK_TIMEOUT_MS, statementMs: BULK_TIMEOUT_MS });
	// A server that went silent shows within the ordinary deadline, before the long one begins.
	const probe = (): Promise<unknown> => ordinary.query('SELECT 1');
	return {
		ordinary,
		bulk,
		begin: async () => {
			await probe();
			return bulk.transaction();
		},
		transact: async (work) => {
			await probe();
			return bulk.transaction(work);
		},
		close: async () => {
			await Promise.all([ordinary.close(), bulk.close()]);
		},
	};
}

interface Deadlines {
	size: number;
	acquireMs: number;
	statementMs: number;
}

function createPool(endpoint: Endpoint, { size, acquireMs, statementMs }: Deadlines): Sequelize {
	const { host, port, username, password, name, ssl } = endpoint;
	return new Sequelize({
		dialect: 'postgres',
		host,
		port,
		username,
		password,
		database: name,
		logging: false,
		pool: { max: size, min: 0, acquire: acquireMs, idle: 30_000 },
		dialectOptions: {
			// Spares a statement per connection.
			clientMinMessages: 'ignore',
			application_name: 'gatehouse',
			connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
			statement_timeout: statementMs,
			query_timeout: statementMs + CLIENT_GRACE_MS,
			keepAlive: true,
			ssl,
		},
	});
}

/** One connection outside the pools, not yet connected. */
export function createClient({ host, port, username, password, name, ssl }: Endpoint): pg.Client {
	return new pg.Client({
		host,
		port,
		user: username,
		password,
		database: name,
		ssl,
		application_name: 'gatehouse',
		connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		statement_timeout: ORDINARY_TIMEOUT_MS,
		query_timeout: ORDINARY_TIMEOUT_MS + CLIENT_GRACE_MS,
		keepAlive: true,
	});
}
