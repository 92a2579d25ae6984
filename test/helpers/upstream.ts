// Servers that tests call: on a free port, counting connections, closed with all of them when the test ends.

import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createServer as createRawTlsServer, type TlsOptions } from 'node:tls';

export interface Upstream {
	port: number;
	/** The origin, `http://127.0.0.1:<port>`. */
	origin: string;
	/** Returns the number of connections accepted so far. */
	connections(): number;
	/** Returns the number of open connections. */
	open(): number;
}

const pem = (name: string): string => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), 'utf8');

/** A self-signed certificate for `upstream.example` alone, valid until 2126. */
export const CERTIFICATE = pem('upstream.example.cert.pem');
/** A certificate of the same kind for 127.0.0.1. */
export const LOOPBACK_CERTIFICATE = pem('loopback.cert.pem');

export function httpUpstream(test: TestContext, listener: RequestListener): Promise<Upstream> {
	return listen(test, createServer(listener), '127.0.0.1');
}

/** Starts a server that shows CERTIFICATE. Its `origin` begins with https and contains the address. */
export async function tlsUpstream(test: TestContext, listener: RequestListener): Promise<Upstream> {
	const upstream = await listen(test, createTlsServer({ key: pem('upstream.example.key.pem'), cert: CERTIFICATE }, listener), '127.0.0.1');
	return { ...upstream, origin: upstream.origin.replace('http:', 'https:') };
}

/** Reports the server names that clients indicate (RFC 6066 §3). */
export function tlsListener(test: TestContext, onName: (name: string) => void): Promise<Upstream> {
	const SNICallback: TlsOptions['SNICallback'] = (name, done) => {
		onName(name);
		done(null);
	};
	const server = createRawTlsServer({ key: pem('upstream.example.key.pem'), cert: CERTIFICATE, SNICallback });
	// No client trusts the certificate.
	return listen(
		test,
		server.on('tlsClientError', () => undefined),
		'127.0.0.1',
	);
}

/** Starts a raw TCP server, for responses that no HTTP server would give. */
export function tcpUpstream(test: TestContext, onSocket: (socket: Socket) => void): Promise<Upstream> {
	return listen(test, createTcpServer(onSocket), '127.0.0.1');
}

/** Listens on every address of this machine, so that a connection by any spelling of one is noticed. */
export function canary(test: TestContext): Promise<Upstream> {
	const server = createTcpServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
	return listen(test, server, '::');
}

async function listen(test: TestContext, server: Server, host: string): Promise<Upstream> {
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
