// One attempt at a run in this process: runs its program, records its steps by key, and ends when the program does, when there is nothing
// left but waiting, or when it is stopped.

import { setImmediate as immediate } from 'node:timers/promises';
import { asGatewayError } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import { raceWith } from '../kit/race.ts';
import type { ClaimedRun, NewRun, Run, RunHold, RunStep } from '../store/store.ts';
import { type RunChild, type RunContext, RunError, type RunProgram, type WaitOptions, waitOf } from './context.ts';
import { DEADLINE, FULL, faultOf, LOST, MAX_KEPT_CHARS, STOPPING } from './faults.ts';
import { type Keeper, persist } from './keeper.ts';
import { ProgressTeller } from './progress.ts';
import { timerAt, Waits } from './waits.ts';

/** How an attempt ended. `lost`: another process has the run, or it has ended, so there is nothing to record. */
export type Outcome =
	| { how: 'succeeded'; output: Json }
	| { how: 'failed'; error: unknown }
	| { how: 'suspended'; events: string[]; at: Date | null }
	| { how: 'stopped' }
	| { how: 'lost' };

/** A wait that is over so soon is not worth leaving the process. */
const SHORT_MS = 1_000;
/** The time after which a child is asked for again, for which the account had no room. */
const ROOM_MS = 10_000;
const KEY_LENGTH = 500;

export class Attempt {
	readonly run: Run;
	readonly hold: RunHold;
	readonly #keeper: Keeper;
	readonly #startChild: (asked: NewRun) => Promise<Run | null>;
	readonly #stop = new AbortController();
	readonly #steps: Map<string, RunStep>;
	readonly #signals: Map<string, Json>;
	readonly #waits = new Waits();
	readonly #keys = new Set<string>();
	readonly #progress: ProgressTeller;
	readonly #suspended = Promise.withResolvers<Outcome>();
	/** Resolves when the attempt is over. */
	readonly #over = Promise.withResolvers<void>();
	readonly #left = Promise.withResolvers<void>();
	/** Resolves when no step is under way, after the attempt is over. */
	readonly #idle = Promise.withResolvers<void>();
	#keptChars: number;
	#busy = 0;
	#isOver = false;

	constructor(claimed: ClaimedRun, keeper: Keeper, startChild: (asked: NewRun) => Promise<Run | null>) {
		this.run = claimed.run;
		this.hold = claimed.hold;
		this.#keeper = keeper;
		this.#startChild = startChild;
		this.#progress = new ProgressTeller((value) => keeper.progress(claimed.hold, value, this.#stop.signal));
		this.#steps = new Map(claimed.steps.map((step) => [step.key, step]));
		this.#keptChars = claimed.keptChars;
		this.#signals = new Map(claimed.signals.map(({ name, payload }) => [name, payload]));
	}

	async outcome(program: RunProgram): Promise<Outcome> {
		const outcome = await this.#outcomeOf(program);
		const failure = await this.#progress.end();
		return outcome.how === 'succeeded' && failure ? outcomeOf(failure.error) : outcome;
	}

