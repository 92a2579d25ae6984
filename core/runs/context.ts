// The view that the program of a run has of it.

import type { Json } from '../contract/nouns.ts';
import type { NewRun, RunFault, RunFaultCode, RunStep } from '../store/store.ts';

/**
 * A program is begun anew after each wait and each loss of its process, and finds finished steps by their keys: whatever has an effect, or
 * does not always answer alike, is a step; all else may be repeated.
 */
export interface RunContext<I extends Json = Json> {
	readonly id: string;
	readonly organizationId: string;
	/** 1 at first. */
	readonly attempt: number;
	readonly definition: Json;
	readonly input: I;
	/** Aborted when the run is cancelled, past its deadline, or given back because the service stops. */
	readonly signal: AbortSignal;
	/** Resolves when the attempt is over: a program that waits then is left where it stands, and never goes on. */
	readonly over: Promise<void>;
	/** Resolves when this process is done with the attempt: what it ended with is written. */
	readonly left: Promise<void>;
	/**
	 * Runs `work`, or returns what it returned in a former attempt; an error that it threw is thrown again. With `once` a step that was begun
	 * and not seen to end is never repeated. @param key unique in the run: the node and the path of iterations to it
	 * @throws RunError `in_doubt`
	 */
	step<T extends Json>(key: string, work: (signal: AbortSignal) => Promise<T>, options?: { once?: boolean }): Promise<T>;
	/**
	 * Waits for a signal of this name, of which only the first counts. When nothing else is under way, the run leaves the process and takes
	 * neither memory nor a place there. @throws RunError `timed_out`; the signal's reason
	 */
	event<T extends Json>(name: string, options?: WaitOptions): Promise<T>;
	/** Waits for milliseconds, or until a time, in the same way. */
	sleep(key: string, end: number | Date): Promise<void>;
	/**
	 * Tells the followers of the run how far it is, in place of what it told before. Several within a quarter of a second are one; the last one
	 * always arrives. A copy is not made: the value is read when it is written.
	 */
	progress(value: Json): void;
	/** Starts a run once, and waits for it in the same way. @returns its output @throws RunError with its fault */
	child(key: string, asked: RunChild): Promise<Json>;
	/** Keeps the run in this process, whatever it waits for, until the returned function is called: for work outside of steps that takes time. */
	hold(): () => void;
	/** Returns a step that an attempt before this one began; null: there is none. */
	former(key: string): RunStep | null;
	/** Whether a signal of this name is known to have come: `event` does not wait for it. */
	heard(name: string): boolean;
}

export interface WaitOptions {
	timeoutMs?: number;
	/** Ends the wait: for a branch of the program that is given up. */
	signal?: AbortSignal;
}

export type RunProgram<I extends Json = Json> = (run: RunContext<I>) => Promise<Json>;

export interface RunChild extends Partial<Pick<NewRun, 'priority' | 'deadlineMs'>> {
	kind: string;
	definition?: Json;
	input: Json;
	/** Ends the wait, not the run. */
	signal?: AbortSignal;
	/** Hears the id of the run that is waited for. */
	started?(id: string): void;
}

/** The key of the step that keeps until when a signal is waited for, and that it did not come. */
export const waitOf = (name: string): string => `event:${name}`;

/** The fault of a run or of a step; a program that lets it pass ends with it. */
export class RunError extends Error {
	readonly fault: RunFault;

	constructor(fault: RunFault) {
		super(fault.message);
		this.name = 'RunError';
		this.fault = fault;
	}

	get code(): RunFaultCode {
		return this.fault.code;
	}
}
