// `Idempotency-Key`: a repeated request gets the answer of the first one, and is not executed again.

import { createHash } from 'node:crypto';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import { GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { TimeSlice } from '../kit/time-slice.ts';
import type { IdempotentRequest, Store } from '../store/store.ts';

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** Set on the first request under its key: keeps its answer, or lets the next request try. */
		idempotent?: {
			/** Says that the request still runs, for as long as the work takes. */
			during<T>(work: () => T | Promise<T>): Promise<T>;
			keep(answer: KeptAnswer): Promise<void>;
			forget(): Promise<void>;
		};
		/** Set where the handler reads the body itself: begins the request under its key. */
		claimKey?(body: Buffer): Promise<void>;
	}
}

interface KeptAnswer {
	status: number;
	body: string;
	headers: Record<string, string>;
}

/** Thrown instead of executing a request whose answer is kept. */
export class Replay extends Error {
	readonly #answer: KeptAnswer;

	constructor(answer: KeptAnswer) {
		super('The answer to this request is kept.');
		this.#answer = answer;
	}

	response(h: ResponseToolkit): ResponseObject {
		const { status, body, headers } = this.#answer;
		const answer = h.response(body).code(status).type('application/json').header('idempotency-replayed', 'true');
		for (const [name, value] of Object.entries(headers)) answer.header(name, value);
		return answer;
	}
}

const HEADER = 'idempotency-key';
/** The characters that a header can carry without quoting. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;
/** A request that was not renewed for ten minutes is taken over. */
const RENEWED_EACH_MS = 60_000;
/** A body is hashed in such pieces, between which others are served. */
const PIECE_BYTES = 1_048_576;
const SANDBOX = { sandbox: 'plugin' } as const;

interface IdempotencyParts {
	store: Store;
	log: Log;
}

/** @param server of the plugin that owns the routes; those declared `idempotent` accept the header */
export function registerIdempotency(server: Server, parts: IdempotencyParts): void {
	server.ext('onPreHandler', (request, h) => begin(request, h, parts), SANDBOX);
}

/**
 * Begins a request under its `Idempotency-Key`, if it has one, where the handler reads the body itself: what another body is, only that tells.
 * @throws conflict, idempotency_key_reused, and what makes the route answer a repetition
 */
export const claimKey = (request: Request, body: Buffer): Promise<void> => request.plugins.claimKey?.(body) ?? Promise.resolve();

async function begin(request: Request, h: ResponseToolkit, parts: IdempotencyParts) {
	const key = request.raw.req.headers[HEADER]?.toString();
	const { idempotent, bodyIs } = request.route.settings.plugins?.operation ?? {};
	if (key === undefined || !idempotent) return h.continue;
	if (!KEY.test(key)) throw badKey();
	if (bodyIs === 'unread') {
		request.plugins.claimKey = async (body) => claim(request, describe(request, key, await digestOf(body)), parts);
		return h.continue;
	}
	try {
		await claim(request, describe(request, key, request.payload), parts);
		return h.continue;
	} catch (thrown) {
		if (thrown instanceof Replay) return thrown.response(h).takeover();
		throw thrown;
	}
}

async function claim(request: Request, asked: IdempotentRequest, { store, log }: IdempotencyParts): Promise<void> {
	const found = await store.idempotency.begin(asked);
	if (found.state === 'kept') throw new Replay(found);
	if (found.state === 'running') {
		throw new GatewayError('conflict', 'The first request with this Idempotency-Key is still under way.', {
			headers: { 'retry-after': '1' },
		});
	}
	if (found.state === 'other') {
		throw new GatewayError('idempotency_key_reused', 'This Idempotency-Key was used for another request: choose a new one.');
	}
	const running = { ...asked, attempt: found.attempt };
	request.plugins.idempotent = {
		during: async (work) => {
			const renew = (): Promise<void> => store.idempotency.renew(running).catch((error: unknown) => warn(log, error));
			const renewing = setInterval(() => void renew(), RENEWED_EACH_MS).unref();
			try {
				return await work();
			} finally {
				clearInterval(renewing);
			}
		},
		// The request was executed: its answer is sent even if it cannot be kept.
		keep: (answer) => store.idempotency.keep(running, answer).catch((error: unknown) => warn(log, error)),
		forget: () => store.idempotency.forget(running).catch((error: unknown) => warn(log, error)),
	};
}

async function digestOf(body: Buffer): Promise<string> {
	const [hash, slice] = [createHash('sha256'), new TimeSlice()];
	for (let at = 0; at < body.length; at += PIECE_BYTES) {
		if (slice.isOverNow) await slice.next();
		hash.update(body.subarray(at, at + PIECE_BYTES));
	}
	return hash.digest('hex');
}

/** @param body whatever stands for it */
function describe(request: Request, key: string, body: unknown): IdempotentRequest {
	const { user, organization } = request.auth.credentials;
	if (!user) throw new Error(`${request.path}: an idempotent route must not be public.`);
	return {
		userId: user.id,
		organizationId: organization?.id ?? null,
		key,
		operation: `${request.method.toUpperCase()} ${request.path}`,
		fingerprint: createHash('sha256')
			.update(JSON.stringify([request.query, body]))
			.digest(),
	};
}

function badKey(): GatewayError {
	const message = 'Idempotency-Key must be 1 to 255 visible ASCII characters';
	return new GatewayError('validation_failed', message, { details: [{ path: `header/${HEADER}`, message }] });
}

const warn = (log: Log, error: unknown): void =>
	log.warn({ error: String(error) }, 'a request could not be written under its Idempotency-Key');
