// The hapi server: its own listener with deadlines, checks before routing, one error body, headers on every
// answer, CORS, and one line of log per request.

import { randomUUID } from 'node:crypto';
import { createServer as createListener, type Server as Listener } from 'node:http';
import type { Socket } from 'node:net';
import Hapi, { type Request, type RequestRoute, type ResponseObject, type ResponseToolkit, type Server } from '@hapi/hapi';
import type { ValidationError } from 'joi';
import type { Config } from './config/config.ts';
import { GatewayError } from './contract/errors.ts';
import type { Log } from './contract/nouns.ts';
import { spoken } from './gateways/refusals.ts';
import { clientAddress } from './http/addresses.ts';
import { type Cors, type CorsParts, createCors } from './http/cors.ts';
import { bodyOf, describeError, headersOf, sendingFault } from './http/failures.ts';
import { assertWellFormed, broken } from './http/framing.ts';
import { assertQuery, isDecodable } from './http/queries.ts';
import type { ReservedSegments } from './http/reserved.ts';
import { detailsOf, SENTENCES } from './kit/input-faults.ts';
import { type Limits, limitHeaders } from './limits/limits.ts';
import type { Store } from './store/store.ts';

const LINGER_MS = 1000;
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

const SECURITY_HEADERS = {
	'x-content-type-options': 'nosniff',
	'x-frame-options': 'DENY',
	'referrer-policy': 'no-referrer',
	'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;
const HSTS = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' } as const;

interface Parts {
	config: Config;
	log: Log;
	limits: Limits;
	reserved: ReservedSegments;
	cors: Cors;
}

interface ServerParts extends Omit<Parts, 'cors'> {
	store: Pick<Store, 'withDeadline'>;
	/** The plugins whose headers pages may use at gateways. */
	plugins?: CorsParts['plugins'];
}

/** Creates the server, without routes and not yet listening. */
export function createServer({ config, log, limits, reserved, store, plugins = [] }: ServerParts): Server {
	const isTransports = (path: string): boolean => isDecodable(path) && server.match('post', path)?.settings.plugins?.isTransports === true;
	const cors = createCors({ config, reserved, plugins, isTransports });
	const listener = createListener({
		connectionsCheckingInterval: 1000,
		headersTimeout: 5000,
		requestTimeout: 15_000,
		keepAliveTimeout: 65_000,
		// Node's own refusal has no body: `admit` refuses instead.
		requireHostHeader: false,
		// Node would keep the first of two Host headers and drop the other: joined, they are not a valid host.
		joinDuplicateHeaders: true,
	});
	answerBrokenRequests(listener, { config, limits });
	// RFC 9110 §10.1.1: an unknown expectation MAY be ignored; Node's own 417 has no body.
	listener.on('checkExpectation', (request, response) => void listener.emit('request', request, response));
	const server = Hapi.server({
		listener,
		port: config.port,
		host: config.host,
		debug: false,
		router: { isCaseSensitive: true, stripTrailingSlash: true },
		routes: {
			cors: false,
			state: { parse: false, failAction: 'ignore' },
			validate: { options: { abortEarly: false, messages: SENTENCES }, failAction: (_request, _h, error) => refuseInput(error) },
			response: { emptyStatusCode: 204, ranges: false },
		},
	});
	handleRequests(listener, store);
	const ended = new WeakSet<Socket>();
	server.ext('onRequest', (request, h) => admit(request, h, { server, reserved, cors, ended }));
	server.ext('onPreResponse', (request, h) => finish(request, h, { config, log, limits, cors }));
	server.events.on('response', (request) => logRequest(request, { config, log }));
	return server;
}

/** Wraps all of hapi's request handling in a deadline: hapi has many steps, and none of them encloses the others. */
function handleRequests(listener: Listener, store: ServerParts['store']): void {
	const [handle] = listener.listeners('request');
	if (!handle) throw new Error('hapi does not listen for requests.');
	listener.removeAllListeners('request');
	listener.on('request', (request, response) => store.withDeadline(() => handle.call(listener, request, response)));
}

/** Answers requests that Node's parser refuses, which never reach hapi, with the same body as every other error. */
function answerBrokenRequests(listener: Listener, parts: Pick<Parts, 'config' | 'limits'>): void {
	listener.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
		if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
		answerBare(socket, brokenRequest(error.code), parts);
	});
	// The type is Duplex; on a TCP listener it is the socket.
	listener.on('connect', (_request, socket) => answerBare(socket as Socket, [405, 'Method Not Allowed'], parts));
}

