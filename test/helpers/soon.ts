// What must be effective within a second.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Within a second, and a little for the machine. */
export async function soon(condition: () => Promise<boolean>, what: string): Promise<void> {
	const started = performance.now();
	while (!(await condition())) {
		assert.ok(performance.now() - started < 1500, `${what}: not within a second`);
		await sleep(20);
	}
}
