// The database and the counters that a service under measurement stands on: the embedded database alone, or a PostgreSQL with a Redis.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../../demo/ports.ts';
import { administer, type Endpoint, testDatabase } from '../helpers/postgres.ts';
import { startRedis } from '../helpers/redis.ts';
import { databaseVariables, SECRETS } from '../helpers/service.ts';
import { type Subject, startSubject } from './subject.ts';

export const BACKINGS = ['embedded', 'postgres'] as const;
export type BackingName = (typeof BACKINGS)[number];

const TITLES: Record<BackingName, string> = { embedded: 'the embedded database', postgres: 'PostgreSQL and Redis' };

export interface Backing extends AsyncDisposable {
	title: string;
	/** The variables that point a service at it; the data folder is among them. */
	env: Record<string, string>;
	/** The database, where there is one before the service starts. */
	database: Endpoint | null;
}

/** Returns the backings that an argument names: one of them, or all. @throws Error for another argument */
export function backingsOf(argument: string | undefined): readonly BackingName[] {
	if (argument === undefined) return ['embedded'];
	const named = argument === 'all' ? BACKINGS : BACKINGS.filter((name) => name === argument);
	if (named.length === 0) throw new Error(`Known: ${BACKINGS.join(', ')}, all.`);
	return named;
}

/** Opens a backing whose database and folder end with it. Commits wait for the disk, as they do for an operator. */
export async function openBacking(name: BackingName): Promise<Backing> {
	const opened = new AsyncDisposableStack();
	const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	opened.defer(() => rm(dataDir, { recursive: true, force: true }));
	const close = (): Promise<void> => opened.disposeAsync();
	const base = { title: TITLES[name], [Symbol.asyncDispose]: close };
	if (name === 'embedded') return { ...base, database: null, env: { SVC_DATA_DIR: dataDir } };
	const { database } = opened.use(await testDatabase());
	await administer(database, `ALTER DATABASE ${database.name} RESET synchronous_commit`);
	const redis = await startRedis();
	opened.defer(() => redis.stop());
	const counters = { REDIS_HOST: redis.host, REDIS_PORT: String(redis.port) };
	return { ...base, database, env: { SVC_DATA_DIR: dataDir, ...databaseVariables(database), ...counters, ...SECRETS } };
}

/** Starts a service on a backing, which may call the upstream. @param file the program that starts it */
export async function startOn({ env }: Backing, upstream: string, file = './service.ts', execArgv = process.execArgv): Promise<Subject> {
	const port = String(await findPort('127.0.0.1', 0));
	return await startSubject(file, { ...env, PORT: port, EGRESS_ALLOW: upstream, LOG_LEVEL: 'warn' }, execArgv);
}
