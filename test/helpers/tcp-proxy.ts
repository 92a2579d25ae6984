// A proxy between a service and a server it depends on: the connection can be cut, stalled and restored while both ends live.

import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './ports.ts';

export interface TcpProxy extends AsyncDisposable {
	port: number;
	/** Resets every connection and refuses new ones. */
	cut(): Promise<void>;
	/** Accepts connections and bytes, and forwards nothing, like a suspended server. */
	stall(): void;
	/** Forwards again, including what arrived meanwhile from connections that are still open. */
	mend(): Promise<void>;
}

/** Starts a proxy. @param target.host the folder of PostgreSQL's socket if it begins with a slash */
export async function startTcpProxy({ host, port: targetPort }: { host: string; port: number }): Promise<TcpProxy> {
	const target = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${targetPort}` } : { host, port: targetPort };
	const sockets = new Set<Socket>();
	let isStalled = false;
	const server = createServer({ pauseOnConnect: true }, (inward) => {
		const outward = createConnection(target);
		for (const [from, to] of [
			[inward, outward],
			[outward, inward],
		] as const) {
			sockets.add(from);
			from.on('data', (chunk) => to.write(chunk));
			from.on('error', () => from.destroy());
			from.on('close', () => {
				sockets.delete(from);
				to.destroy();
			});
			if (isStalled) from.pause();
			else from.resume();
		}
	});
	const port = await freePort();
	/** Resolves when every connection is closed: a process that ends while a reset is on its way may spin in its clean-up (Node 24.21). */
	const end = async (how: (socket: Socket) => void): Promise<void> => {
		const ended = close(server);
		const closed = Array.from(sockets, (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
		for (const socket of sockets) how(socket);
		await Promise.all([ended, ...closed]);
	};
	const cut = (): Promise<void> =>
		end((socket) => {
			if (socket.connecting || socket.writableEnded) socket.destroy();
			else socket.resetAndDestroy();
		});
	const mend = async (): Promise<void> => {
		isStalled = false;
		for (const socket of sockets) socket.resume();
		if (!server.listening) await listen(server, port);
	};
	await mend();
	return {
		port,
		cut,
		stall() {
			isStalled = true;
			for (const socket of sockets) socket.pause();
		},
		mend,
		[Symbol.asyncDispose]: () => end((socket) => socket.destroy()),
	};
}

const listen = (server: Server, port: number): Promise<void> =>
	new Promise((resolve, reject) => {
		server.once('error', reject);
		server.listen(port, '127.0.0.1', () => {
			server.off('error', reject);
			resolve();
		});
	});

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
