// Replicas of the installed Gatehouse with the packages of `test/outside`, as processes of their own.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OutsidePackages, outsidePackages } from './outside.ts';
import { freePort } from './ports.ts';
import { testDatabase } from './postgres.ts';
import { ready, startProgram } from './processes.ts';
import { startRedis } from './redis.ts';
import { databaseVariables, SECRETS } from './service.ts';

export interface OutsideService {
	packages: OutsidePackages;
	/** The replicas' URLs. */
	urls: string[];
	/** Returns what the replicas wrote, for failures. */
	output(): string;
	stop(): Promise<void>;
}

/** The configuration of the operator. */
const OPERATOR = 'feature:acme_webhooks:\n  maxReceivers: 3\n  attempts: 2\n';

/**
 * Starts replicas on one database. They may call 127.0.0.1. Their Redis is their own: the limits of an address, such as that of registrations, would
 * count there for all services of the run.
 */
export async function startOutside(replicas: number): Promise<OutsideService> {
	const stack = new AsyncDisposableStack();
	try {
		const [packages, redis, made] = await Promise.all([outsidePackages(), startRedis(), testDatabase()]);
		stack.defer(() => redis.stop());
		stack.use(made);
		const folder = mkdtempSync(join(tmpdir(), 'gatehouse-outside-'));
		stack.defer(() => rmSync(folder, { recursive: true, force: true }));
		const file = join(folder, 'plugins.yaml');
		writeFileSync(file, OPERATOR);
		const env = {
			...{ ...databaseVariables(made.database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS },
			...{ HOST: '127.0.0.1', EGRESS_ALLOW: '127.0.0.1', SVC_DATA_DIR: folder, LOG_LEVEL: 'warn' },
			...{ GATEWAY_PLUGINS: packages.names.join(','), GATEWAY_PLUGINS_CONFIG: file },
		};
		const started = await Promise.all(
			Array.from({ length: replicas }, async () => {
				const port = String(await freePort());
				const process = startProgram(['node', packages.bin], { ...env, PORT: port }, packages.project);
				stack.defer(async () => {
					process.signalGroup('SIGTERM');
					await process.ended;
				});
				return { url: `http://127.0.0.1:${port}`, process };
			}),
		);
		await Promise.all(started.map(({ url, process }) => ready(url, process)));
		const stopping = stack.move();
		return {
			packages,
			urls: started.map(({ url }) => url),
			output: () => started.map(({ process }) => process.output()).join('\n'),
			stop: () => stopping.disposeAsync(),
		};
	} catch (error) {
		await stack.disposeAsync();
		throw error;
	}
}
