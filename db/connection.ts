// Pools of connections whose deadlines make an outage show in seconds: Sequelize's own defaults hang for over a minute.

import pg from 'pg';
import { type QueryOptions, Sequelize, type Transaction } from 'sequelize';
import type { Config } from '../core/config/config.ts';
import type { Actor } from '../core/store/store.ts';
import { inTime } from './deadline.ts';
import { lenient } from './text.ts';

/** Where a PostgreSQL listens. A `host` that begins with `/` is the folder of its unix socket. */
export type Endpoint = NonNullable<Config['database']>;

const CONNECT_TIMEOUT_MS = 1_500;
const ACQUIRE_TIMEOUT_MS = 2_000;
const ORDINARY_TIMEOUT_MS = 2_000;
const BULK_TIMEOUT_MS = 120_000;
const BULK_POOL_SIZE = 8;
/** A process that is frozen, or cut off from the network, in the middle of a transaction keeps what it has locked no longer than that. */
export const IDLE_TIMEOUT_MS = 15_000;
/** The client gives up a little after the server would have, so that a server that is alive answers for itself. */
const CLIENT_GRACE_MS = 200;

/** Of what a client says of itself; it is stored with every row of the audit log. */
const USER_AGENT_LENGTH = 256;

interface Pools {
	ordinary: Sequelize;
	bulk: Sequelize;
}

type Work<T> = (transaction: Transaction) => Promise<T>;
/** Null: the statement is its own transaction. */
type Statement<T> = (transaction: Transaction | null) => Promise<T>;

/**
 * Two pools, since a deadline belongs to a connection: `ordinary` for single statements that answer in milliseconds, `bulk`
 * for transactions over thousands of rows, which must neither be cut off nor stand in the way of the others.
 */
export interface Database extends Pools {
	/** The same pools. What its transactions change is told to the audit log under this name. */
	as(actor: Actor): Database;
	/** A transaction of the ordinary pool, ended with `work`, and given up after the ordinary deadline as a whole. */
	write<T>(work: Work<T>): Promise<T>;
	/** One statement of the ordinary pool, in a `write` only if there is an actor to tell of: it spares three round trips. */
	once<T>(statement: Statement<T>): Promise<T>;
	/** A transaction of the bulk pool, to be ended by the caller. */
	begin(): Promise<Transaction>;
	/** The same, ended with `work`. */
	transact<T>(work: Work<T>): Promise<T>;
	close(): Promise<void>;
}

export function connect(endpoint: Endpoint, poolSize: number): Database {
	const ordinary = createPool(endpoint, { size: poolSize, acquireMs: ACQUIRE_TIMEOUT_MS, statementMs: ORDINARY_TIMEOUT_MS });
	limitWaiting(ordinary);
	const bulk = createPool(endpoint, { size: BULK_POOL_SIZE, acquireMs: BULK_TIMEOUT_MS, statementMs: BULK_TIMEOUT_MS });
	return bind({ ordinary, bulk }, null);
}

/** @param actor null: the service itself */
function bind({ ordinary, bulk }: Pools, actor: string | null): Database {
	// A server that went silent shows within the ordinary deadline, before the long one begins.
	const probe = (): Promise<unknown> => ordinary.query('SELECT 1');
	const write = <T>(work: Work<T>): Promise<T> => transactInTime(ordinary, signed(ordinary, actor, work));
	return {
		ordinary,
		bulk,
		as: (next) => bind({ ordinary, bulk }, toSetting(next)),
		write,
		once: (statement) => (actor === null ? statement(null) : write(statement)),
		begin: async () => {
			await probe();
			return beginSigned(bulk, actor);
		},
		transact: async (work) => {
			await probe();
			return bulk.transaction(signed(bulk, actor, work));
		},
		close: async () => {
			await Promise.all([ordinary.close(), bulk.close()]);
		},
	};
}

/** What the triggers of the audit log read. No character in it that PostgreSQL cannot hold. */
function toSetting({ userId, email, accessKeyId, address, userAgent, requestId }: Actor): string {
	const shortened = userAgent?.slice(0, USER_AGENT_LENGTH) ?? null;
	const fields = { userId, email, accessKeyId, address, userAgent: shortened, requestId };
	return JSON.stringify(fields, (_name, value) => (typeof value === 'string' ? lenient(value) : value));
}

/** The setting ends with the transaction, so the next user of the connection does not inherit the name. */
async function sign(pool: Sequelize, actor: string | null, transaction: Transaction): Promise<void> {
	if (actor !== null) await pool.query(`SELECT set_config('gatehouse.actor', $1, true)`, { bind: [actor], transaction });
}

const signed =
	<T>(pool: Sequelize, actor: string | null, work: Work<T>): Work<T> =>
	async (transaction) => {
		await sign(pool, actor, transaction);
		return work(transaction);
	};

async function beginSigned(pool: Sequelize, actor: string | null): Promise<Transaction> {
	const transaction = await pool.transaction();
	try {
		await sign(pool, actor, transaction);
		return transaction;
	} catch (error) {
		await transaction.rollback();
		throw error;
	}
}

/** Each statement has its deadline, and yet with a silent server they add up, since the rollback is waited for as well. */
const transactInTime = <T>(pool: Sequelize, work: Work<T>): Promise<T> =>
	inTime(ORDINARY_TIMEOUT_MS + CLIENT_GRACE_MS, (signal) =>
		pool.transaction(async (transaction) => {
			const result = await work(transaction);
			// Who was told that it failed must not find it done.
			signal.throwIfAborted();
			return result;
		}),
	);

/** Of statements on their own. Those of a transaction share its deadline. */
function limitWaiting(pool: Sequelize): void {
	const query = pool.query.bind(pool) as (...input: QueryInput) => Promise<unknown>;
	const limited = (...input: QueryInput) => (input[1]?.transaction ? query(...input) : inTime(null, () => query(...input)));
	// The same function in all its overloads.
	pool.query = limited as unknown as Sequelize['query'];
}

type QueryInput = [sql: string, options?: QueryOptions];

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
			idle_in_transaction_session_timeout: IDLE_TIMEOUT_MS,
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
