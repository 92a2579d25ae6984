// The hapi server: its own listener with deadlines, and checks before routing. `gateways/door.ts` has what every answer has.

import type { Server as Listener } from 'node:http';
import type { Socket } from 'node:net';
import Hapi, { type Request, type RequestRoute, type ResponseToolkit, type Server } from '@hapi/hapi';
import type { ValidationError } from 'joi';
import { GatewayError } from './contract/errors.ts';
import { answerDirectly, type DoorParts, finish, HSTS, logHapis, SECURITY_HEADERS } from './gateways/door.ts';
import { type Cors, type CorsParts, createCors } from './http/cors.ts';
import type { Answerer } from './http/door.ts';
import { assertWellFormed, broken } from './http/framing.ts';
import { isOfDoor, withoutLastSlashes } from './http/places.ts';
import { assertQuery, isDecodable } from './http/queries.ts';
import { newRequestId, requestIdOf } from './http/request-ids.ts';
import type { ReservedSegments } from './http/reserved.ts';
import { detailsOf, SENTENCES } from './kit/input-faults.ts';
import { limitHeaders } from './limits/limits.ts';
import { runWith } from './process/around.ts';
import { createServer as createListener } from './process/node-http.ts';
import { atTurnEnd } from './process/turn-end.ts';
import type { Store } from './store/store.ts';
import { keepTrace } from './telemetry/request-fields.ts';
import { activeSpan } from './telemetry/spans.ts';
import { OFF, type Telemetry } from './telemetry/telemetry.ts';

/** The time that a client has to read the refusal of CONNECT. */
const LINGER_MS = 1000;
/** The time in which what was sent on a connection that has been idle for too long is still read. */
const UNUSED_MS = 1000;
/**
 * Tags that a proxy weakened, as proxies do that compress answers. Conditions on reads compare weakly (RFC 9110 §13.1.2), and hapi does not.
 */
const WEAK = /(^|,)\s*W\//g;

interface Parts extends DoorParts {
	reserved: ReservedSegments;
}

interface ServerParts extends Omit<Parts, 'cors'> {
	store: Pick<Store, 'deadline'>;
	telemetry?: Pick<Telemetry, 'begin'>;
	/** The plugins whose headers pages may use at gateways. */
	plugins?: CorsParts['plugins'];
}

/** Creates the server, without routes and not yet listening. */
export function createServer({ config, log, limits, reserved, store, telemetry = OFF, plugins = [] }: ServerParts): Server {
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
			validate: { options: { messages: SENTENCES }, failAction: (_request, _h, error) => refuseInput(error) },
			response: { emptyStatusCode: 204, ranges: false },
		},
	});
	handleRequests(listener, store, telemetry);
	answerBrokenRequests(listener, { config, limits });
	const ended = new WeakSet<Socket>();
	const door = { config, log, limits, cors };
	server.ext('onRequest', (request, h) => admit(request, h, { server, reserved, door, ended }));
	// hapi closes the connections that have no request, and those of this turn have not begun.
	server.ext('onPreStop', () => new Promise<void>(atTurnEnd));
	server.ext('onPreResponse', (request, h) => finish(request, h, door));
	server.events.on('response', (request) => logHapis(request, { config, log }));
	return server;
}

/** Begins the requests of a turn of the event loop in a row, each in its deadline and span, which none of hapi's many steps would enclose. */
function handleRequests(listener: Listener, store: ServerParts['store'], telemetry: Pick<Telemetry, 'begin'>): void {
	const [handle] = listener.listeners('request');
	if (!handle) throw new Error('hapi does not listen for requests.');
	listener.removeAllListeners('request');
	// hapi answers `Expect: 100-continue` as it reads a body, which it does not do for requests that leave it. Without a listener Node answers it.
	listener.removeAllListeners('checkContinue');
	listener.on('request', (request, response) =>
		atTurnEnd(() => {
			// hapi would not hear any more that the client has left.
			if (request.destroyed) return;
			const span = telemetry.begin(request, response);
			runWith({ deadline: store.deadline(), span }, () => void handle.call(listener, request, response));
		}),
	);
}

