// Before and after a run of many test files (`npm run test:run`): what each of them would else find or start for itself.

import { prepareServer, SHARED_SERVER } from './helpers/postgres.ts';
import { testRedis } from './helpers/redis.ts';

const started: (() => Promise<void>)[] = [];

export async function globalSetup(): Promise<void> {
	// What cannot be had is missed, and named, by the tests that need it.
	const [server, redis] = await Promise.all([prepareServer().catch(() => null), testRedis().catch(() => null)]);
	if (server) {
		const { stop, ...prepared } = server;
		started.push(stop);
		process.env[SHARED_SERVER] = JSON.stringify(prepared);
	}
	if (redis) {
		started.push(redis.stop);
		process.env['TEST_REDIS_URL'] = `redis://${redis.host}:${redis.port}`;
	}
}

export async function globalTeardown(): Promise<void> {
	await Promise.all(started.map((stop) => stop()));
}
