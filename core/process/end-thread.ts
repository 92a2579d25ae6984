// Ends worker threads that may compute for ever.

import type { Worker } from 'node:worker_threads';

const AGAIN_MS = 1000;

/**
 * Ends a thread, and resolves once it is gone. The request is repeated each second: V8 delivers it as an exception that native code may
 * swallow (seen once, while a thread loaded its modules), and a loop that begins afterwards would run for ever.
 */
export async function endThread(worker: Worker): Promise<void> {
	// Only the end of the thread matters, not the result.
	const ask = (): void => void worker.terminate().catch(() => undefined);
	const again = setInterval(ask, AGAIN_MS);
	try {
		await worker.terminate();
	} finally {
		clearInterval(again);
	}
}
