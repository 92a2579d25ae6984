// The runs of jobs and webhooks in memory: at once, or when the test says so. A pause takes no time.

import { randomUUID } from 'node:crypto';
import type { Json } from '../core/contract/nouns.ts';
import type { JobParts } from '../core/jobs/jobs.ts';
import { type RunContext, RunError } from '../core/runs/context.ts';
import { followRun, hasRunEnded } from '../core/runs/following.ts';
import type { Changes, Run, RunFault, Topic } from '../core/store/store.ts';

type Program = (run: RunContext) => Promise<Json>;

interface Entry {
	run: Run;
	dedupe: string | null;
	ending: AbortController;
}

export interface MemoryRuns {
	/** The verbs that jobs use. */
	runs: JobParts['runs'];
	/** Runs what waits, and what that begins, until nothing is left. */
	runAll(): Promise<void>;
	/** Cancels all. */
	close(): void;
}

const INTERRUPTED: RunFault = { code: 'interrupted', message: 'The test is over.' };

/** @param isByHand whether runs wait for `runAll` */
export function createMemoryRuns(changes: Changes & { announce(topic: Topic): void }, isByHand: boolean): MemoryRuns {
	const programs = new Map<string, Program>();
	const entries = new Map<string, Entry>();
	const under = new Set<Promise<void>>();

	const change = (entry: Entry, fields: Partial<Run>): void => {
		if (hasRunEnded(entry.run)) return;
		entry.run = { ...entry.run, ...fields };
		changes.announce(`run:${entry.run.id}`);
	};
	const end = (entry: Entry, fields: Partial<Run>): void => change(entry, { ...fields, finishedAt: new Date() });
	const begin = (entry: Entry): void => {
		if (entry.run.status !== 'queued') return;
		change(entry, { status: 'running', startedAt: new Date(), attempt: 1 });
		const working = work(entry).finally(() => under.delete(working));
		under.add(working);
	};
	const work = async (entry: Entry): Promise<void> => {
		try {
			const program = programs.get(entry.run.kind);
			if (!program) throw new Error(`There is no kind of run ${entry.run.kind}.`);
			const output = await program(contextOf(entry, (progress) => change(entry, { progress })));
			end(entry, { status: 'succeeded', output });
		} catch (thrown) {
			const { code, message } = thrown instanceof RunError ? thrown : ({ code: 'internal', message: String(thrown) } as const);
			end(entry, { status: 'failed', error: { code, message } });
		}
	};
	const cancel = (entry: Entry, error: RunFault): boolean => {
		if (hasRunEnded(entry.run)) return false;
		end(entry, { status: 'cancelled', error });
		entry.ending.abort(new RunError(error));
		return true;
	};
	const get = (organizationId: string, id: string): Entry | null => {
		const entry = entries.get(id);
		return entry?.run.organizationId === organizationId ? entry : null;
	};

	return {
		runs: {
			define: (kind, program) => void programs.set(kind, program as Program),
			async start({ organizationId, kind, input, dedupe = null }) {
				const same = [...entries.values()].find(
					(one) => dedupe !== null && one.dedupe === dedupe && one.run.kind === kind && one.run.organizationId === organizationId,
				);
				if (same) return same.run;
				const entry = { run: newRun(organizationId, kind, input), dedupe, ending: new AbortController() };
				entries.set(entry.run.id, entry);
				if (!isByHand) setImmediate(begin, entry);
				return entry.run;
			},
			get: async ({ organizationId, id }) => get(organizationId, id)?.run ?? null,
			follow: (place, signal) => {
				const read = async (organizationId: string, id: string): Promise<Run | null> => get(organizationId, id)?.run ?? null;
				return followRun({ queue: { get: read }, changes }, place, signal);
			},
			async cancel({ organizationId, id }, message = 'The run was cancelled.') {
				const entry = get(organizationId, id);
				return entry !== null && cancel(entry, { code: 'cancelled', message });
			},
		},
		async runAll() {
			for (;;) {
				for (const entry of entries.values()) begin(entry);
				if (under.size === 0) return;
				await Promise.all(under);
			}
		},
		close() {
			for (const entry of entries.values()) cancel(entry, INTERRUPTED);
		},
	};
}

function contextOf({ run, ending }: Entry, progress: (value: Json) => void): RunContext {
	const { signal } = ending;
	const absent = (): never => {
		throw new Error('A job neither waits for events nor begins children.');
	};
	return {
		...{ id: run.id, organizationId: run.organizationId, attempt: 1, definition: null, input: run.input, signal, progress },
		async step(_key, work) {
			signal.throwIfAborted();
			return work(signal);
		},
		sleep: async () => signal.throwIfAborted(),
		event: absent,
		child: absent,
	};
}

const newRun = (organizationId: string, kind: string, input: Json): Run => ({
	...{ id: randomUUID(), organizationId, kind, input, status: 'queued', trigger: 'manual', definition: null, output: null, error: null },
	...{ progress: null, attempt: 0, priority: 0, parentId: null, originId: null, schedule: null, scheduledFor: null, deadlineAt: null },
	...{ createdAt: new Date(), startedAt: null, finishedAt: null },
});
