// The whole service for the tests of a plugin: in this process, on an embedded database in a folder of its own.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../core/config/config.ts';
import { createLog } from '../core/config/log.ts';
import type { Plugin } from '../core/contract/kinds.ts';
import { startService } from '../core/main.ts';
import { type Account, registerAccount } from './account.ts';

export interface GatehouseOptions {
	/** Plugins of this process, beside the usual ones. */
	plugins?: readonly Plugin[];
	/** Names of installed packages of plugins, as in GATEWAY_PLUGINS. */
	packages?: readonly string[];
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
export async function startGatehouse({ plugins = [], packages = [], env = {}, onLog }: GatehouseOptions = {}): Promise<Gatehouse> {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-testing-'));
	const remove = (): void => rmSync(folder, { recursive: true, force: true });
	try {
		const config = loadConfig({
			...{ HOST: '127.0.0.1', PORT: String(await freePort()), SVC_DATA_DIR: join(folder, 'data'), EGRESS_ALLOW: '127.0.0.1' },
			...{ LOG_LEVEL: 'fatal', GATEWAY_PLUGINS: packages.join(','), JWT_SECRET: secret(), ENCRYPTION_KEY: secret(), ...env },
		});
		const log = onLog ? createLog('trace', { write: onLog }) : createLog(config.logLevel);
		const service = await startService(config, log, { plugins, passwordCost: LEAST_COST });
		const { url } = service;
		const stop = async (): Promise<void> => {
			await service.stop();
			remove();
		};
		return { url, register: (name) => registerAccount(url, name), stop, [Symbol.asyncDispose]: stop };
	} catch (error) {
		remove();
		throw error;
	}
}

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
