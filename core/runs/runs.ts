// Runs: work that outlives a request. They are started, awaited, followed, signalled, cancelled, forked and scheduled here; `runner.ts` runs
// them.

import { invalid, notFound } from '../contract/errors.ts';
import type { Json, Log } from '../contract/nouns.ts';
import { raceWith } from '../kit/race.ts';
import type {
	ClaimedRun,
	DueSchedule,
	EndedRun,
	NewRun,
	ReadStep,
	Run,
	RunKind,
	RunQueue,
	RunSchedule,
	StepsAsked,
	Store,
} from '../store/store.ts';
import { apart } from '../telemetry/spans.ts';
import { type RunContext, waitOf } from './context.ts';
import { MAX_LOSSES } from './definitions.ts';
import { followRun, hasRunEnded, type RunPlace } from './following.ts';
import { Runner } from './runner.ts';
import { nextTime } from './schedules.ts';

type Needed = 'organizationId' | 'kind' | 'input';
export type RunAsked = Pick<NewRun, Needed> & Partial<Omit<NewRun, Needed>>;

export interface KindOptions {
	/** The number of runs of this kind at a time in each process. Default 20. */
	places?: number;
	/** The greatest number at a time of one account, over all replicas; more wait for their turn. Default: any number. */
	perAccount?: number | null;
	/** The greatest number of one account that have not ended; one more is refused. Default: any number. */
	perAccountUnfinished?: number | null;
	/** A run that lost so many processes in a row, and so may have ended them, fails as `interrupted`. Default 5. */
	maxLosses?: number;
	/** Adds a run that another one starts and waits for, together with rows of its own. Default: it has none. */
	addChild?(asked: NewRun, kind: RunKind): Promise<{ run: Run } | null>;
	/** Sets the next time of a schedule of this kind, and starts the run of this one together with rows of its own. Default: it has none. */
	fire?(due: DueSchedule, nextAt: Date | null, starts: boolean): Promise<boolean>;
	/** Hears of each run of this kind whose end this process has written, however it ended. Default: nobody does. */
	ended?(run: EndedRun): Promise<void>;
}

/** The answer of the one who added a run, which may begin here. */
type MayBegin = { claimed?: ClaimedRun | null } | null;

export interface Runs {
	/** Says how runs of a kind are run, before `open`. A replica takes only the kinds that it knows. */
	define<I extends Json>(kind: string, program: (run: RunContext<I>) => Promise<Json>, options?: KindOptions): void;
	/** Returns the kinds that are defined. */
	kinds(): string[];
	/** Begins to take runs, if any kind is defined. */
	open(): Promise<void>;
	/**
	 * Starts a run: it is durable when this resolves. With `here` it begins at once if one of the places of this process is free, and is queued
	 * otherwise. @throws not_found, rate_limited
	 */
	start(asked: RunAsked): Promise<Run>;
	/**
	 * Starts a run that `add` adds in the transaction in which it adds the rows that the run is for.
	 */
	startWith<T extends object | null>(asked: RunAsked, add: (asked: NewRun, kind: RunKind) => Promise<T & MayBegin>): Promise<T>;
	get(place: RunPlace): Promise<Run | null>;
	/** Returns the trace: the steps by the time at which they began. */
	steps(place: RunPlace, asked?: StepsAsked): Promise<ReadStep[]>;
	/** Waits for the end. @returns the run as it is after that time at the latest @throws not_found */
	wait(place: RunPlace, ms: number, signal?: AbortSignal): Promise<Run>;
	/** Waits like `wait`, and reads nothing where this process has the run. */
	untilEnded(place: RunPlace, ms: number, signal?: AbortSignal): Promise<void>;
	/** Yields the run whenever it may have changed, on whichever replica it is, until it has ended; null: it is still there. */
	follow(place: RunPlace, signal: AbortSignal): AsyncGenerator<Run | null, void>;
	/** Answers `event(name)` of a run, now or later. @returns false when it has ended, has been answered, or waits for it no longer */
	signal(place: RunPlace, name: string, payload: Json): Promise<boolean>;
	/** Cancels a run with its children. @returns false when it has ended */
	cancel(place: RunPlace, message?: string): Promise<boolean>;
	/** Starts a run anew with the steps that it finished, or with those before the step `from`. @throws not_found */
	fork(place: RunPlace, options?: { from?: string }): Promise<Run>;
	/** Adds a schedule, or changes the one with its key. @throws validation_failed */
	schedule(entry: RunSchedule): Promise<void>;
	unschedule(place: Pick<RunSchedule, 'organizationId' | 'key'>): Promise<boolean>;
	/** Lets runs end for so long, and gives the rest back for another replica to take at once. */
	close(graceMs: number): Promise<void>;
}

export interface RunsParts {
	store: Pick<Store, 'runQueue' | 'changes'>;
	log: Log;
	/** The interval at which runs are kept. */
	keepMs?: number;
}

const PLACES = 20;
const USUAL: Omit<NewRun, Needed> = {
	...{ definition: null, trigger: 'manual', priority: 0, deadlineMs: null, parentId: null, dedupe: null },
	...{ here: false, onLoss: 'resume' },
};

