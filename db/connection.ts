// Pools of connections whose deadlines reveal an outage within seconds: Sequelize's own defaults hang for over a minute.

import pg from 'pg';
import { type QueryOptions, Sequelize, type Transaction } from 'sequelize';
import type { Config } from '../core/config/config.ts';
import type { Actor } from '../core/store/store.ts';
import { Answers, inTime } from './deadline.ts';
import { lenient } from './text.ts';

/** The address of a PostgreSQL server. A `host` that begins with `/` is the folder of its unix socket. */
export type Endpoint = NonNullable<Config['database']>;

const ORDINARY_TIMEOUT_MS = 2_000;
/** The share of a deadline that a statement waits for a lock: below 1, so that the server itself reports a row that is locked for long. */
const LOCK_SHARE = 0.9;
const BULK_TIMEOUT_MS = 120_000;
/** The number of connections for ordinary statements. */
export const POOL_SIZE = 10;
export const BULK_POOL_SIZE = 8;
/** The client waits a little longer than the server's own limit, so that a live server reports the timeout itself. */
const CLIENT_GRACE_MS = 200;

/** The limit of a User-Agent, which is stored with every row of the audit log. */
const USER_AGENT_LENGTH = 256;

/** How long is waited, in milliseconds. */
export interface Waits {
	/** For all that one request asks of the ordinary pool, and for each of its statements outside of one. */
	ordinaryMs: number;
	/** A process that is frozen, or cut off from the network, in the middle of a transaction keeps what it has locked no longer than that. */
	idleMs: number;
	/** For a connection. */
	connectMs: number;
}

export const WAITS: Waits = { ordinaryMs: ORDINARY_TIMEOUT_MS, idleMs: 15_000, connectMs: 1_500 };

/** Runs a statement that is prepared once, on a connection of its own: what calls leave behind waits for nobody, and nobody for it. */
type Prepared = (statement: { name: string; text: string; values: unknown[] }) => Promise<unknown>;

interface Pools {
	ordinary: Sequelize;
	bulk: Sequelize;
	records: Prepared;
	/** The answers on all connections. */
	answers: Answers;
	waits: Waits;
	close(): Promise<void>;
}

type Work<T> = (transaction: Transaction) => Promise<T>;
/** Null: the statement is its own transaction. */
type Statement<T> = (transaction: Transaction | null) => Promise<T>;

/**
 * Two pools, since a deadline belongs to a connection: `ordinary` for single statements that answer in milliseconds, `bulk` for
 * transactions over thousands of rows, which must neither be cut off nor delay the others.
 */
export interface Database extends Pools {
	/** Returns the same pools, whose changes the audit log records under this actor. */
	as(actor: Actor): Database;
	/** Runs `work` in a transaction of the ordinary pool, which has the ordinary deadline as a whole. */
	write<T>(work: Work<T>): Promise<T>;
	/** Runs one statement of the ordinary pool, in a `write` only when there is an actor to record: otherwise it saves three round trips. */
	once<T>(statement: Statement<T>): Promise<T>;
	/** Begins a transaction of the bulk pool, to be ended by the caller. */
	begin(): Promise<Transaction>;
	/** Runs `work` in a transaction of the bulk pool. */
	transact<T>(work: Work<T>): Promise<T>;
}

export function connect(endpoint: Endpoint, poolSize: number, waits: Waits = WAITS): Database {
	const answers = new Answers();
	const { ordinaryMs, idleMs, connectMs } = waits;
	const deadlines = { acquireMs: ordinaryMs, statementMs: ordinaryMs, lockMs: ordinaryMs * LOCK_SHARE, idleMs, connectMs };
	const ordinary = createPool(endpoint, { size: poolSize, ...deadlines });
	aroundQueries(ordinary, (query, isPart) => answers.watch(() => (isPart ? query() : inTime(null, query))));
	const bulkMs = { acquireMs: BULK_TIMEOUT_MS, statementMs: BULK_TIMEOUT_MS, lockMs: BULK_TIMEOUT_MS, idleMs, connectMs };
	const bulk = createPool(endpoint, { size: BULK_POOL_SIZE, ...bulkMs });
	aroundQueries(bulk, (query) => answers.watch(query));
	const writer = createWriter(endpoint, waits);
	const records: Prepared = (statement) => answers.watch(() => writer.query(statement));
	const close = async (): Promise<void> => {
		await Promise.all([ordinary.close(), bulk.close(), writer.end()]);
	};
	return bind({ ordinary, bulk, records, answers, waits, close }, null);
}

