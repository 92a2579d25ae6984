// Servers that tests call: on a free port, counting connections, closed with all of them when the test ends.

import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createConnection, createServer as createTcpServer } from 'node:net';
import { pipeline } from 'node:stream';
import type { TestContext } from 'node:test';
import { createServer as createRawTlsServer, getCACertificates, setDefaultCACertificates, type TlsOptions } from 'node:tls';
import { listen, type Upstream } from '../../testing/upstream.ts';

export { httpUpstream, tcpUpstream, type Upstream } from '../../testing/upstream.ts';

const pem = (name: string): string => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), 'utf8');

/** A self-signed certificate for `upstream.example` alone, valid until 2126. */
export const CERTIFICATE = pem('upstream.example.cert.pem');
/** A certificate of the same kind for 127.0.0.1. */
export const LOOPBACK_CERTIFICATE = pem('loopback.cert.pem');

/** Has this process trust a certificate. @returns how to end it */
export function trusting(certificate: string): () => void {
	const before = getCACertificates('default');
	setDefaultCACertificates([...before, certificate]);
	return () => setDefaultCACertificates(before);
}

/** Has this process trust a certificate until the test ends. */
export const trust = (test: TestContext, certificate: string): void => test.after(trusting(certificate));

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

/** Starts a terminator of TLS before a server of this machine. It shows LOOPBACK_CERTIFICATE. */
export function tlsFront(test: TestContext, port: number): Promise<Upstream> {
	const server = createRawTlsServer({ key: pem('loopback.key.pem'), cert: LOOPBACK_CERTIFICATE }, (inward) => {
		const outward = createConnection({ host: '127.0.0.1', port });
		// Either end may be cut.
		pipeline(inward, outward, inward, () => undefined);
	});
	return listen(
		test,
		server.on('tlsClientError', () => undefined),
		'127.0.0.1',
	);
}

/** Listens on every address of this machine, so that a connection by any spelling of one is noticed. */
export function canary(test: TestContext): Promise<Upstream> {
	const server = createTcpServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
	return listen(test, server, '::');
}
