// Tests that announcements are heard again after a connection was lost without a word.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createConnection, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { until } from '../../test/helpers/clock.ts';
import { freePort } from '../../test/helpers/ports.ts';
import { testRedis } from '../../test/helpers/redis.ts';
import { silent } from '../../test/helpers/silent.ts';
import { createCarrier } from './carrier.ts';

test('a subscriber whose connection falls silent connects anew, and hears again', { timeout: 60_000 }, async (t) => {
	const redis = await testRedis();
	const sockets = new Set<Socket>();
	const silenced = new Set<Socket>();
	const between = createServer((inward) => {
		const outward = createConnection(redis.port, redis.host);
		for (const [from, to] of [
			[inward, outward],
			[outward, inward],
		] as const)
			sockets.add(from.on('data', (chunk) => silenced.has(from) || to.write(chunk)).on('error', () => undefined));
	});
	const port = await freePort();
	between.listen(port, '127.0.0.1');
	const keyPrefix = `gatehouse-test-${randomBytes(6).toString('hex')}:`;
	const [deaf, other] = [{ host: '127.0.0.1', port }, redis].map(({ host, port }) => createCarrier({ host, port, keyPrefix }, silent));
	assert.ok(deaf && other);
	t.after(async () => {
		await Promise.all([deaf.close(), other.close()]);
		between.close();
		for (const socket of sockets) socket.destroy();
		await redis.stop();
	});
	let heard = 0;
	deaf.listen(() => {
		heard += 1;
	});
	const hears = (): Promise<boolean> => other.send(['run:x']).then(() => heard > 0);
	await until(hears, 'it hears');
	for (const socket of sockets) silenced.add(socket);
	heard = 0;
	await until(hears, 'it hears again');
});
