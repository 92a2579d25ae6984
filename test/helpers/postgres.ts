// Databases for tests on a real PostgreSQL: the one that a run of many files prepared; else the one named by TEST_DATABASE_URL, the one on
// 127.0.0.1, or an embedded one. Databases are copies of a template that is migrated once for a run, or else by each process.

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Pool } from 'pg';
import type { Config } from '../../core/config/config.ts';
import { silent } from './silent.ts';

export { silent };

export type Endpoint = NonNullable<Config['database']>;

export interface TestDatabase extends AsyncDisposable {
	database: Endpoint;
	drop(): Promise<void>;
}

export interface Server {
	endpoint: Endpoint;
	template: string;
	/** Whether it waits for no disk. Then a copy of files costs a third of the CPU time of one that its log describes. */
	mayLose: boolean;
}

/** Names the variable in which a run of many files passes its server to each of them. */
export const SHARED_SERVER = 'GATEHOUSE_TEST_SERVER';
/** Names that of the server that the machine has, with which some files of the store are tested: it may be of another version. */
export const FOUND_SERVER = 'GATEHOUSE_TEST_FOUND_SERVER';

let server: Promise<Server> | null = null;

/** Makes a database. @param options.empty without the schema */
export async function testDatabase({ empty = false } = {}): Promise<TestDatabase> {
	server ??= findPrepared();
	const { endpoint, template, mayLose } = await server;
	const name = randomName();
	// No test needs its rows to survive a crash of the machine, and each commit would wait for the disk.
	await administer(
		endpoint,
		`CREATE DATABASE ${name}${empty ? '' : ` TEMPLATE ${template}${mayLose ? ' STRATEGY FILE_COPY' : ''}`}`,
		`ALTER DATABASE ${name} SET synchronous_commit = off`,
	);
	const drop = async (): Promise<void> => {
		await administer(endpoint, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
	};
	return { database: { ...endpoint, name }, drop, [Symbol.asyncDispose]: drop };
}

const randomName = (): string => `gatehouse_test_${randomBytes(6).toString('hex')}`;

async function findPrepared(): Promise<Server> {
	const shared = process.env[SHARED_SERVER];
	if (shared) return JSON.parse(shared);
	const { stop, ...prepared } = await prepareServer(await findServer());
	// The event comes when no work is left, so after the last test of the process.
	process.once('beforeExit', stop);
	return prepared;
}

/** Prepares a server with a migrated template. `stop` drops the template, and ends the server if it was started for this. */
export async function prepareServer({ endpoint, mayLose = false, stop }: Started): Promise<Server & { stop(): Promise<void> }> {
	// The import is dynamic, since files that receive a server do not need it.
	const { migrateDatabase } = await import('../../db/index.ts');
	const template = randomName();
	const drop = async (): Promise<void> => {
		await administer(endpoint, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
		await stop();
	};
	try {
		await administer(endpoint, `CREATE DATABASE ${template}`);
		await migrateDatabase({ database: { ...endpoint, name: template }, dataDir: '', log: silent });
	} catch (error) {
		await drop();
		throw error;
	}
	return { endpoint, template, mayLose, stop: drop };
}

/** A server that is there. */
export interface Started {
	endpoint: Endpoint;
	mayLose?: boolean;
	stop(): Promise<void>;
}

const findServer = async (): Promise<Started> => (await namedServer()) ?? (await machinesServer()) ?? (await ownServer());

/** Returns the server of TEST_DATABASE_URL; null without the variable. */
export function namedServer(): Started | null {
	const url = process.env['TEST_DATABASE_URL'];
	return url ? { endpoint: fromUrl(new URL(url)), stop: () => Promise.resolve() } : null;
}

/** Returns the server on 127.0.0.1; null for none, and for one that lets nobody make databases. */
export async function machinesServer(): Promise<Started | null> {
	for (const username of ['root', 'postgres']) {
		const endpoint = { host: '127.0.0.1', port: 5432, username, password: '', name: 'postgres', ssl: false };
		if (await mayCreate(endpoint)) return { endpoint, stop: () => Promise.resolve() };
	}
	return null;
}

/** Starts a server. The import is dynamic, since most files use one that is there. */
export const ownServer = async (): Promise<Started> => (await import('./memory-postgres.ts')).startMemoryServer();

const fromUrl = (url: URL): Endpoint => ({
	host: url.hostname,
	port: Number(url.port || 5432),
	username: decodeURIComponent(url.username),
	password: decodeURIComponent(url.password),
	name: url.pathname.slice(1) || 'postgres',
	ssl: url.searchParams.get('sslmode') === 'require',
});

async function mayCreate(endpoint: Endpoint): Promise<boolean> {
	try {
		const [role] = await administer(endpoint, 'SELECT rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user');
		return role?.['may'] === true;
	} catch {
		// The server is absent or refuses the login: the next one is tried.
		return false;
	}
}

/** The time that a connection waits for the next statements. */
const IDLE_MS = 5_000;
/** More than any test needs of one database, so that none waits for another's. */
const MOST_AT_ONCE = 50;
/** The pools, by a key of their address. */
const pools = new Map<string, Pool>();
/** Statements that leave something behind for those that come after on the same connection. */
const OF_SESSION = /^\s*(?:BEGIN|DECLARE|LISTEN|LOAD|PREPARE|SET|START)\b|\bpg_(?:try_)?advisory_lock|\bset_config\b|\bTEMP(?:ORARY)?\b/i;

/**
 * Runs statements in a row on one connection, outside a transaction, as CREATE DATABASE requires. The connection is kept for those that
 * follow soon: without that, 1,185 of the 2,220 connections of three groups were made for it. @returns the rows of the last one
 */
export async function administer(endpoint: Endpoint, ...statements: string[]): Promise<Record<string, unknown>[]> {
	const client = await (await poolOf(endpoint)).connect();
	let isClean = false;
	try {
		let rows: Record<string, unknown>[] = [];
		for (const sql of statements) rows = (await client.query(sql)).rows;
		isClean = !statements.some((sql) => OF_SESSION.test(sql));
		return rows;
	} finally {
		client.release(!isClean);
	}
}

async function poolOf({ host, port, username, password, name, ssl }: Endpoint): Promise<Pool> {
	const key = JSON.stringify([host, port, username, password, name, ssl]);
	// The import is dynamic, since many files import this one and reach no database.
	const { default: pg } = await import('pg');
	const known = pools.get(key);
	if (known) return known;
	const at = { host, port, user: username, password, database: name, ssl };
	const times = { connectionTimeoutMillis: 5_000, idleTimeoutMillis: IDLE_MS };
	const pool = new pg.Pool({ ...at, ...times, max: MOST_AT_ONCE, allowExitOnIdle: true });
	// A connection that waits ends with its database.
	pool.on('error', () => undefined);
	pool.on('remove', () => {
		if (pool.totalCount === 0) pools.delete(key);
	});
	pools.set(key, pool);
	return pool;
}

/**
 * Reads the CPU time so far of the server's processes that serve this database, in milliseconds; zero unless it runs on this machine's
 * Linux.
 */
export async function serverCpuMs(endpoint: Endpoint): Promise<number> {
	const rows = await administer(
		endpoint,
		'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
	);
	const ticks = rows.map(({ pid }) => {
		const path = `/proc/${pid}/stat`;
		const [command = '', rest = ''] = existsSync(path) ? readFileSync(path, 'utf8').split(') ') : [];
		const fields = rest.split(' ');
		return command.includes('postgres') ? Number(fields[11]) + Number(fields[12]) : 0;
	});
	return ticks.reduce((sum, each) => sum + each, 0) * 10;
}
