// Serves `/metrics` to Prometheus: on a port of its own, or on the port of the service under a token. Off by default.

import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { Server as Listener } from 'node:http';
import type { Server } from '@hapi/hapi';
import { GatewayError } from '../contract/errors.ts';
import { createServer } from '../process/node-http.ts';
import type { TelemetryConfig } from './variables.ts';

/** The part of the configuration that says where `/metrics` is. */
export interface MetricsPlace extends Pick<TelemetryConfig, 'metrics'> {
	host: string;
}

const PATH = '/metrics';
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const CHALLENGE = { 'www-authenticate': 'Bearer' };

/** Compares digests: the time of a comparison tells neither the token nor its length. */
function isAdmitted(authorization: string | undefined, token: string | null): boolean {
	if (token === null) return true;
	const given = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
	return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
}

/** Serves the metrics on METRICS_PORT. @returns how to stop; null where there is no such port. @throws Error naming the variable */
export async function serveMetrics(
	{ metrics, host }: MetricsPlace,
	scrape: () => Promise<string>,
): Promise<{ stop(): Promise<void> } | null> {
	const port = metrics?.port ?? null;
	if (metrics === null || port === null) return null;
	const server = createServer((request, response) => {
		const answer = (status: number, body: string, headers: Record<string, string> = {}): void => {
			response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(body);
		};
		if (request.url?.split('?')[0] !== PATH) return answer(404, 'Not Found\n');
		if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'Method Not Allowed\n', { allow: 'GET, HEAD' });
		if (!isAdmitted(request.headers.authorization, metrics.token)) return answer(401, 'Unauthorized\n', CHALLENGE);
		scrape().then(
			(text) => answer(200, text, { 'content-type': CONTENT_TYPE }),
			() => answer(503, 'Service Unavailable\n'),
		);
	});
	await listening(server, port, host);
	return {
		async stop() {
			server.close();
			server.closeAllConnections();
		},
	};
}

async function listening(server: Listener, port: number, host: string): Promise<void> {
	server.listen(port, host);
	try {
		await once(server, 'listening');
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code ?? String(error);
		throw new Error(`METRICS_PORT: cannot listen on ${host}:${port} (${code}).`, { cause: error });
	}
}

/** Adds `/metrics` to the service's own server, under its token, where no port of its own serves it. */
export function routeMetrics(server: Server, { metrics }: Pick<MetricsPlace, 'metrics'>, scrape: () => Promise<string>): void {
	if (!metrics || metrics.port !== null || metrics.token === null) return;
	const { token } = metrics;
	server.route({
		method: 'GET',
		path: PATH,
		options: { auth: false },
		async handler(request, h) {
			if (!isAdmitted(request.raw.req.headers.authorization, token))
				throw new GatewayError('unauthorized', 'The token of METRICS_TOKEN is needed, as a Bearer token.', { headers: CHALLENGE });
			return h
				.response(await scrape())
				.header('content-type', CONTENT_TYPE)
				.header('cache-control', 'no-store');
		},
	});
}
