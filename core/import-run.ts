// One import's worker thread, from the main thread's side: it is given little, heard in batches, and killed when late.

import { on as eventsOf } from 'node:events';
import { Worker } from 'node:worker_threads';
import { asGatewayError, GatewayError } from './errors.ts';
import type { ImportResult, ImportTask, WorkerMessage } from './import-worker.ts';
import type { Log, Operation } from './nouns.ts';

const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './import-thread.ts' : './import-thread.js', import.meta.url);
const STACK_MB = 4;
/** A worker at its limit gets 16 MB more to end in. Young objects that become old at once must fit, or the whole process dies. */
const YOUNG_MB = 8;

export interface RunLimits {
	signal: AbortSignal;
	maxHeapMb: number;
	log: Log;
}

/**
 * @param task its body is moved to the worker, and empty afterwards
 * @param on.got the document is there, and will be parsed
 * @param on.write the worker makes at most one batch more until it resolves
 * @throws whatever the worker failed with; schema_invalid when it died; the signal's reason
 */
export async function runImport(
	task: ImportTask,
	{ signal, maxHeapMb, log }: RunLimits,
	on: { got(): void; write(operations: Operation[]): Promise<void> },
): Promise<ImportResult> {
	signal.throwIfAborted();
	const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: YOUNG_MB, stackSizeMb: STACK_MB };
	// Without the environment: what the worker reads was written by strangers.
	const worker = new Worker(SCRIPT, { workerData: task, transferList: [task.body.buffer as ArrayBuffer], env: {}, resourceLimits });
	let isWriting = false;
	try {
		for await (const [message] of eventsOf(worker, 'message', { signal, close: ['exit'] }) as AsyncIterable<[WorkerMessage]>) {
			if (message.type === 'done') return message.result;
			if (message.type === 'failed') throw new GatewayError(message.code, message.message, { details: message.details });
			if (message.type === 'crashed') throw new Error(message.stack);
			if (message.type === 'got') {
				on.got();
				continue;
			}
			isWriting = true;
			await on.write(message.operations);
			isWriting = false;
			worker.postMessage('written');
		}
		throw new Error('The worker ended without an answer.');
	} catch (error) {
		if (isWriting || signal.aborted || asGatewayError(error)) throw error;
		throw death(error, { maxHeapMb, log });
	} finally {
		await worker.terminate();
	}
}

function death(cause: unknown, { maxHeapMb, log }: Omit<RunLimits, 'signal'>): GatewayError {
	if ((cause as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY')
		return new GatewayError('schema_invalid', `The document needs more than ${maxHeapMb} MB of memory to be read.`, {
			cause,
		});
	log.error({ err: cause }, 'An import failed in an unforeseen way.');
	return new GatewayError('schema_invalid', 'The document could not be read: the importer failed on it.', { cause });
}
