// The runs of jobs and webhooks in memory: at once, or when the test says so. The pauses between attempts take no time; everything else that
// keeps a run waiting does: its time, the places of its kind, its deadline.

import { randomUUID } from 'node:crypto';
import { GatewayError } from '../core/contract/errors.ts';
import type { Json } from '../core/contract/nouns.ts';
import type { JobParts } from '../core/jobs/jobs.ts';
import { type RunContext, RunError } from '../core/runs/context.ts';
import { DEADLINE } from '../core/runs/faults.ts';
import { followRun, hasRunEnded } from '../core/runs/following.ts';
import type { KindOptions } from '../core/runs/runs.ts';
import type { Changes, Run, RunFault, Topic } from '../core/store/store.ts';

interface Kind {
	program(run: RunContext): Promise<Json>;
	/** The most at a time: there is one process and one account. */
	places: number;
	/** The most that have not ended. */
	unfinished: number;
}

interface KeptRun {
	run: Run;
	dedupe: string | null;
	ending: AbortController;
	/** The time for which it waits. */
	dueAt: Date | null;
	/** Lets it go on after a wait. */
	resume: (() => void) | null;
	deadline: NodeJS.Timeout | undefined;
}

export interface MemoryRuns {
	/** The verbs that jobs use. */
	runs: JobParts['runs'];
	/** Runs what is due at that time, and what that begins, until nothing is left. @param at default: now */
	runAll(at?: Date): Promise<void>;
	/** Cancels all. */
	close(): void;
}

const INTERRUPTED: RunFault = { code: 'interrupted', message: 'The test is over.' };
const PLACES = 20;
const BEGINNING: readonly Run['status'][] = ['queued', 'running'];
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** @param isByHand whether runs wait for `runAll` */
export const createMemoryRuns = (changes: Announcing, isByHand: boolean): MemoryRuns => new Queue(changes, isByHand);

type Announcing = Changes & { announce(topic: Topic): void };

class Queue implements MemoryRuns {
	readonly runs: JobParts['runs'];
	readonly #kinds = new Map<string, Kind>();
	readonly #entries = new Map<string, KeptRun>();
	readonly #changes: Announcing;
	readonly #isByHand: boolean;
	/** The time up to which runs are due; null: nothing begins until somebody says so. */
	#upTo: (() => number) | null;
	#settled = Promise.withResolvers<void>();

	constructor(changes: Announcing, isByHand: boolean) {
		this.#changes = changes;
		this.#isByHand = isByHand;
		this.#upTo = isByHand ? null : Date.now;
		this.runs = {
			define: (kind, program, options) => void this.#kinds.set(kind, kindOf(program as Kind['program'], options)),
			start: async (asked) => this.#start(asked),
			get: async ({ organizationId, id }) => this.#get(organizationId, id)?.run ?? null,
			follow: (place, signal) => {
				const get = async (organizationId: string, id: string): Promise<Run | null> => this.#get(organizationId, id)?.run ?? null;
				return followRun({ queue: { get }, changes }, place, signal);
			},
			cancel: async ({ organizationId, id }, message = 'The run was cancelled.') => {
				const entry = this.#get(organizationId, id);
				return entry !== null && this.#stop(entry, 'cancelled', { code: 'cancelled', message });
			},
		};
	}

