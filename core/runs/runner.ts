// Runs the kinds that this process knows: one loop takes what is due, woken by announcements, by the next time that is due, and every few
// seconds in case an announcement was lost. A process that knows no kind does nothing at all.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Json, Log } from '../contract/nouns.ts';
import type { ClaimedRun, NewRun, Run, RunKind, RunLook, RunQueue, Topic } from '../store/store.ts';
import { Attempt, type Outcome } from './attempt.ts';
import { type Definition, Definitions } from './definitions.ts';
import { Ends } from './ends.ts';
import { faultOf, INTERRUPTED, isOfDatabase, isUnexpected, LOST, pluginOf, STOPPING } from './faults.ts';
import { Keeper } from './keeper.ts';
import { Places } from './places.ts';
import { Firing } from './schedules.ts';

export interface RunnerParts {
	queue: RunQueue;
	log: Log;
	startChild(asked: NewRun): Promise<Run | null>;
	/** Sets the next time of a schedule, and starts the run of this one. */
	fire: RunQueue['fire'];
	/** The interval at which runs are kept, and which finds those that were lost. Default 3,000. */
	keepMs?: number;
}

const KEEP_MS = 3_000;
/** The interval of looks without an announcement; runs of dead processes are searched as often while any runs. */
const LOOK_MS = 2_000;
/** The least time between two looks that were planned. */
const MERGE_MS = 20;
/** The time in which steps that were told to stop may still record their results. */
const LAST_STEPS_MS = 1_000;

export class Runner {
	readonly #parts: Required<RunnerParts>;
	readonly #keeper: Keeper;
	readonly #kinds = new Definitions();
	readonly #held = new Map<string, Attempt>();
	readonly ends = new Ends();
	readonly #running = new Set<Promise<void>>();
	readonly #places = new Places((kind) => this.#heldOf(kind));
	readonly #announced = new Set<string>();
	/** The kinds of which more may be due than there was room for. */
	readonly #crowded = new Set<string>();
	readonly #closing = new AbortController();
	readonly #firing: Firing;
	#timers: NodeJS.Timeout[] = [];
	#next: NodeJS.Timeout | undefined;
	#looking: Promise<void> | null = null;
	#isLookDue = false;
	#supervisedMs = Number.NEGATIVE_INFINITY;

	constructor(parts: RunnerParts) {
		this.#parts = { keepMs: KEEP_MS, ...parts };
		this.#keeper = new Keeper(parts.queue);
		const { queue, fire, log } = parts;
		this.#firing = new Firing({ dueSchedules: queue.dueSchedules, fire }, { log, signal: this.#closing.signal });
	}

	define(definition: Definition): void {
		this.#kinds.add(definition);
	}

	kinds(): string[] {
		return this.#kinds.names();
	}

	kind(kind: string): RunKind {
		return this.#kinds.kind(kind);
	}

