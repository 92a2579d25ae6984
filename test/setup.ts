// Runs before and after a run of many test files (`npm run test:run`), and starts the servers that each of them would otherwise find or
// start for itself.

import { sharePorts } from './helpers/ports.ts';
import { FOUND_SERVER, machinesServer, namedServer, ownServer, prepareServer, SHARED_SERVER, type Started } from './helpers/postgres.ts';
import { testRedis } from './helpers/redis.ts';
import { SHARED_SERVICE } from './helpers/service.ts';
import { offerService } from './helpers/shared-service.ts';

const started = new AsyncDisposableStack();

export async function globalSetup(): Promise<void> {
	started.defer(sharePorts());
	// If a server is unavailable, the tests that need it fail and name it.
	const [redis] = await Promise.all([testRedis().catch(() => null), startServers().catch(() => null)]);
	if (redis) {
		started.defer(redis.stop);
		process.env['TEST_REDIS_URL'] = `redis://${redis.host}:${redis.port}`;
	}
	const { url, stop } = await offerService();
	started.defer(stop);
	process.env[SHARED_SERVICE] = url;
}

/** Starts a server for the run, unless one is named, and prepares the machine's own for the files of the store. */
async function startServers(): Promise<void> {
	const named = namedServer();
	const found = named ? null : await machinesServer();
	// All files use the machine's own where none can be started.
	const own = named ?? (await ownServer().catch(() => null));
	if (own) await prepare(own, SHARED_SERVER);
	if (found) await prepare(found, own ? FOUND_SERVER : SHARED_SERVER);
}

async function prepare(server: Started, variable: string): Promise<void> {
	const { stop, ...prepared } = await prepareServer(server);
	started.defer(stop);
	process.env[variable] = JSON.stringify(prepared);
}

export async function globalTeardown(): Promise<void> {
	await started.disposeAsync();
}