	async #outcomeOf(program: RunProgram): Promise<Outcome> {
		const { deadlineAt } = this.run;
		if (deadlineAt && deadlineAt.getTime() <= Date.now()) return { how: 'failed', error: DEADLINE };
		const deadline = timerAt(deadlineAt, () => this.stop(DEADLINE));
		try {
			return await raceWith(this.#stop.signal, Promise.race([this.#succeed(program), this.#suspended.promise]));
		} catch (error) {
			return outcomeOf(this.#stop.signal.aborted ? this.#stop.signal.reason : error);
		} finally {
			this.#isOver = true;
			this.#over.resolve();
			clearTimeout(deadline);
			this.#waits.end();
		}
	}

	async #succeed(program: RunProgram): Promise<Outcome> {
		return { how: 'succeeded', output: (await program(this.#context())) ?? null };
	}

	/** Ends the attempt; one that is over has left its run to the next. @param reason STOPPING, LOST, DEADLINE or FULL */
	stop(reason: Error): void {
		if (!this.#isOver) this.#stop.abort(reason);
	}

	/** Tells the program that this process is done with the attempt. */
	leave(): void {
		this.#left.resolve();
	}

	/** Resolves when no step is under way any more. */
	settled(): Promise<void> {
		if (this.#busy === 0) this.#idle.resolve();
		return this.#idle.promise;
	}

	/** Reads the signals that have come meanwhile. */
	async hear(): Promise<void> {
		if (this.#waits.events.length > 0) await this.#listen();
	}

	async #listen(): Promise<void> {
		const come = await this.#working(() => this.#keeper.signals(this.hold, this.#stop.signal));
		for (const { name, payload } of come) this.#signals.set(name, payload);
		this.#waits.hear(this.#signals);
	}

	#context(): RunContext {
		const { id, organizationId, attempt, definition, input } = this.run;
		return {
			...{ id, organizationId, attempt, definition, input },
			signal: this.#stop.signal,
			over: this.#over.promise,
			left: this.#left.promise,
			step: (key, work, options) => this.#step(key, work, options),
			// The sender of a signal is trusted with its shape, as the writer of a step is.
			event: <T extends Json>(name: string, options?: WaitOptions) => this.#event(name, options) as Promise<T>,
			sleep: (key, end) => this.#sleep(key, end),
			child: (key, asked) => this.#child(key, asked),
			progress: (value) => this.#progress.tell(value),
			hold: () => this.#hold(),
			former: (key) => this.#steps.get(key) ?? null,
			heard: (name) => this.#signals.has(name),
		};
	}

	async #step<T extends Json>(key: string, work: (signal: AbortSignal) => Promise<T>, { once = false } = {}): Promise<T> {
		this.#claimKey(key);
		const known = this.#steps.get(key);
		// The step of this key returned a T when it was recorded.
		if (known?.status === 'done') return known.output as T;
		if (known?.error) throw new RunError(known.error);
		if (known?.once) throw new RunError({ code: 'in_doubt', message: `Step ${key} was begun and not seen to end: it is not repeated.` });
		return this.#working(async () => {
			const { signal } = this.#stop;
			if (once) await this.#keeper.begin(this.hold, { key, once, until: null }, signal);
			const startedMs = performance.now();
			const record = (result: Pick<RunStep, 'output' | 'error'>): Promise<void> => {
				const status = result.error ? 'failed' : 'done';
				const durationMs = performance.now() - startedMs;
				return this.#keeper.finish(this.hold, { key, once, status, ...result, until: null, durationMs }, signal);
			};
			// A result is recorded even when the service has begun to stop; an error may come from that, so it is not.
			const output = await work(signal).catch(async (error: unknown) => {
				signal.throwIfAborted();
				await record({ output: null, error: faultOf(error) });
				throw error;
			});
			if (!this.#hasRoom(output)) {
				await record({ output: null, error: faultOf(FULL) });
				this.stop(FULL);
				throw FULL;
			}
			await record({ output: output ?? null, error: null });
			return output;
		});
	}

	/** Counts an output that is about to be kept. @returns false when the steps would keep too much with it */
	#hasRoom(output: Json | undefined): boolean {
		// The outputs of agents are sealed, and so texts.
		const chars = typeof output === 'string' ? output.length : JSON.stringify(output ?? null).length;
		if (this.#keptChars + chars > MAX_KEPT_CHARS) return false;
		this.#keptChars += chars;
		return true;
	}

	async #event(name: string, { timeoutMs, signal }: WaitOptions = {}): Promise<Json> {
		const key = waitOf(name);
		this.#claimKey(key);
		const known = this.#steps.get(key);
		if (known?.error) throw new RunError(known.error);
		if (!this.#signals.has(name)) await this.#listen();
		const until = timeoutMs === undefined ? null : await this.#until(key, timeoutMs);
		while (!this.#signals.has(name)) {
			signal?.throwIfAborted();
			if (until && until.getTime() <= Date.now()) await this.#late(key, name);
			else await this.#wait(name, until, signal);
		}
		return this.#signals.get(name) ?? null;
	}

	/** Records that no signal came, so that a later attempt finds none that is too late; one that has come until then counts. */
	async #late(key: string, name: string): Promise<void> {
		const error = { code: 'timed_out' as const, message: 'No answer came in time.' };
		const step = { key, once: false, status: 'failed' as const, output: null, error, until: null, durationMs: 0 };
		if (await this.#working(() => this.#keeper.late(this.hold, name, step, this.#stop.signal))) throw new RunError(error);
		await this.#listen();
	}

	async #sleep(key: string, end: number | Date): Promise<void> {
		this.#claimKey(key);
		const until = await this.#until(key, end);
		while (until.getTime() > Date.now()) await this.#wait(null, until);
	}