	/** Begins to take runs. */
	async open(): Promise<void> {
		if (this.#kinds.size === 0) return;
		this.#kinds.close();
		await this.#parts.queue.open(this.#kinds.names());
		this.#timers = [setInterval(() => this.look(), LOOK_MS).unref(), setInterval(() => void this.#keep(), this.#parts.keepMs).unref()];
		this.look();
	}

	/** @param topics announcements of changes, made on any replica */
	hear(topics: readonly Topic[]): void {
		for (const topic of topics) {
			const [subject, what = '', rest = ''] = topic.split(':');
			if (topic === '*') this.look();
			if (subject !== 'run') continue;
			// It was cancelled; for a run that ended here, this comes too late.
			if (what === 'ended') this.#held.get(rest)?.stop(LOST);
			if (what === 'signalled')
				void this.#held
					.get(rest)
					?.hear()
					.catch(() => this.look());
			if (what === 'queued') this.#announce(rest);
		}
	}

	/** Begins a run that was taken. */
	begin(claimed: ClaimedRun): void {
		const attempt = new Attempt(claimed, this.#keeper, this.#parts.startChild);
		const { id } = claimed.run;
		// A process that was slow may be the one that takes over its own run.
		this.#held.get(id)?.stop(LOST);
		this.#held.set(id, attempt);
		const tell = this.ends.begin(id);
		const running = this.#hold(attempt, claimed.resumable, tell)
			.catch((error: unknown) => this.#parts.log.error({ err: error, runId: id }, 'the end of a run could not be recorded'))
			.finally(() => {
				if (this.#held.get(id) === attempt) this.#held.delete(id);
				tell(false);
				attempt.leave();
				this.#running.delete(running);
				this.#refill(claimed.run.kind);
			});
		this.#running.add(running);
		if (this.#closing.signal.aborted) attempt.stop(STOPPING);
	}

	/** Reserves a place for a run that is about to begin here; null: none is free. @returns how to leave it, once the run has begun or failed to */
	async reserve(kind: string): Promise<(() => void) | null> {
		const definition = this.#kinds.get(kind);
		const place = definition && !this.#closing.signal.aborted ? await this.#places.one(definition) : null;
		if (!place) return null;
		return () => {
			place.leave();
			this.#refill(kind);
		};
	}

	/** Looks for anything that is due. */
	look(): void {
		this.#isLookDue = true;
		this.#wake();
	}

	/** Takes no more runs, waits so long for those that it has, and gives the rest back. */
	async close(graceMs: number): Promise<void> {
		this.#closing.abort(STOPPING);
		for (const timer of this.#timers) clearInterval(timer);
		clearTimeout(this.#next);
		await this.#looking;
		await this.#firing.settled();
		await this.#within(graceMs);
		for (const attempt of this.#held.values()) attempt.stop(STOPPING);
		await Promise.all(this.#running);
	}

	/** Waits for the running attempts, keeping them meanwhile. */
	async #within(ms: number): Promise<void> {
		if (this.#running.size === 0 || ms === 0) return;
		const keeping = setInterval(() => void this.#keep(), this.#parts.keepMs);
		const late = new AbortController();
		await Promise.race([Promise.all(this.#running), sleep(ms, undefined, { signal: late.signal }).catch(() => undefined)]);
		late.abort();
		clearInterval(keeping);
	}

	#announce(kind: string): void {
		if (!this.#kinds.has(kind)) return;
		this.#announced.add(kind);
		this.#wake();
	}

	/** Takes what there was no room for. */
	#refill(kind: string): void {
		if (this.#crowded.delete(kind)) this.#announce(kind);
	}

	#wake(): void {
		if (this.#timers.length === 0 || this.#closing.signal.aborted) return;
		this.#looking ??= this.#work().finally(() => {
			this.#looking = null;
		});
	}

	/** Takes what was announced, until nothing new was announced meanwhile. */
	async #work(): Promise<void> {
		while ((this.#isLookDue || this.#announced.size > 0) && !this.#closing.signal.aborted) {
			const kinds = [...this.#announced];
			this.#announced.clear();
			try {
				await Promise.all(kinds.map((kind) => this.#take(kind)));
				if (this.#isLookDue) await this.#lookOnce();
			} catch (error) {
				if (!isOfDatabase(error)) this.#parts.log.warn({ err: error }, 'runs could not be looked up');
				return;
			}
		}
	}

	async #lookOnce(): Promise<void> {
		this.#isLookDue = false;
		const { queue } = this.#parts;
		const kinds = this.#kinds.names();
		const look = await queue.look(kinds);
		if (look.nextInMs === 0) this.#firing.begin(kinds);
		if (look.kinds.some(({ due, running }) => due + running > 0)) await this.#supervise();
		for (const found of look.kinds) {
			const definition = this.#kinds.get(found.kind);
			if (definition && found.parked > 0) await queue.admit(definition);
			// Runs that somebody else runs may have lost their process.
			if (found.due > 0 || found.running > this.#heldOf(found.kind)) this.#announced.add(found.kind);
		}
		this.#plan(look);
	}

	/** Announcements may come often; the search for dead processes need not. */
	async #supervise(): Promise<void> {
		const now = performance.now();
		if (now - this.#supervisedMs < LOOK_MS / 2) return;
		this.#supervisedMs = now;
		await this.#parts.queue.supervise();
	}

	#heldOf(kind: string): number {
		return [...this.#held.values()].filter(({ run }) => run.kind === kind).length;
	}

	/** Takes as many runs of a kind as there is room for. */
	async #take(kind: string): Promise<void> {
		const definition = this.#kinds.get(kind);
		for (let isMore = true; definition && isMore && !this.#closing.signal.aborted; ) {
			const filling = this.#places.fill(definition, async (count) => {
				const found = await this.#parts.queue.claim(definition, count);
				for (const run of found.runs) this.begin(run);
				return found.isMore;
			});
			if (!filling) return void this.#crowded.add(kind);
			isMore = await filling;
		}
	}

	/** Sets the timer of the next time that is due before the next look. */
	#plan({ nextInMs }: RunLook): void {
		clearTimeout(this.#next);
		if (nextInMs !== null && nextInMs > 0 && nextInMs < LOOK_MS)
			this.#next = setTimeout(() => this.look(), Math.max(MERGE_MS, Math.ceil(nextInMs) + 1)).unref();
	}

	async #hold(attempt: Attempt, resumable: boolean, tell: (hasEnded: boolean) => void): Promise<void> {
		const definition = this.#kinds.get(attempt.run.kind);
		const program = definition?.program ?? (() => Promise.reject(new Error(`runs: the kind ${attempt.run.kind} is not defined here`)));
		const outcome: Outcome = resumable ? await attempt.outcome(program) : { how: 'failed', error: null };
		const ended = await this.#record(attempt, outcome, resumable);
		tell(ended !== false);
		const mayOthersWait = ended === false || ended.areOthersWaiting;
		if (!definition || definition.perAccount === null || !mayOthersWait) return;
		// If this fails, the next look admits those that wait.
		await this.#parts.queue.admit(definition).catch((error: unknown) => this.#parts.log.debug({ err: error }, 'no run was admitted'));
	}

	/** @returns false unless the run has ended */
	async #record(attempt: Attempt, outcome: Outcome, resumable: boolean): ReturnType<RunQueue['end']> {
		const { hold } = attempt;
		const { signal } = this.#closing;
		switch (outcome.how) {
			case 'succeeded':
				return this.#succeed(attempt, outcome.output);
			case 'failed':
				if (resumable && isUnexpected(outcome.error))
					this.#parts.log.error({ ...pluginOf(outcome.error), err: outcome.error, runId: hold.id }, 'a run failed unexpectedly');
				return this.#keeper.end(hold, { status: 'failed', error: resumable ? faultOf(outcome.error) : INTERRUPTED }, signal);
			case 'suspended':
				await this.#keeper.suspend(hold, { events: outcome.events, at: outcome.at }, signal);
				break;
			case 'stopped':
				await Promise.race([attempt.settled(), sleep(LAST_STEPS_MS, undefined, { ref: false })]);
				await this.#parts.queue.release(hold, INTERRUPTED);
				break;
			case 'lost':
		}
		return false;
	}

	/** Ends a run; one whose output cannot be written fails, since it would be begun again and again. */
	async #succeed({ hold }: Attempt, output: Json): ReturnType<RunQueue['end']> {
		const { signal } = this.#closing;
		try {
			return await this.#keeper.end(hold, { status: 'succeeded', output }, signal);
		} catch (error) {
			if (isOfDatabase(error)) throw error;
			this.#parts.log.error({ err: error, runId: hold.id }, 'the output of a run could not be written');
			return this.#keeper.end(hold, { status: 'failed', error: faultOf(error) }, signal);
		}
	}

	/** Keeps the runs of this process, and stops those that it has lost. */
	async #keep(): Promise<void> {
		const held = [...this.#held.values()];
		if (held.length === 0) return;
		try {
			const kept = await this.#parts.queue.keep(held.map(({ hold }) => hold));
			for (const attempt of held) if (!kept.has(attempt.run.id)) attempt.stop(LOST);
		} catch (error) {
			this.#parts.log.debug({ err: error }, 'runs could not be kept');
		}
	}
}