/** Answers requests that Node's parser refuses, which never reach hapi, with the same body as every other error. */
function answerBrokenRequests(listener: Listener, parts: Pick<Parts, 'config' | 'limits'>): void {
	const hapis = listener.listeners('clientError');
	listener.removeAllListeners('clientError');
	listener.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
		if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) return closeIfUnused(socket);
		if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
		else answerBare(socket, brokenRequest(error.code), parts);
		// It gives up the request that the connection may have under way.
		for (const listen of hapis) listen.call(listener, error, socket);
	});
	listener.on('connect', (_request, socket) => {
		// Node has let go of it: an error that nobody hears would end the process, and nobody else would close it.
		socket.on('error', () => socket.destroy());
		setTimeout(() => socket.destroy(), LINGER_MS).unref();
		// The type is Duplex; on a TCP listener it is the socket.
		answerBare(socket as Socket, [405, 'Method Not Allowed'], parts);
	});
}

/**
 * Closes a connection on which no request has come, without an answer: its client would take that for the answer to the request that it is just
 * sending, which may wait to be read.
 */
function closeIfUnused(socket: Socket): void {
	setTimeout(() => socket.bytesRead === 0 && socket.destroy(), UNUSED_MS).unref();
}

function answerBare(socket: Socket, [status, reason]: [number, string], { config, limits }: Pick<Parts, 'config' | 'limits'>): void {
	const requestId = newRequestId();
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

interface Admission extends Pick<Parts, 'reserved'> {
	server: Server;
	door: DoorParts;
	/** Connections on which client and server may disagree about the end of a request. */
	ended: WeakSet<Socket>;
}

/** Checks before routing: the request's id, HTTP's own rules, preflights, and the reserved first segments. */
function admit(request: Request, h: ResponseToolkit, { server, reserved, door, ended }: Admission) {
	const { headers, socket } = request.raw.req;
	// hapi types it as read-only, but does not read it itself: it is the id in answers and logs.
	(request.info as { id: string }).id = requestIdOf(headers);
	// Node delivers further requests from the same bytes, and closes the connection only after the refusal is sent.
	if (ended.has(socket)) throw broken('No more requests are read from this connection.');
	ended.add(socket);
	keepTrace(request);
	assertWellFormed(request);
	ended.delete(socket);
	if (request.method === 'trace' || request.method === 'connect') throw notAllowed([]);
	if (request.method === 'options') return preflight(request, h, door.cors);
	if (!isDecodable(request.path)) throw new GatewayError('validation_failed', 'The path is not valid percent-encoding.');
	const { door: open } = server.app;
	if (reserved.isGatewayPath(request.path)) {
		return open && isOfDoor(request.path) ? leave(request, h, open.atGateways, door) : h.continue;
	}
	const tags = headers['if-none-match'];
	if (tags !== undefined) headers['if-none-match'] = tags.replace(WEAK, '$1');
	const { path, settings } = knownRoute(server, request);
	activeSpan()?.route(path);
	const { plugins = {} } = settings;
	if (open && plugins.answerer) return leave(request, h, plugins.answerer, door);
	// A transport is asked how it says it, as at a gateway.
	if (!plugins.isTransports) assertQuery(request.raw.req.url ?? '');
	return h.continue;
}

/** Takes a request out of hapi's lifecycle. */
function leave(request: Request, h: ResponseToolkit, answerer: Answerer, parts: DoorParts) {
	void answerDirectly(request, answerer, parts);
	return h.abandon;
}

function preflight(request: Request, h: ResponseToolkit, cors: Cors) {
	const response = h.response().code(204);
	for (const [name, value] of Object.entries(cors.preflight(request))) response.header(name, value);
	return response.takeover();
}

/** Returns the route of a path. @throws not_found without one; method_not_allowed, with `Allow`, if another method has one */
function knownRoute(server: Server, request: Request): RequestRoute {
	const path = request.path === '/' ? '/' : withoutLastSlashes(request.path);
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
	const faults = detailsOf(details, prefix, prefix || 'body');
	const first = faults[0];
	throw new GatewayError('validation_failed', first?.message ?? 'The request is not valid.', { details: faults, cause: error });
}