function answerBare(socket: Socket, [status, reason]: [number, string], { config, limits }: Pick<Parts, 'config' | 'limits'>): void {
	const requestId = randomUUID();
	const error = status === 405 ? 'METHOD_NOT_ALLOWED' : 'VALIDATION_FAILED';
	const body = JSON.stringify({ success: false, message: reason, error, statusCode: status, requestId });
	const headers = {
		'content-type': 'application/json',
		'content-length': String(Buffer.byteLength(body)),
		connection: 'close',
		'cache-control': 'no-store',
		'x-request-id': requestId,
		...(status === 405 && { allow: '' }),
		...SECURITY_HEADERS,
		...(config.publicUrls[0].startsWith('https:') && HSTS),
		...limitHeaders(limits.standingOf(socket.remoteAddress ?? '')),
	};
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
	socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

function brokenRequest(code: string | undefined): [number, string] {
	if (code === 'HPE_HEADER_OVERFLOW') return [431, 'Request Header Fields Too Large'];
	if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout'];
	return [400, 'Bad Request'];
}

interface Admission extends Pick<Parts, 'reserved' | 'cors'> {
	server: Server;
	/** Connections on which client and server may disagree about the end of a request. */
	ended: WeakSet<Socket>;
}

/** Checks before routing: the request's id, HTTP's own rules, preflights, and the reserved first segments. */
function admit(request: Request, h: ResponseToolkit, { server, reserved, cors, ended }: Admission) {
	const { headers } = request.raw.req;
	const given = headers['x-request-id']?.toString();
	// hapi types it as read-only, but does not read it itself: it is the id in answers and logs.
	(request.info as { id: string }).id = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID();
	const { socket } = request.raw.req;
	// Node delivers further requests from the same bytes, and closes the connection only after the refusal is sent.
	if (ended.has(socket)) throw broken('No more requests are read from this connection.');
	ended.add(socket);
	assertWellFormed(request);
	ended.delete(socket);
	if (request.method === 'trace' || request.method === 'connect') throw notAllowed([]);
	if (request.method === 'options') return preflight(request, h, cors);
	if (!isDecodable(request.path)) throw new GatewayError('validation_failed', 'The path is not valid percent-encoding.');
	if (reserved.isGatewayPath(request.path)) return h.continue;
	const { plugins = {} } = knownRoute(server, request).settings;
	// A transport is asked how it says it, as at a gateway.
	if (!plugins.isTransports) assertQuery(request.raw.req.url ?? '');
	return h.continue;
}

function preflight(request: Request, h: ResponseToolkit, cors: Cors) {
	const response = h.response().code(204);
	for (const [name, value] of Object.entries(cors.preflight(request))) response.header(name, value);
	return response.takeover();
}

/** Returns the route of a path. @throws not_found without one; method_not_allowed, with `Allow`, if another method has one */
function knownRoute(server: Server, request: Request): RequestRoute {
	const path = request.path === '/' ? '/' : request.path.replace(/\/+$/, '');
	const match = server.match(request.method === 'head' ? 'get' : (request.method as Hapi.HTTP_METHODS), path);
	if (match && !isOfGateways(match)) return match;
	const allowed = (['get', 'post', 'put', 'patch', 'delete'] as const).filter((method) => {
		const other = server.match(method, path);
		return other && !isOfGateways(other) && other.method !== '*';
	});
	if (allowed.length > 0) throw notAllowed(allowed);
	throw new GatewayError('not_found', `There is nothing at ${request.method.toUpperCase()} ${request.path.slice(0, 200)}.`);
}

/** Whether a route is one of gateways, which only their paths may reach. */
const isOfGateways = ({ path }: { path: string }): boolean => path.includes('/{org}/');

function notAllowed(methods: readonly string[]): GatewayError {
	const allow = methods.map((method) => method.toUpperCase()).join(', ');
	return new GatewayError('method_not_allowed', allow ? `This path takes ${allow}.` : 'This method is not served.', { headers: { allow } });
}

/** Converts Joi's faults to details; `source` says whether they are in the body, the query or the path. */
function refuseInput(error: Error | undefined): never {
	const { details = [], output } = (error ?? {}) as Partial<ValidationError> & {
		output?: { payload?: { validation?: { source?: string } } };
	};
	const source = output?.payload?.validation?.source ?? 'payload';
	const prefix = source === 'payload' ? '' : source === 'params' ? 'path' : source;
	const faults = detailsOf(details, prefix);
	const first = faults[0];
	throw new GatewayError('validation_failed', first?.message ?? 'The request is not valid.', { details: faults, cause: error });
}

/** Adds headers to every answer, and gives every error the same body. */
async function finish(request: Request, h: ResponseToolkit, parts: Omit<Parts, 'reserved'>) {
	const { log, limits } = parts;
	const { response } = request;
	const refusal = await limited(request, limits, log);
	const error = refusal ?? (response instanceof Error ? describeError(response, request, log) : sendingFault(response, request, log));
	if (!error) {
		addHeaders(response as ResponseObject, request, parts);
		return h.continue;
	}
	request.plugins.refusedWith = error.code;
	// Made before a plugin sees the error, which it might change.
	const headers = { 'cache-control': 'no-store', ...headersOf(error) };
	const answer = spoken(error, request, h, log) ?? h.response(bodyOf(error, request)).code(error.status);
	for (const [name, value] of Object.entries(headers)) answer.header(name, value);
	addHeaders(answer, request, parts);
	if (!request.raw.req.complete) linger(request);
	return answer;
}

/** Counts requests that were refused before their limits were checked. @returns the error that replaces the refusal */
async function limited(request: Request, limits: Limits, log: Log): Promise<GatewayError | null> {
	try {
		await limits.settle(request);
		return null;
	} catch (thrown) {
		return describeError(thrown as Error, request, log);
	}
}

/** Adds headers that the answer does not set itself. */
function addHeaders(response: ResponseObject, request: Request, parts: Pick<Parts, 'config' | 'cors'>): void {
	const add = (headers: Readonly<Record<string, string>>): void => {
		for (const name in headers) if (response.headers[name] === undefined) response.header(name, headers[name] ?? '');
	};
	add(SECURITY_HEADERS);
	if (parts.config.publicUrls[0].startsWith('https:')) add(HSTS);
	add(parts.cors.headers(request));
	if (request.plugins.limit) add(limitHeaders(request.plugins.limit));
	response.header('x-request-id', request.info.id);
}

/**
 * Keeps the connection open after an error: Node closes a connection whose request was not read, and the reset would lose the answer.
 * So only our half is closed, further data is discarded for LINGER_MS, and then the socket is destroyed.
 */
function linger({ raw: { req } }: Request): void {
	const { socket } = req;
	socket.destroySoon = () => {
		socket.end();
		req.resume();
		setTimeout(() => socket.destroy(), LINGER_MS).unref();
	};
}

function logRequest(request: Request, { config, log }: { config: Config; log: Log }): void {
	const { response, info, raw } = request;
	const status = response instanceof Error ? 500 : (response?.statusCode ?? 0);
	log.info(
		{
			requestId: request.info.id,
			method: request.method,
			// The query is not logged: it may contain a key.
			path: request.path,
			status,
			ms: (request.info.responded || Date.now()) - request.info.received,
			address: clientAddress(info.remoteAddress, raw.req.headers['x-forwarded-for']?.toString(), config.trustProxy),
		},
		'request',
	);
}
