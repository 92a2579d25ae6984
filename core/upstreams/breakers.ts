// Circuit breakers: a call of an upstream that keeps failing fails at once, instead of waiting for an answer that will not come.
//
// One breaker per organization and origin, so that no tenant can shut an upstream for the others, nor learn from it which upstreams they
// call. It is local to the process: every replica finds out for itself after a few failures, and no call pays a round trip for it.

import { GatewayError } from '../contract/errors.ts';
import { shown } from '../egress/errors.ts';
import { urlParts } from '../egress/parsed-urls.ts';
import { BoundedMap } from '../kit/bounded-map.ts';

/** Failures in a row, without an answer in between. */
const FAILURES = 10;
const OPEN_MS = 5_000;
const MAX_OPEN_MS = 60_000;
/** The number of failing origins kept; those that failed longest ago are dropped first. Working ones take no memory. */
const CAPACITY = 10_000;

/** The outcome of a request that was let through. `unknown`: it ended for a reason unrelated to the upstream. */
export type Outcome = 'answered' | 'failed' | 'unknown';

/** Reports the outcome; to be called once, when the request has ended. */
export type Settle = (outcome: Outcome) => void;

interface Failing {
	failures: number;
	/** Monotonic time; null while the breaker is closed. */
	openUntilMs: number | null;
	openMs: number;
	/** The one request that probes whether the upstream is back. */
	probe: symbol | null;
}

export class Breakers {
	readonly #failing = new BoundedMap<string, Failing>(CAPACITY);
	readonly #now: () => number;

	/** @param now milliseconds of a clock that only goes forward */
	constructor(now: () => number = () => performance.now()) {
		this.#now = now;
	}

	/** Checks without counting anything, for requests that queue first. @throws upstream_failed while it is open */
	assertClosed(organizationId: string, url: Readonly<URL>): void {
		if (this.#failing.size === 0) return;
		const failing = this.#failing.get(keyOf(organizationId, url));
		if (failing && this.#isShut(failing)) throw this.#refusal(failing, url);
	}

	/** Whether no request but a probe is let through. */
	isOpen(organizationId: string, url: Readonly<URL>): boolean {
		return (this.#failing.get(keyOf(organizationId, url))?.openUntilMs ?? null) !== null;
	}

	/** Lets a request through. @throws upstream_failed while it is open */
	enter(organizationId: string, url: Readonly<URL>): Settle {
		// Most calls are of upstreams that work while all others do, too.
		if (this.#failing.size === 0) return (outcome) => this.#settleFirst(organizationId, url, outcome);
		const key = keyOf(organizationId, url);
		const failing = this.#failing.get(key);
		if (!failing || failing.openUntilMs === null) return (outcome) => this.#settle(key, outcome);
		if (this.#isShut(failing)) throw this.#refusal(failing, url);
		const probe = Symbol('probe');
		failing.probe = probe;
		return (outcome) => this.#settleProbe(key, { failing, probe, outcome });
	}

	#isShut({ openUntilMs, probe }: Failing): boolean {
		return openUntilMs !== null && (probe !== null || this.#now() < openUntilMs);
	}

	#settleFirst(organizationId: string, url: Readonly<URL>, outcome: Outcome): void {
		if (outcome === 'failed' || this.#failing.size > 0) this.#settle(keyOf(organizationId, url), outcome);
	}

	#settle(key: string, outcome: Outcome): void {
		if (outcome === 'unknown') return;
		const failing = this.#failing.get(key);
		// A request that began before the breaker opened tells nothing new.
		if (failing && failing.openUntilMs !== null) return;
		if (outcome === 'answered') {
			if (failing) this.#failing.delete(key);
			return;
		}
		const next = failing ?? { failures: 0, openUntilMs: null, openMs: OPEN_MS, probe: null };
		next.failures += 1;
		if (next.failures >= FAILURES) next.openUntilMs = this.#now() + next.openMs;
		this.#failing.set(key, next);
	}

	#settleProbe(key: string, { failing, probe, outcome }: { failing: Failing; probe: symbol; outcome: Outcome }): void {
		if (failing.probe !== probe) return;
		failing.probe = null;
		if (outcome === 'unknown') return;
		if (outcome === 'answered') {
			if (this.#failing.get(key) === failing) this.#failing.delete(key);
			return;
		}
		failing.failures += 1;
		failing.openMs = Math.min(failing.openMs * 2, MAX_OPEN_MS);
		failing.openUntilMs = this.#now() + failing.openMs;
	}

	#refusal({ failures, openUntilMs }: Failing, { host }: Readonly<URL>): GatewayError {
		const leftSeconds = Math.ceil(((openUntilMs ?? 0) - this.#now()) / 1000);
		const when = leftSeconds > 0 ? `it is tried again in ${leftSeconds} s` : 'it is being tried again right now';
		return new GatewayError('upstream_failed', `${shown(host)} has failed ${failures} times in a row: ${when}.`);
	}
}

const keyOf = (organizationId: string, url: Readonly<URL>): string => `${organizationId} ${urlParts(url).origin}`;
