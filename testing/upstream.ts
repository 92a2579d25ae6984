// Servers that tests call: on a free port, counting connections, closed with all of them when the test ends.

import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Upstream {
	port: number;
	/** The origin, `http://127.0.0.1:<port>`. */
	origin: string;
	/** Returns the number of connections accepted so far. */
	connections(): number;
	/** Returns the number of open connections. */
	open(): number;
}

export function httpUpstream(test: TestContext, listener: RequestListener): Promise<Upstream> {
	return listen(test, createServer(listener), '127.0.0.1');
}

/** Starts a raw TCP server, for responses that no HTTP server would give. */
export function tcpUpstream(test: TestContext, onSocket: (socket: Socket) => void): Promise<Upstream> {
	return listen(test, createTcpServer(onSocket), '127.0.0.1');
}

export async function listen(test: TestContext, server: Server, host: string): Promise<Upstream> {
	const sockets = new Set<Socket>();
	let count = 0;
	server.on('connection', (socket) => {
		count += 1;
		sockets.add(socket);
		socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
	});
	await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve));
	test.after(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	// The server listens on TCP, so the address is not a pipe's name.
	const { port } = server.address() as AddressInfo;
	return { port, origin: `http://127.0.0.1:${port}`, connections: () => count, open: () => sockets.size };
}