	/** Returns the end of a wait, recorded when it first began. */
	async #until(key: string, end: number | Date): Promise<Date> {
		const known = this.#steps.get(key)?.until;
		if (known) return known;
		const until = typeof end === 'number' ? new Date(Date.now() + end) : end;
		await this.#working(() => this.#keeper.begin(this.hold, { key, once: false, until }, this.#stop.signal));
		return until;
	}

	async #child(
		key: string,
		{ kind, definition = null, input, priority = this.run.priority, deadlineMs = null, ...more }: RunChild,
	): Promise<Json> {
		this.#claimKey(`start:${key}`);
		const { id, organizationId, trigger } = this.run;
		const asked = { organizationId, kind, definition, input, trigger, priority, deadlineMs };
		const around = { parentId: id, dedupe: `child:${id}:${key}`, here: false, onLoss: 'resume' as const };
		// One that was started although nobody heard of it is found by its `dedupe`.
		const child = await this.#childOf({ ...asked, ...around }, more.signal);
		more.started?.(child.id);
		// The one who ends a run sends its end in this shape.
		const end = (await this.#event(`child:${child.id}`, { ...(more.signal && { signal: more.signal }) })) as Pick<Run, 'output' | 'error'>;
		if (end.error) throw new RunError(end.error);
		return end.output;
	}

	/** Starts a run as soon as its account has room for one more of the kind, which the others of the kind make without this one. */
	async #childOf(asked: NewRun, signal: AbortSignal | undefined): Promise<Run> {
		for (;;) {
			signal?.throwIfAborted();
			try {
				const child = await this.#working(() => persist(this.#stop.signal, () => this.#startChild(asked)));
				if (!child) throw LOST;
				return child;
			} catch (error) {
				if (asGatewayError(error)?.code !== 'rate_limited') throw error;
				await this.#wait(null, new Date(Date.now() + ROOM_MS), signal);
			}
		}
	}

	#claimKey(key: string): void {
		if (key.length > KEY_LENGTH) throw new Error(`The key of a step has at most ${KEY_LENGTH} characters.`);
		if (this.#keys.has(key)) throw new Error(`Two steps of the run have the key ${key}.`);
		this.#keys.add(key);
	}

	#hold(): () => void {
		const { promise: left, resolve: leave } = Promise.withResolvers<void>();
		// The end of an attempt is heard at the next step.
		void this.#working(() => left).catch(() => undefined);
		return leave;
	}

	/** Runs a part of the program during which the run does not leave the process. */
	async #working<T>(work: () => Promise<T>): Promise<T> {
		// A program that goes on after its attempt has ended is left where it stands.
		if (this.#isOver) return new Promise<never>(() => {});
		this.#stop.signal.throwIfAborted();
		this.#busy++;
		try {
			return await work();
		} finally {
			this.#busy--;
			if (this.#busy === 0 && this.#isOver) this.#idle.resolve();
			void this.#leaveIfIdle();
		}
	}

	/** Waits until the signal may be there, or the time over; the process is left when nothing else is under way. */
	#wait(event: string | null, until: Date | null, signal?: AbortSignal): Promise<void> {
		const waiting = this.#waits.wait(event, until, signal);
		void this.#leaveIfIdle();
		return waiting;
	}

	/** Leaves the process when all that the program does is waiting; the next step of another branch begins before the check. */
	async #leaveIfIdle(): Promise<void> {
		await immediate();
		if (this.#busy > 0 || this.#waits.size === 0 || this.#isOver) return;
		const { next, events } = this.#waits;
		if (next !== null && next - Date.now() < SHORT_MS) return;
		const { deadlineAt } = this.run;
		const at = Math.min(next ?? Number.POSITIVE_INFINITY, deadlineAt?.getTime() ?? Number.POSITIVE_INFINITY);
		this.#suspended.resolve({ how: 'suspended', events, at: Number.isFinite(at) ? new Date(at) : null });
	}
}

function outcomeOf(reason: unknown): Outcome {
	if (reason === LOST) return { how: 'lost' };
	if (reason === STOPPING) return { how: 'stopped' };
	return { how: 'failed', error: reason };
}
