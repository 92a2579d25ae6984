// Finds ports for servers that are told theirs before they start.

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** The ports below those that Linux hands out by itself (32768 and up), which another process may take before the service listens. */
const PORTS = { first: 12_000, count: 20_000 };

export async function freePort(): Promise<number> {
	const port = PORTS.first + randomInt(PORTS.count);
	const server = createServer();
	const isFree = await new Promise<boolean>((resolve) => {
		server.once('error', () => resolve(false));
		server.listen(port, '127.0.0.1', () => resolve(true));
	});
	if (!isFree) return freePort();
	await new Promise((resolve) => server.close(resolve));
	return port;
}
