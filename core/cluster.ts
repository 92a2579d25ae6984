// WEB_CONCURRENCY: that many workers on one machine. The first process owns the embedded database and serves nothing.

import cluster from 'node:cluster';
import type { Config } from './config.ts';
import type { Log } from './nouns.ts';

const RESTART_MS = 1000;

/** What the first process needs of the embedded database. */
export interface OwnedDatabase {
	database: NonNullable<Config['database']>;
	stop(): Promise<void>;
}

/** True in the process that only supervises; its workers run the service. */
export async function superviseWorkers(config: Config, log: Log, startDatabase: () => Promise<OwnedDatabase>): Promise<boolean> {
	if (config.webConcurrency === 1 || cluster.isWorker) return false;
	const embedded = config.database === null ? await startDatabase() : null;
	// A worker sees a configured database, so it needs every variable that one requires.
	const env = embedded ? workerEnvironment(config, embedded.database) : {};
	let stopping = false;
	for (let count = 0; count < config.webConcurrency; count++) cluster.fork(env);
	cluster.on('exit', (worker, code) => {
		if (stopping) return;
		log.error({ pid: worker.process.pid, code }, 'a worker ended; another takes its place');
		setTimeout(() => stopping || cluster.fork(env), RESTART_MS);
	});
	for (const signal of ['SIGINT', 'SIGTERM'] as const) {
		process.once(signal, () => {
			stopping = true;
			void stopWorkers()
				.then(() => embedded?.stop())
				.finally(() => process.exit(0));
		});
	}
	return true;
}

/** Each lets what is in flight finish. (`cluster.disconnect` would forget them before they can be told.) */
async function stopWorkers(): Promise<void> {
	const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
	await Promise.all(
		workers.map((worker) => {
			const ended = new Promise((resolve) => worker.once('exit', resolve));
			worker.process.kill('SIGTERM');
			return ended;
		}),
	);
}

const workerEnvironment = (
	config: Config,
	{ host, port, username, password, name }: OwnedDatabase['database'],
): Record<string, string> => ({
	DATABASE_HOST: host,
	DATABASE_PORT: String(port),
	DATABASE_USERNAME: username,
	DATABASE_PASSWORD: password,
	DATABASE_NAME: name,
	DB_SSL: 'false',
	JWT_SECRET: config.jwtSecret,
	ENCRYPTION_KEY: config.encryptionKey,
	HOST: config.host,
});
