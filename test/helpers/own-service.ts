// The whole service in this process, on a database and a prefix of Redis of its own.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, loadConfig } from '../../core/config/config.ts';
import { createLog } from '../../core/config/log.ts';
import type { Window } from '../../core/contract/limits.ts';
import type { LimitTable } from '../../core/limits/table.ts';
import { startService } from '../../core/service.ts';
import { dropKeys } from '../../testing/redis-keys.ts';
import { PATIENCE_MS } from './clock.ts';
import { freePort } from './ports.ts';
import { testDatabase } from './postgres.ts';
import { testRedis } from './redis.ts';
import { databaseVariables, SECRETS, type TestService, type TestServiceOptions } from './service.ts';
import { PATIENT } from './store.ts';

const wide: Window = { max: 1_000_000, seconds: 60 };
const LOOSE: LimitTable = { global: wide, categories: { health: null }, invoke: wide, gateways: wide, routes: {} };

const LEAST_COST = 4;
/** The pool of a service that may wait: several files run at once, and a PostgreSQL takes 100 connections. */
const SHARED_POOL_SIZE = 4;

export async function startOwnService({
	env = {},
	replicaOf,
	redis: ownRedis,
	limits = LOOSE,
	passwordCost = LEAST_COST,
	databaseWaits = PATIENT,
	onLog,
	alertPace,
}: TestServiceOptions): Promise<TestService> {
	const owned = replicaOf ? null : await testDatabase();
	const redis = ownRedis ?? (await testRedis());
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-service-'));
	const database = replicaOf?.config.database ?? owned?.database;
	if (!database) throw new Error('A replica needs a service on a database.');
	const port = await freePort();
	// The database is a copy of one that is migrated.
	const usualEnv = { HOST: '127.0.0.1', EGRESS_ALLOW: '127.0.0.1', LOG_LEVEL: 'fatal', DB_MIGRATIONS_RUN: 'false' };
	const given = { PORT: String(port), SVC_DATA_DIR: folder, ...usualEnv, ...env };
	const read = loadConfig({ ...databaseVariables(database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS, ...given });
	const keyPrefix = replicaOf?.config.redis?.keyPrefix ?? `gatehouse-test-${randomBytes(6).toString('hex')}:`;
	const usual = { ...read.redis, host: redis.host, port: redis.port, keyPrefix };
	const config: Config = { ...read, redis: usual, bullRedis: read.bullRedis && { ...read.bullRedis, keyPrefix } };
	const databasePoolSize = databaseWaits === PATIENT ? SHARED_POOL_SIZE : undefined;
	// A Redis that a test ends is waited for as in the product; the others' is only slow where the machine is busy.
	const sharedDeadlineMs = ownRedis ? undefined : PATIENCE_MS;
	const log = onLog ? createLog('trace', { write: onLog }) : createLog(config.logLevel);
	const service = await startService(config, log, { limits, passwordCost, databaseWaits, databasePoolSize, sharedDeadlineMs, alertPace });
	return {
		url: service.url,
		server: service.server,
		config,
		async stop() {
			await service.stop();
			rmSync(folder, { recursive: true, force: true });
			if (owned) {
				await dropKeys(usual);
				await owned.drop();
			}
			await redis.stop();
		},
	};
}
