// WEB_CONCURRENCY: the number of workers on one machine. The first process owns the embedded database and serves nothing.

import cluster from 'node:cluster';
import type { Config } from './config/config.ts';
import type { Log } from './contract/nouns.ts';
import type { Stoppable } from './process/ending.ts';
import { serveMetrics } from './telemetry/scrape.ts';
import { collectWorkers } from './telemetry/workers.ts';

const RESTART_MS = 1000;
/** The exit code of a start that is refused. */
const REFUSED = 1;

/** The part of the embedded database that the first process uses. */
export interface OwnedDatabase {
	database: NonNullable<Config['database']>;
	stop(): Promise<void>;
}

export interface Supervision {
	log: Log;
	startDatabase(): Promise<OwnedDatabase>;
	/** Is called when a worker refuses to start before any has served: each later one would refuse for the same reason, which it has told. */
	refused(): void;
}

/** Starts the workers, in the process that only supervises. @returns how to stop them; null in a process that serves */
export async function superviseWorkers(config: Config, { log, startDatabase, refused }: Supervision): Promise<Stoppable | null> {
	if (config.webConcurrency === 1 || cluster.isWorker) return null;
	const embedded = config.database === null ? await startDatabase() : null;
	// A worker sees a configured database, so it needs every variable that one requires.
	const env = embedded ? workerEnvironment(config, embedded.database) : {};
	const metrics = config.metrics && (await serveMetrics(config, collectWorkers()));
	let stopping = false;
	let hasServed = false;
	cluster.on('listening', () => {
		hasServed = true;
	});
	for (let count = 0; count < config.webConcurrency; count++) cluster.fork(env);
	cluster.on('exit', (worker, code) => {
		if (stopping) return;
		if (!hasServed && code === REFUSED) return refused();
		log.error({ pid: worker.process.pid, code }, 'a worker ended and will be replaced');
		setTimeout(() => stopping || cluster.fork(env), RESTART_MS);
	});
	return {
		async stop(hurry) {
			stopping = true;
			await stopWorkers(hurry);
			await metrics?.stop();
			await embedded?.stop();
		},
	};
}

/** Lets each worker finish its requests in flight. (`cluster.disconnect` would forget workers before they can be signalled.) */
async function stopWorkers(hurry: AbortSignal): Promise<void> {
	const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
	const tell = (): void => {
		for (const worker of workers) worker.process.kill('SIGTERM');
	};
	const ended = Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))));
	tell();
	hurry.addEventListener('abort', tell, { once: true });
	await ended;
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
