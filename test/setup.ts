// Runs before and after a run of many test files (`npm run test:run`), and starts the servers that each of them would otherwise find or
// start for itself.

import { prepareServer, SHARED_SERVER } from './helpers/postgres.ts';
import { testRedis } from './helpers/redis.ts';
import { SHARED_SERVICE } from './helpers/service.ts';
import { offerService } from './helpers/shared-service.ts';

const started = new AsyncDisposableStack();

export async function globalSetup(): Promise<void> {
	// If a server is unavailable, the tests that need it fail and name it.
	const [server, redis] = await Promise.all([prepareServer().catch(() => null), testRedis().catch(() => null)]);
	if (server) {
		const { stop, ...prepared } = server;
		started.defer(stop);
		process.env[SHARED_SERVER] = JSON.stringify(prepared);
	}
	if (redis) {
		started.defer(redis.stop);
		process.env['TEST_REDIS_URL'] = `redis://${redis.host}:${redis.port}`;
	}
	const { url, stop } = await offerService();
	started.defer(stop);
	process.env[SHARED_SERVICE] = url;
}

export async function globalTeardown(): Promise<void> {
	await started.disposeAsync();
}
