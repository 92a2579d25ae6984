// The door of gateways: their answers leave hapi's lifecycle before it routes, and are sent by core's own writer. What every answer has, and what
// is logged of it, is the same on both ways.

import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { clientAddress } from '../http/addresses.ts';
import { type Answer, type AnswerHeaders, byHapi, lowerHeaders } from '../http/answer.ts';
import type { Cors } from '../http/cors.ts';
import type { Answerer } from '../http/door.ts';
import { bodyOf, describeError, headersOf, sendingFault } from '../http/failures.ts';
import { writeAnswer } from '../http/writer.ts';
import { type Limits, limitHeaders } from '../limits/limits.ts';
import { describeThrown } from '../process/strays.ts';
import { requestFields } from '../telemetry/request-fields.ts';
import { tellAnswer } from '../tracker/requests.ts';
import { spoken } from './refusals.ts';

const LINGER_MS = 1000;
/** Told of a request whose client left before the answer began. */
const CLOSED_BY_CLIENT = 499;

export const SECURITY_HEADERS = {
	'x-content-type-options': 'nosniff',
	'x-frame-options': 'DENY',
	'referrer-policy': 'no-referrer',
	'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;
export const HSTS = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' } as const;

export interface DoorParts {
	config: Config;
	log: Log;
	limits: Limits;
	cors: Cors;
}

/** Adds headers to every answer of hapi's own way, and gives every error the same body. */
export async function finish(request: Request, h: ResponseToolkit, parts: DoorParts) {
	const { response } = request;
	const refusal = await limited(request, parts);
	const error =
		refusal ?? (response instanceof Error ? describeError(response, request, parts.log) : sendingFault(response, request, parts.log));
	if (error) return byHapi(request, refused(error, request, parts));
	// No error, so hapi has a response.
	addHeaders((response as ResponseObject).headers as AnswerHeaders, request, parts);
	return h.continue;
}

/** Answers without hapi's lifecycle. Nothing is thrown: hapi has left the request. */
export async function answerDirectly(request: Request, answerer: Answerer, parts: DoorParts): Promise<void> {
	let answer: Answer;
	try {
		answer = await answerer(request);
		const refusal = request.plugins.limit ? null : await limited(request, parts);
		if (refusal) answer = refused(refusal, request, parts);
		else addHeaders(answer.headers, request, parts);
	} catch (thrown) {
		answer = await failed(thrown, request, parts);
	}
	followEnd(request, answer, parts);
	try {
		writeAnswer(request, answer);
	} catch (thrown) {
		const { res } = request.raw;
		const instead = await failed(thrown, request, parts);
		if (res.headersSent) res.destroy();
		else writeAnswer(request, instead);
	}
}

async function failed(thrown: unknown, request: Request, parts: DoorParts): Promise<Answer> {
	const refusal = request.plugins.limit ? null : await limited(request, parts);
	const error = thrown instanceof Error ? thrown : new Error(describeThrown(thrown));
	return refused(refusal ?? describeError(error, request, parts.log), request, parts);
}

/** Counts requests that were refused before their limits were checked. @returns the error that replaces the refusal */
async function limited(request: Request, { limits, log }: DoorParts): Promise<GatewayError | null> {
	try {
		await limits.settle(request);
		return null;
	} catch (thrown) {
		return describeError(thrown as Error, request, log);
	}
}

/** Returns the whole answer to a failed request. */
function refused(error: GatewayError, request: Request, parts: DoorParts): Answer {
	request.plugins.refusedWith = error.code;
	// Made before a plugin sees the error, which it might change.
	const headers = lowerHeaders({ 'cache-control': 'no-store', ...headersOf(error) });
	const answer = spoken(error, request, parts.log) ?? jsonAnswer(error.status, bodyOf(error, request));
	Object.assign(answer.headers, headers);
	addHeaders(answer.headers, request, parts);
	if (!request.raw.req.complete) linger(request);
	return answer;
}

const jsonAnswer = (status: number, body: object): Answer => ({
	status,
	headers: { 'content-type': 'application/json; charset=utf-8' },
	body: JSON.stringify(body),
});

/** Adds headers that the answer does not set itself. */
function addHeaders(headers: AnswerHeaders, request: Request, { config, cors }: DoorParts): void {
	addAbsent(headers, SECURITY_HEADERS);
	if (config.publicUrls[0].startsWith('https:')) addAbsent(headers, HSTS);
	if (request.raw.req.headers.origin !== undefined) addAbsent(headers, cors.headers(request));
	if (request.plugins.limit) addAbsent(headers, limitHeaders(request.plugins.limit));
	headers['x-request-id'] = request.info.id;
}

function addAbsent(headers: AnswerHeaders, more: Readonly<Record<string, string>>): void {
	for (const name in more) headers[name] ??= more[name] ?? '';
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

/** Logs the request when its answer is complete, or its client has left. */
function followEnd(request: Request, answer: Answer, parts: DoorParts): void {
	const { res } = request.raw;
	let isOver = false;
	const end = (): void => {
		if (isOver) return;
		isOver = true;
		request.info.responded = Date.now();
		const status = res.headersSent ? res.statusCode : CLOSED_BY_CLIENT;
		request.server.app.door?.ended(request, { status, headers: answer.headers });
		tellAnswer(request, status);
		logRequest(request, status, parts);
	};
	if (res.closed) return void end();
	res.once('close', end);
	// An injected answer is over without having been closed.
	if ((request as { isInjected?: boolean }).isInjected) res.once('finish', end);
}

/** Logs a request that hapi answered. */
export function logHapis(request: Request, parts: Pick<DoorParts, 'config' | 'log'>): void {
	const { response } = request;
	// The door logs what it answers when its answer has been sent.
	if (typeof response === 'symbol') return;
	logRequest(request, response instanceof Error ? 500 : (response?.statusCode ?? 0), parts);
}

function logRequest(request: Request, status: number, { config, log }: Pick<DoorParts, 'config' | 'log'>): void {
	const { info, raw } = request;
	log.info(
		{
			requestId: request.info.id,
			method: request.method,
			// The query is not logged: it may contain a key.
			path: request.path,
			status,
			ms: (info.responded || Date.now()) - info.received,
			...requestFields(request, request.plugins.line?.row),
			address: clientAddress(info.remoteAddress, raw.req.headers['x-forwarded-for']?.toString(), config.trustProxy),
		},
		'request',
	);
}
