// `Idempotency-Key`: a repeated request gets the answer of the first one, and is not executed again.

import { createHash } from 'node:crypto';
import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import { GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import type { IdempotentRequest, Store } from '../store/store.ts';

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** Set on the first request under its key: keeps its answer, or lets the next request try. */
		idempotent?: {
			/** Says that the request still runs, for as long as the work takes. */
			during<T>(work: () => T | Promise<T>): Promise<T>;
			keep(answer: { status: number; body: string; headers: Record<string, string> }): Promise<void>;
			forget(): Promise<void>;
		};
	}
}

const HEADER = 'idempotency-key';
/** The characters that a header can carry without quoting. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;
/** A request that was not renewed for ten minutes is taken over. */
const RENEWED_EACH_MS = 60_000;
const SANDBOX = { sandbox: 'plugin' } as const;

/** @param server of the plugin that owns the routes; those declared `idempotent` accept the header */
export function registerIdempotency(server: Server, parts: { store: Store; log: Log }): void {
	server.ext('onPreHandler', (request, h) => begin(request, h, parts), SANDBOX);
}

async function begin(request: Request, h: ResponseToolkit, { store, log }: { store: Store; log: Log }) {
	const key = request.raw.req.headers[HEADER]?.toString();
	if (key === undefined || !request.route.settings.plugins?.operation?.idempotent) return h.continue;
	if (!KEY.test(key)) throw badKey();
	const asked = describe(request, key);
	const found = await store.idempotency.begin(asked);
	if (found.state === 'kept') {
		const answer = h.response(found.body).code(found.status).type('application/json').header('idempotency-replayed', 'true');
		for (const [name, value] of Object.entries(found.headers)) answer.header(name, value);
		return answer.takeover();
	}
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
	return h.continue;
}

function describe(request: Request, key: string): IdempotentRequest {
	const { user, organization } = request.auth.credentials;
	if (!user) throw new Error(`${request.path}: an idempotent route must not be public.`);
	return {
		userId: user.id,
		organizationId: organization?.id ?? null,
		key,
		operation: `${request.method.toUpperCase()} ${request.path}`,
		fingerprint: createHash('sha256')
			.update(JSON.stringify([request.query, request.payload]))
			.digest(),
	};
}

function badKey(): GatewayError {
	const message = 'Idempotency-Key must be 1 to 255 visible ASCII characters';
	return new GatewayError('validation_failed', message, { details: [{ path: `header/${HEADER}`, message }] });
}

const warn = (log: Log, error: unknown): void =>
	log.warn({ error: String(error) }, 'a request could not be written under its Idempotency-Key');
