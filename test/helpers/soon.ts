// Changes that must be effective within a second, on every replica.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { elapsing } from './clock.ts';

/** The second, and the possible difference between the clocks of two processes. */
const WITHIN_MS = 1_500;

/**
 * Retries until the condition holds. It must hold for a request that is sent when the second is over, however long its response takes: a
 * cached value may be a second old, and later requests wait for changes.
 */
export async function soon(condition: () => Promise<boolean>, what: string): Promise<void> {
	const isOver = elapsing(WITHIN_MS);
	for (let isLast = false; !(await condition()); ) {
		assert.ok(!isLast, `${what}: not a second later`);
		await sleep(20);
		isLast = isOver();
	}
}
