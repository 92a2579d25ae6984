// Waiting with a bound: no suite hangs, and no verdict depends on elapsed time. Nearly every test imports this, so it loads nothing of core.

import assert from 'node:assert/strict';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../core/contract/context.ts';
import type { SaveContext } from '../core/contract/kinds.ts';
import { ORGANIZATION } from './samples.ts';

/** The time after which a waiting test fails instead of hanging; it promises nothing about the product. */
export const PATIENCE_MS = 180_000;

/** Resolves when the condition holds, however long it takes. @throws AssertionError that names `what` after PATIENCE_MS */
export async function until(condition: () => unknown, what: string | (() => string), everyMs = 20): Promise<void> {
	const startedMs = performance.now();
	while (!(await condition())) {
		assert.ok(performance.now() - startedMs < PATIENCE_MS, `still not: ${typeof what === 'string' ? what : what()}`);
		await sleep(everyMs);
	}
}

/** Settles as the promise does. @throws AssertionError that names `what` when it does not in PATIENCE_MS */
export async function patiently<T>(settling: Promise<T>, what: string): Promise<T> {
	const over = new AbortController();
	const late = sleep(PATIENCE_MS, undefined, { signal: over.signal }).then(() => assert.fail(`it does not end: ${what}`));
	try {
		return await Promise.race([settling, late]);
	} finally {
		over.abort();
		late.catch(() => undefined);
	}
}

/** Names the promise that settles first, whether it resolves or rejects; the others must settle later or never. */
export const firstOf = <Name extends string>(runners: Record<Name, Promise<unknown>>): Promise<Name> => {
	const named = Object.entries<Promise<unknown>>(runners).map(([name, settling]) =>
		settling.then(
			() => name as Name,
			() => name as Name,
		),
	);
	return Promise.race(named);
};

/**
 * Tells whether the promise settles before a timer of this event loop that is set now. It suits outcomes that only timers of this process
 * decide: timers run in the order of their times, even when all of them are late.
 */
export async function isBeforeTimer(ms: number, settling: Promise<unknown>): Promise<boolean> {
	const leaving = new AbortController();
	const timer = sleep(ms, undefined, { signal: leaving.signal }).then(() => immediate());
	const first = await firstOf({ settling, timer });
	leaving.abort();
	return first === 'settling';
}

/** Returns the call with some members replaced, its functions bound to it. */
export const lentBy = <T extends object>(call: Call, others: T): Call & T =>
	new Proxy(call, {
		get(target, name) {
			if (Object.hasOwn(others, name)) return Reflect.get(others, name);
			const member: unknown = Reflect.get(target, name, target);
			return typeof member === 'function' ? member.bind(target) : member;
		},
		// The call keeps what is not replaced.
	}) as Call & T;

/** Makes the context of a `check`; by default every URL and address passes. */
export const saving = (
	checkUrl: SaveContext['checkUrl'] = async () => undefined,
	checkAddress: SaveContext['checkAddress'] = async () => undefined,
): SaveContext => ({
	log: SILENT,
	operator: {},
	organizationId: ORGANIZATION,
	account: async () => 'account',
	checkUrl,
	checkAddress,
	checkProvider: async () => undefined,
	checkSchema: async () => undefined,
});

const nothing = (): void => undefined;
export const SILENT: SaveContext['log'] = { debug: nothing, info: nothing, warn: nothing, error: nothing };
