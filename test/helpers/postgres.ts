// A database of one's own on a real PostgreSQL: the one named by TEST_DATABASE_URL, the one on 127.0.0.1, or an embedded one.
// Databases are copies of a template that each process migrates once.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Config } from '../../core/config.ts';
import type { Log } from '../../core/contracts.ts';
import { startEmbedded } from '../../db/embedded.ts';
import { migrateDatabase } from '../../db/index.ts';

export type Endpoint = NonNullable<Config['database']>;

export interface TestDatabase extends AsyncDisposable {
	database: Endpoint;
	drop(): Promise<void>;
}

interface Server {
	endpoint: Endpoint;
	template: string;
}

export const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let server: Promise<Server> | null = null;

/** @param options.empty without the schema */
export async function testDatabase({ empty = false } = {}): Promise<TestDatabase> {
	server ??= prepare();
	const { endpoint, template } = await server;
	const name = randomName();
	await administer(endpoint, `CREATE DATABASE ${name}${empty ? '' : ` TEMPLATE ${template}`}`);
	const drop = async (): Promise<void> => {
		await administer(endpoint, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
	};
	return { database: { ...endpoint, name }, drop, [Symbol.asyncDispose]: drop };
}

const randomName = (): string => `gatehouse_test_${randomBytes(6).toString('hex')}`;

async function prepare(): Promise<Server> {
	const { endpoint, stop } = await findServer();
	const template = randomName();
	await administer(endpoint, `CREATE DATABASE ${template}`);
	// When nothing is left to do, so after the last test of the process.
	process.once('beforeExit', async () => {
		await administer(endpoint, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
		await stop();
	});
	await migrateDatabase({ database: { ...endpoint, name: template }, dataDir: '', log: silent });
	return { endpoint, template };
}

async function findServer(): Promise<{ endpoint: Endpoint; stop(): Promise<void> }> {
	const url = process.env['TEST_DATABASE_URL'];
	if (url) return { endpoint: fromUrl(new URL(url)), stop: () => Promise.resolve() };
	for (const username of ['root', 'postgres']) {
		const endpoint = { host: '127.0.0.1', port: 5432, username, password: '', name: 'postgres', ssl: false };
		if (await mayCreate(endpoint)) return { endpoint, stop: () => Promise.resolve() };
	}
	const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
	const embedded = await startEmbedded({ dataDir, durable: false });
	const stop = async (): Promise<void> => {
		await embedded.stop();
		rmSync(dataDir, { recursive: true, force: true });
	};
	return { endpoint: embedded.database, stop };
}

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
		// Not there, or not open to us: the next one is tried.
		return false;
	}
}

/** One statement on a connection of its own: CREATE DATABASE runs in no transaction and beside no other connection. */
export async function administer(endpoint: Endpoint, sql: string): Promise<Record<string, unknown>[]> {
	const { host, port, username, password, name, ssl } = endpoint;
	const client = new pg.Client({ host, port, user: username, password, database: name, ssl, connectionTimeoutMillis: 5_000 });
	await client.connect();
	try {
		return (await client.query(sql)).rows;
	} finally {
		await client.end();
	}
}
