// Webhooks: a kind of run that sends one message until its receiver takes it.

import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Deliveries, Delivery, NewDelivery } from '../contract/jobs.ts';
import type { Json } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import type { RunContext } from '../runs/context.ts';
import type { Run } from '../store/store.ts';
import type { JobScope } from '../tools/job-desk.ts';
import { inAttempts, type Tried } from './attempts.ts';
import { dedupeOf } from './dedupe.ts';
import { inputOf, isOfScope, openInput, sealInput } from './envelopes.ts';
import { failed } from './handling.ts';
import type { JobParts } from './jobs.ts';
import { type Letter, letterOf, storedLetter, toLetter } from './new-delivery.ts';
import { webhookHeaders } from './signatures.ts';
import { Targets } from './targets.ts';

const KIND = 'delivery';
const BOUNDS = { places: 50, perAccount: 5, perAccountUnfinished: 2_000 };
const HOUR_MS = 60 * 60 * 1000;
const PAUSE_MS = { first: 2_000, factor: 4, most: 6 * HOUR_MS };
const DEADLINE_MS = 72 * HOUR_MS;
const SEND_MS = 10_000;
/** The longest that a receiver may put its next attempt off. */
const MOST_AFTER_MS = 6 * HOUR_MS;

export function defineDeliveries(parts: JobParts): void {
	const targets = new Targets();
	parts.runs.define(KIND, (run) => work(run, targets, parts), BOUNDS);
}

/** @throws validation_failed, egress_refused, rate_limited */
export async function deliver(scope: JobScope, asked: NewDelivery, { runs, secrets, egress }: JobParts): Promise<{ id: string }> {
	const letter = letterOf(asked);
	await egress.check(letter.url, '/url');
	const { organizationId } = scope;
	const input = sealInput(secrets, scope, KIND, storedLetter(letter));
	const dedupe = asked.key === undefined ? null : dedupeOf(scope, asked.key);
	const { id } = await runs.start({ organizationId, kind: KIND, input, deadlineMs: DEADLINE_MS, dedupe });
	return { id };
}

async function work(run: RunContext, targets: Targets, parts: JobParts): Promise<Json> {
	const row = { ...run, kind: KIND };
	const letter = toLetter(openInput(parts.secrets, row));
	const { plugin, gatewayId, ref } = inputOf(row);
	const { organizationId } = run;
	const target = `${organizationId} ${new URL(letter.url).origin}`;
	return inAttempts(run, { attempts: letter.attempts, pauseMs: PAUSE_MS }, async (attempt, signal) => {
		if (!targets.enter(target)) return { how: 'busy' };
		try {
			// A gateway that is gone sends nothing any more.
			await parts.rebuild({ plugin, organizationId, gatewayId, caller: null, signal });
			const tried = await send(letter, { id: messageId(ref), organizationId, signal }, parts);
			run.progress({ attempts: attempt, lastStatus: tried.status });
			return tried.end;
		} catch (thrown) {
			signal.throwIfAborted();
			run.progress({ attempts: attempt, lastStatus: null });
			if (!asGatewayError(thrown)) parts.log.error({ err: thrown, runId: run.id }, 'a webhook could not be sent');
			return failed(thrown);
		} finally {
			targets.leave(target);
		}
	});
}

const messageId = (ref: string): string => `msg_${ref}`;

interface Sending {
	id: string;
	organizationId: string;
	signal: AbortSignal;
}

/** Sends once; the body of the answer is not read. @throws egress_refused, upstream_failed, upstream_timeout */
async function send(
	letter: Letter,
	{ id, organizationId, signal }: Sending,
	{ egress }: JobParts,
): Promise<{ status: number; end: Tried }> {
	const { url, body, headers, sign } = letter;
	const signed = webhookHeaders({ id, at: new Date(), body }, sign);
	const late = new AbortController();
	const timer = setTimeout(() => late.abort(new GatewayError('upstream_timeout', 'The receiver did not answer in time.')), SEND_MS);
	const both = AbortSignal.any([signal, late.signal]);
	try {
		const init: RequestInit = { method: 'POST', headers: { ...headers, ...signed }, body, redirect: 'manual', signal: both };
		const response = await egress.of(organizationId).fetch(url, init);
		await Promise.race([response.body?.cancel(), sleep(SEND_MS, undefined, { ref: false, signal: both })]);
		return { status: response.status, end: endOf(response) };
	} finally {
		clearTimeout(timer);
	}
}

function endOf({ status, headers }: Response): Tried {
	if (status >= 200 && status < 300) return { how: 'done', output: { status } };
	const again = status >= 500 || [408, 425, 429].includes(status);
	const error = { code: 'upstream_failed' as const, message: `The receiver answered with status ${status}.` };
	return { how: 'failed', error, again, afterMs: again ? retryAfterMs(headers.get('retry-after')) : null };
}

/** Reads Retry-After (RFC 9110 §10.2.3): seconds or a date. */
function retryAfterMs(value: string | null): number | null {
	if (value === null) return null;
	const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
	return Number.isNaN(ms) || ms <= 0 ? null : Math.min(ms, MOST_AFTER_MS);
}

export function deliveriesAt(scope: JobScope, { runs }: JobParts): Deliveries {
	const { organizationId } = scope;
	const find = async (id: string): Promise<Run | null> => {
		const run = await runs.get({ organizationId, id });
		return run?.kind === KIND && isOfScope(run, scope) ? run : null;
	};
	return {
		async get(id) {
			const run = await find(id);
			return run && show(run);
		},
		cancel: async (id) => (await find(id)) !== null && runs.cancel({ organizationId, id }, 'The delivery was cancelled.'),
	};
}

function show(run: Run): Delivery {
	const { id, status, error, createdAt, finishedAt } = run;
	const told = isObject(run.progress) ? run.progress : {};
	const { attempts = 0, lastStatus = null } = told as { attempts?: number; lastStatus?: number | null };
	return { id, status, error, createdAt, finishedAt, messageId: messageId(inputOf(run).ref), attempts, lastStatus };
}
