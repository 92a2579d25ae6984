// The whole service for the tests of a plugin: in this process, on an embedded database in a folder of its own.

import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, loadConfig } from '../core/config/config.ts';
import { createLog } from '../core/config/log.ts';
import type { Plugin } from '../core/contract/kinds.ts';
import type { Window } from '../core/contract/limits.ts';
import type { JsonObject } from '../core/contract/nouns.ts';
import type { LimitTable } from '../core/limits/table.ts';
import type { Service } from '../core/service.ts';
import { type Account, registerAccount } from './account.ts';

export interface GatehouseOptions {
	/** Plugins of this process, beside the usual ones. */
	plugins?: readonly Plugin[];
	/** Names of installed packages of plugins, as in GATEWAY_PLUGINS. */
	packages?: readonly string[];
	/** The operator's configuration of plugins by `kind:name`, as in the file GATEWAY_PLUGINS_CONFIG. */
	operator?: Readonly<Record<string, JsonObject>>;
	/** The limits of requests: those of the service, or none that a test reaches. Default `usual`. */
	limits?: 'usual' | 'none';
	/** Further variables of the service. By default calls may go to 127.0.0.1, and nothing is logged to the terminal. */
	env?: Readonly<Record<string, string>>;
	/** Receives each line of the log, as JSON, of every level. */
	onLog?(line: string): void;
}

/** A service that runs. */
export interface Gatehouse extends AsyncDisposable {
	url: string;
	/** Registers a new user, with an organization of their own. */
	register(organizationName?: string): Promise<Account>;
	/** Stops the service and removes its database. */
	stop(): Promise<void>;
}

/** Starts the service. It takes some seconds, most of them for the database. @throws Error with one sentence per fault, as at any start */
export const startGatehouse = async (options: GatehouseOptions = {}): Promise<Gatehouse> => (await startWhole(options)).gatehouse;

/** Starts the service and gives its parts, too. @throws as `startGatehouse` does */
export async function startWhole(options: GatehouseOptions): Promise<{ gatehouse: Gatehouse; service: Service }> {
	const { plugins = [], onLog, limits = 'usual' } = options;
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-testing-'));
	const remove = (): void => rmSync(folder, { recursive: true, force: true });
	try {
		const config = withOwnKeys(loadConfig(await environmentOf(options, folder)), folder);
		const log = onLog ? createLog('trace', { write: onLog }) : createLog(config.logLevel);
		const given = { plugins, passwordCost: LEAST_COST, ...(limits === 'none' && { limits: WIDE }) };
		// The import is dynamic, since most files that import the kit start no service.
		const { startService } = await import('../core/service.ts');
		const service = await startService(config, log, given);
		const { url } = service;
		const stop = async (): Promise<void> => {
			try {
				await service.stop();
			} finally {
				remove();
				if (config.redis) await (await import('./redis-keys.ts')).dropKeys(config.redis);
			}
		};
		return { gatehouse: { url, register: (name) => registerAccount(url, name), stop, [Symbol.asyncDispose]: stop }, service };
	} catch (error) {
		remove();
		throw error;
	}
}

async function environmentOf(
	{ packages = [], operator, env = {} }: GatehouseOptions,
	folder: string,
): Promise<Readonly<Record<string, string>>> {
	const file = join(folder, 'plugins.json');
	if (operator) writeFileSync(file, JSON.stringify(operator));
	return {
		...{ HOST: '127.0.0.1', PORT: String(await freePort()), SVC_DATA_DIR: join(folder, 'data'), EGRESS_ALLOW: '127.0.0.1' },
		...{ LOG_LEVEL: 'fatal', GATEWAY_PLUGINS: packages.join(','), JWT_SECRET: secret(), ENCRYPTION_KEY: secret() },
		...(operator && { GATEWAY_PLUGINS_CONFIG: file }),
		...env,
	};
}

/**
 * Names the keys of a service after its database, so that it counts requests together with its replicas, and not with another service of the
 * machine or with the tests of an hour ago. @param folder that has the embedded database
 */
function withOwnKeys(config: Config, folder: string): Config {
	const { host, port, name } = config.database ?? { host: folder, port: 0, name: '' };
	const hash = createHash('sha256')
		.update(JSON.stringify([host, port, name]))
		.digest('hex');
	const named = (redis: Config['redis']): Config['redis'] => redis && { ...redis, keyPrefix: `gatehouse-testing-${hash.slice(0, 12)}:` };
	return { ...config, redis: named(config.redis), bullRedis: named(config.bullRedis) };
}

const wide: Window = { max: 1_000_000, seconds: 60 };
const WIDE: LimitTable = { global: wide, categories: { health: null }, invoke: wide, gateways: null, routes: {} };

/** The least that bcrypt allows: the passwords of a test are worth nothing. */
const LEAST_COST = 4;

const secret = (): string => randomBytes(32).toString('hex');

/** Asks the system for a port that is free now. */
async function freePort(): Promise<number> {
	const server = createServer();
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	server.once('error', reject).listen(0, '127.0.0.1', resolve);
	await promise;
	const address = server.address();
	await new Promise((closed) => server.close(closed));
	if (address === null || typeof address === 'string') throw new Error('The system gave no port.');
	return address.port;
}