export function createRuns({ store, log, ...more }: RunsParts): Runs {
	const { runQueue: queue, changes } = store;
	const adders = new Map<string, NonNullable<KindOptions['addChild']>>();
	const startChild = async (asked: NewRun): Promise<Run | null> => {
		const add = adders.get(asked.kind) ?? queue.add;
		return (await add(asked, runner.kind(asked.kind)))?.run ?? null;
	};
	const firers = new Map<string, NonNullable<KindOptions['fire']>>();
	const fire: RunQueue['fire'] = (due, nextAt, starts) => apart(() => (firers.get(due.kind) ?? queue.fire)(due, nextAt, starts));
	const runner = new Runner({ queue, log, startChild, fire, ...more });
	const unsubscribe = changes.subscribe((topics) => runner.hear(topics));
	const listeners = new Map<string, NonNullable<KindOptions['ended']>>();
	const hearing = new Set<Promise<void>>();
	// Also after the close: requests that are still answered may cancel runs.
	queue.onEnd((run) => {
		const heard = (listeners.get(run.kind)?.(run) ?? Promise.resolve())
			.catch((error: unknown) => log.error({ err: error, runId: run.id }, 'the end of a run was not heard'))
			.finally(() => hearing.delete(heard));
		hearing.add(heard);
	});
	const follow = (place: RunPlace & { only?: 'ended' }, signal: AbortSignal) => followRun({ queue, changes }, place, signal);
	const startWith: Runs['startWith'] = async (asked, add) => {
		const leave = asked.here ? await runner.reserve(asked.kind) : null;
		try {
			const added = await add({ ...USUAL, ...asked, here: leave !== null }, runner.kind(asked.kind));
			if (added?.claimed) runner.begin(added.claimed);
			return added;
		} finally {
			leave?.();
		}
	};
	let closing: Promise<void> | null = null;
	return {
		define(
			kind,
			program,
			{ places = PLACES, perAccount = null, perAccountUnfinished = null, maxLosses = MAX_LOSSES, addChild, fire: own, ended } = {},
		) {
			if (addChild) adders.set(kind, addChild);
			if (own) firers.set(kind, own);
			if (ended) listeners.set(kind, ended);
			const bounds = { places, maxLosses, perAccount, perAccountUnfinished };
			// The one who starts a run of this kind gives it the input that its program expects.
			runner.define({ kind, ...bounds, program: (run) => apart(() => program(run as RunContext<never>)) });
		},
		kinds: () => runner.kinds(),
		open: () => runner.open(),
		async start(asked) {
			const added = await startWith(asked, (run, kind) => queue.add(run, kind));
			if (!added) throw notFound('Organization');
			return added.run;
		},
		startWith,
		get: ({ organizationId, id }) => queue.get(organizationId, id),
		steps: ({ organizationId, id }, asked) => queue.steps(organizationId, id, asked),
		async wait(place, ms, signal) {
			return (await last(follow({ ...place, only: 'ended' }, within(ms, signal)))) ?? found(queue, place);
		},
		async untilEnded(place, ms, signal) {
			const late = within(ms, signal);
			const hasEnded = await raceWith(late, runner.ends.of(place.id)).catch(unlessAborted(late));
			if (!hasEnded && !late.aborted) await last(follow({ ...place, only: 'ended' }, late));
		},
		follow,
		signal: ({ organizationId, id }, name, payload) => queue.signal(organizationId, id, { name, payload }, waitOf(name)),
		cancel: ({ organizationId, id }, message = 'The run was cancelled.') => queue.cancel(organizationId, id, message),
		async fork({ organizationId, id }, { from } = {}) {
			const run = await queue.fork(organizationId, id, from ?? null);
			if (!run) throw notFound(from === undefined ? 'Run' : 'Step');
			return run;
		},
		async schedule(entry) {
			const first = nextTime(entry, new Date());
			if (!first) throw invalid('/cron', 'cron must name a time that is still to come.');
			await queue.putSchedule(entry, first);
		},
		unschedule: ({ organizationId, key }) => queue.removeSchedule(organizationId, key),
		close(graceMs) {
			closing ??= runner
				.close(graceMs)
				.finally(unsubscribe)
				.finally(() => Promise.all(hearing));
			return closing;
		},
	};
}

/** Aborts after a time, or with the signal. */
function within(ms: number, signal?: AbortSignal): AbortSignal {
	// The rest of a longer time is seldom a whole number, and Node.js refuses any other.
	const late = AbortSignal.timeout(Math.ceil(ms));
	return signal ? AbortSignal.any([signal, late]) : late;
}

const unlessAborted =
	(signal: AbortSignal) =>
	(error: unknown): false => {
		if (!signal.aborted) throw error;
		return false;
	};

async function found(queue: RunQueue, { organizationId, id }: RunPlace): Promise<Run> {
	return (await queue.get(organizationId, id)) ?? Promise.reject(notFound('Run'));
}

/** Returns the end of a followed run; null when it did not end, or is not there. */
async function last(following: AsyncGenerator<Run | null, void>): Promise<Run | null> {
	for await (const run of following) if (run && hasRunEnded(run)) return run;
	return null;
}