	async runAll(at?: Date): Promise<void> {
		const upTo = at?.getTime();
		this.#upTo = upTo === undefined ? Date.now : () => Math.max(upTo, Date.now());
		for (;;) {
			this.#settled = Promise.withResolvers();
			this.#look();
			if (![...this.#entries.values()].some(({ run }) => run.status === 'running')) break;
			await this.#settled.promise;
		}
		this.#upTo = this.#isByHand ? null : Date.now;
	}

	close(): void {
		for (const entry of this.#entries.values()) this.#stop(entry, 'cancelled', INTERRUPTED);
	}

	#get(organizationId: string, id: string): KeptRun | null {
		const entry = this.#entries.get(id);
		return entry?.run.organizationId === organizationId ? entry : null;
	}

	#start(asked: Parameters<JobParts['runs']['start']>[0]): Run {
		const { organizationId, kind, input, dedupe = null, deadlineMs = null, hereOnly = false } = asked;
		const alike = [...this.#entries.values()].filter(({ run }) => run.kind === kind && run.organizationId === organizationId);
		const same = alike.find((one) => dedupe !== null && one.dedupe === dedupe);
		if (same) return same.run;
		const most = this.#kinds.get(kind)?.unfinished ?? Number.POSITIVE_INFINITY;
		if (alike.filter(({ run }) => !hasRunEnded(run)).length >= most)
			throw new GatewayError('rate_limited', `${most} of this kind are under way or wait already. Try again later.`);
		// Those that were begun before take their places before it.
		if (hereOnly && alike.filter(({ run }) => BEGINNING.includes(run.status)).length >= this.#placesOf(kind))
			throw new GatewayError('rate_limited', 'No place is free to begin at once. Try again later.');
		const entry: KeptRun = {
			...{ run: newRun(organizationId, { kind, input, deadlineMs }), dedupe, ending: new AbortController() },
			...{ dueAt: null, resume: null, deadline: undefined },
		};
		if (deadlineMs !== null)
			entry.deadline = setTimeout(() => this.#stop(entry, 'failed', DEADLINE), Math.min(deadlineMs, LONGEST_TIMER_MS));
		entry.deadline?.unref();
		this.#entries.set(entry.run.id, entry);
		setImmediate(() => this.#look());
		return entry.run;
	}

	/** Begins and resumes what is due, as far as there are places. */
	#look(): void {
		const upTo = this.#upTo?.();
		if (upTo === undefined) return;
		for (const entry of this.#entries.values()) {
			const { status, kind } = entry.run;
			if ((status !== 'queued' && status !== 'waiting') || (entry.dueAt?.getTime() ?? 0) > upTo || !this.#hasPlace(kind)) continue;
			const { resume } = entry;
			entry.resume = null;
			this.#change(entry, { status: 'running', startedAt: entry.run.startedAt ?? new Date(), attempt: 1 });
			if (resume) resume();
			else void this.#work(entry);
		}
	}

	#hasPlace(kind: string): boolean {
		const held = [...this.#entries.values()].filter(({ run }) => run.kind === kind && run.status === 'running').length;
		return held < this.#placesOf(kind);
	}

	#placesOf(kind: string): number {
		return this.#kinds.get(kind)?.places ?? PLACES;
	}

	async #work(entry: KeptRun): Promise<void> {
		try {
			const kind = this.#kinds.get(entry.run.kind);
			if (!kind) throw new Error(`There is no kind of run ${entry.run.kind}.`);
			const output = await kind.program(this.#contextOf(entry));
			this.#end(entry, { status: 'succeeded', output });
		} catch (thrown) {
			const { code, message } = thrown instanceof RunError ? thrown : ({ code: 'internal', message: String(thrown) } as const);
			this.#end(entry, { status: 'failed', error: { code, message } });
		}
	}

	#contextOf(entry: KeptRun): RunContext {
		const { run, ending } = entry;
		const { signal } = ending;
		const absent = (): never => {
			throw new Error('A job neither waits for events nor begins children.');
		};
		return {
			...{ id: run.id, organizationId: run.organizationId, attempt: 1, definition: null, input: run.input, signal },
			// A job runs to its end.
			over: new Promise<void>(() => undefined),
			left: new Promise<void>(() => undefined),
			progress: (progress) => this.#change(entry, { progress }),
			async step(_key, work) {
				signal.throwIfAborted();
				return work(signal);
			},
			sleep: async (_key, end) => {
				signal.throwIfAborted();
				if (end instanceof Date && end.getTime() > Date.now()) await this.#wait(entry, end);
			},
			...{ event: absent, child: absent, hold: () => () => undefined, former: () => null, heard: () => false },
		};
	}

	/** Leaves the place until the time has come. */
	#wait(entry: KeptRun, until: Date): Promise<void> {
		const { promise, resolve } = Promise.withResolvers<void>();
		entry.dueAt = until;
		entry.resume = resolve;
		this.#change(entry, { status: 'waiting' });
		if (!this.#isByHand) setTimeout(() => this.#look(), Math.min(until.getTime() - Date.now(), LONGEST_TIMER_MS)).unref();
		this.#settle();
		return promise;
	}

	#change(entry: KeptRun, fields: Partial<Run>): void {
		if (hasRunEnded(entry.run)) return;
		entry.run = { ...entry.run, ...fields };
		this.#changes.announce(`run:${entry.run.id}`);
	}

	#end(entry: KeptRun, fields: Partial<Run>): void {
		clearTimeout(entry.deadline);
		this.#change(entry, { ...fields, finishedAt: new Date() });
		this.#settle();
	}

	#stop(entry: KeptRun, status: 'cancelled' | 'failed', { code, message }: RunFault): boolean {
		if (hasRunEnded(entry.run)) return false;
		this.#end(entry, { status, error: { code, message } });
		entry.ending.abort(new RunError({ code, message }));
		return true;
	}

	/** A place is free. */
	#settle(): void {
		this.#settled.resolve();
		setImmediate(() => this.#look());
	}
}

function kindOf(program: Kind['program'], { places = PLACES, perAccount, perAccountUnfinished }: KindOptions = {}): Kind {
	return { program, places: Math.min(places, perAccount ?? places), unfinished: perAccountUnfinished ?? Number.POSITIVE_INFINITY };
}

function newRun(organizationId: string, { kind, input, deadlineMs }: { kind: string; input: Json; deadlineMs: number | null }): Run {
	const now = new Date();
	return {
		...{ id: randomUUID(), organizationId, kind, input, status: 'queued', trigger: 'manual', definition: null, output: null, error: null },
		...{ progress: null, attempt: 0, priority: 0, parentId: null, originId: null, schedule: null, scheduledFor: null },
		...{ deadlineAt: deadlineMs === null ? null : new Date(now.getTime() + deadlineMs), createdAt: now, startedAt: null, finishedAt: null },
	};
}