/** @param actor null: the service itself */
function bind(pools: Pools, actor: string | null): Database {
	const { ordinary, bulk, answers, waits } = pools;
	// A silent server is detected within the ordinary deadline, before the long one begins.
	const probe = (): Promise<unknown> => ordinary.query('SELECT 1');
	const write = <T>(work: Work<T>): Promise<T> => answers.watch(() => transactInTime(ordinary, waits, signed(ordinary, actor, work)));
	return {
		...pools,
		as: (next) => bind(pools, toSetting(next)),
		write,
		once: (statement) => (actor === null ? statement(null) : write(statement)),
		begin: async () => {
			await probe();
			return answers.watch(() => beginSigned(bulk, actor));
		},
		transact: async (work) => {
			await probe();
			return answers.watch(() => bulk.transaction(signed(bulk, actor, work)));
		},
	};
}

/** Returns the setting that the triggers of the audit log read, without characters that PostgreSQL cannot store. */
function toSetting({ userId, email, accessKeyId, address, userAgent, requestId }: Actor): string {
	const shortened = userAgent?.slice(0, USER_AGENT_LENGTH) ?? null;
	const fields = { userId, email, accessKeyId, address, userAgent: shortened, requestId };
	return JSON.stringify(fields, (_name, value) => (typeof value === 'string' ? lenient(value) : value));
}

/** Sets the actor for the transaction only, so the next user of the connection does not inherit it. */
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

/** One deadline for the whole transaction: with a silent server, the deadlines of its statements would add up, including the rollback's. */
const transactInTime = <T>(pool: Sequelize, { ordinaryMs }: Waits, work: Work<T>): Promise<T> =>
	inTime(ordinaryMs + CLIENT_GRACE_MS, ({ signal, end }) =>
		pool.transaction(async (transaction) => {
			// A caller that has given up takes no turn at the row from those behind it.
			signal.throwIfAborted();
			const result = await work(transaction);
			// A change that was reported as failed must not be committed, and one that is being committed must not be reported as failed: the
			// commit has the deadline of a statement.
			end();
			return result;
		}),
	);

/** Wraps every statement. @param around gets the statement, and whether it is part of a transaction, which has a deadline as a whole */
function aroundQueries(pool: Sequelize, around: (query: () => Promise<unknown>, isPart: boolean) => Promise<unknown>): void {
	const query = pool.query.bind(pool) as (...input: QueryInput) => Promise<unknown>;
	const surrounded = (...input: QueryInput) => around(() => query(...input), Boolean(input[1]?.transaction));
	// The replacement accepts every overload of the original.
	pool.query = surrounded as unknown as Sequelize['query'];
}

type QueryInput = [sql: string, options?: QueryOptions];

interface Deadlines {
	size: number;
	acquireMs: number;
	statementMs: number;
	/** The time limit of each wait for a lock. */
	lockMs: number;
	idleMs: number;
	connectMs: number;
}

function createPool(endpoint: Endpoint, { size, acquireMs, statementMs, lockMs, idleMs, connectMs }: Deadlines): Sequelize {
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
			// Saves a statement per connection.
			clientMinMessages: 'ignore',
			application_name: 'gatehouse',
			connectionTimeoutMillis: connectMs,
			statement_timeout: statementMs,
			lock_timeout: Math.round(lockMs),
			query_timeout: statementMs + CLIENT_GRACE_MS,
			idle_in_transaction_session_timeout: idleMs,
			keepAlive: true,
			ssl,
		},
	});
}

/** Creates the connection on which records are written, which comes with the first of them and again after a failure. */
function createWriter(endpoint: Endpoint, { ordinaryMs, connectMs }: Waits): pg.Pool {
	const deadlines = { statement_timeout: ordinaryMs, query_timeout: ordinaryMs + CLIENT_GRACE_MS };
	const pool = new pg.Pool({ ...driverOptions(endpoint, connectMs), ...deadlines, max: 1, idleTimeoutMillis: 30_000 });
	// The next statement connects anew.
	pool.on('error', () => undefined);
	return pool;
}

/** Creates one connection outside the pools, not yet connected. */
export const createClient = (endpoint: Endpoint, { connectMs }: Pick<Waits, 'connectMs'> = WAITS): pg.Client =>
	new pg.Client({
		...driverOptions(endpoint, connectMs),
		statement_timeout: ORDINARY_TIMEOUT_MS,
		query_timeout: ORDINARY_TIMEOUT_MS + CLIENT_GRACE_MS,
	});

const driverOptions = ({ host, port, username, password, name, ssl }: Endpoint, connectMs: number): pg.ClientConfig => ({
	...{ host, port, user: username, password, database: name, ssl },
	application_name: 'gatehouse',
	connectionTimeoutMillis: connectMs,
	keepAlive: true,
});
