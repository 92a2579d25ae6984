// A cable between a service and what it leans on: it can be cut, stopped, and mended, while both ends live.

import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './service.ts';

export interface TcpProxy extends AsyncDisposable {
	port: number;
	/** Resets every connection and refuses new ones. */
	cut(): Promise<void>;
	/** Takes connections and bytes, and passes nothing on: what a stopped server looks like. */
	stall(): void;
	/** As before. What came meanwhile, of those that still wait, is passed on. */
	mend(): Promise<void>;
}

/** @param target.host a folder that holds PostgreSQL's socket, where it begins with a slash */
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
	const cut = async (): Promise<void> => {
		const ended = close(server);
		for (const socket of sockets) socket.resetAndDestroy();
		await ended;
	};
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
		[Symbol.asyncDispose]: cut,
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
