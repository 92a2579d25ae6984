// Ends a test file that would otherwise wait for ever: one whose hooks failed before they stopped what they had started.

import { after } from 'node:test';

/** The time that hooks have to stop everything, once the last test has ended. */
const PATIENCE_MS = 60_000;

/** Ends this process if something keeps it alive when the tests are over. */
export function endLeftovers(): void {
	setTimeout(() => {
		process.stderr.write('The tests have ended, and something that they started keeps the process alive.\n');
		process.exit(1);
	}, PATIENCE_MS).unref();
}

// Programs that use the helpers of tests have no tests to end with; in a group of files, the hook would be that of the first one.
const [, started = ''] = process.argv;
if (started.endsWith('.test.ts') && !started.includes('/test/together/')) after(endLeftovers);
