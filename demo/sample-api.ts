// A small bookshop on loopback, which the demo connects as an API: a dozen operations behind a key, described at /openapi.json.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeBookshop, KEY_HEADER } from './bookshop/document.ts';
import { type Answer, createOperations, Refusal } from './bookshop/operations.ts';
import { compileRoutes, findRoute, readInput } from './bookshop/requests.ts';

export interface SampleApi {
	/** The origin, without a trailing slash. */
	url: string;
	apiKey: string;
	stop(): Promise<void>;
}

const MAX_BODY_BYTES = 64 * 1024;

/** @param options.port 0, the default, uses any free port */
export async function startSampleApi(options: { port?: number } = {}): Promise<SampleApi> {
	const server = createServer();
	server.listen(options.port ?? 0, '127.0.0.1');
	await once(server, 'listening');
	// A server that listens on TCP has an AddressInfo.
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const apiKey = `shop_${randomBytes(16).toString('hex')}`;
	const answer = openCounter(url, apiKey);
	server.on('request', async (request, response) => send(response, await answer(request).catch(answerFailure)));
	return {
		url,
		apiKey,
		stop: async () => {
			const closed = once(server, 'close');
			server.close();
			server.closeAllConnections();
			await closed;
		},
	};
}

function openCounter(origin: string, apiKey: string): (request: IncomingMessage) => Promise<Answer> {
	const document = describeBookshop(origin);
	const routes = compileRoutes(document);
	const operations = createOperations();
	return async (request) => {
		const url = URL.parse(request.url ?? '/', origin);
		if (!url) throw new Refusal(400, 'invalid', 'The path is not well formed.');
		if (url.pathname === '/openapi.json') return { status: 200, body: document };
		const route = findRoute(routes, request.method ?? '', url.pathname);
		const { operationId, security } = route.operation;
		if (!security && !isKey(request.headers[KEY_HEADER.toLowerCase()], apiKey))
			throw new Refusal(401, 'key_needed', `Send your key as ${KEY_HEADER}.`);
		const input = readInput(route, { url, headers: request.headers, body: await readText(request) });
		const run = operations[operationId];
		if (!run) throw new Error(`${operationId} is described and not there.`);
		return run(input);
	};
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const isKey = (given: unknown, apiKey: string): boolean => timingSafeEqual(digest(String(given)), digest(apiKey));

async function readText(request: IncomingMessage): Promise<string> {
	const chunks: Buffer[] = [];
	let sizeBytes = 0;
	for await (const chunk of request as AsyncIterable<Buffer>) {
		sizeBytes += chunk.length;
		// The rest is read and dropped: leaving the loop would cut the connection before the answer.
		if (sizeBytes <= MAX_BODY_BYTES) chunks.push(chunk);
	}
	if (sizeBytes > MAX_BODY_BYTES) throw new Refusal(413, 'too_large', `The body must not exceed ${MAX_BODY_BYTES} bytes.`);
	return Buffer.concat(chunks).toString('utf8');
}

function answerFailure(error: unknown): Answer {
	if (error instanceof Refusal) return { status: error.status, body: { code: error.code, message: error.message } };
	console.error(error);
	return { status: 500, body: { code: 'internal', message: 'The shop has a fault.' } };
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
	const text = body === undefined ? '' : JSON.stringify(body);
	// RFC 9110 §8.6: "A server MUST NOT send a Content-Length header field in any response with a status code of … 204".
	const content = status === 204 ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
	response.writeHead(status, { ...content, ...headers }).end(text);
}
