// Replicas that run, in this process: a store each, on one database.

import type { RunProgram } from '../../core/runs/context.ts';
import { createRuns, type KindOptions, type Runs } from '../../core/runs/runs.ts';
import type { Store } from '../../core/store/store.ts';
import { silent } from './silent.ts';

export type Kinds = Record<string, [program: RunProgram, options?: KindOptions]>;

export interface RunReplica extends AsyncDisposable {
	runs: Runs;
}

/** Opens a replica that knows these kinds; none: it starts and follows runs only. */
export async function runReplica(store: Pick<Store, 'runQueue' | 'changes'>, kinds: Kinds = {}, keepMs = 1_000): Promise<RunReplica> {
	const runs = createRuns({ store, log: silent, keepMs });
	for (const [kind, [program, options]] of Object.entries(kinds)) runs.define(kind, program, options);
	await runs.open();
	return { runs, [Symbol.asyncDispose]: () => runs.close(0) };
}
