// One run, on the sandbox thread: passes the code in, alternates with it, and reports how it ended. Whatever comes out of the sandbox is a
// text of bounded length, or nothing.

import type { QuickJSHandle } from 'quickjs-emscripten-core';
import type { Instance } from './engine/instance.ts';
import { HostCalls, type HostCallsParts } from './host-calls.ts';
import { BEFORE, cutFault, type Ending, type EngineFault, type HostAnswer, type RunTask } from './messages.ts';

const CHECK_MEMORY_BYTES = 64 * 1024 * 1024;
/** Jobs executed between two checks whether the run must end. */
const JOBS = 32;

const FILE = 'tool.js';
const wrapped = (code: string): string => `${BEFORE}${code}\n})`;
/** Text that closes the function too early compiles in only one of these. Both prefixes have one length, so that columns are the same. */
const CHECKED = [wrapped, (code: string): string => `${'({ async tool(parameters) {'.padEnd(BEFORE.length)}${code}\n} })`];

/** Compiles `code` without running any of it. */
export function checkCode({ runtime, context }: Instance, code: string, isStopped: () => boolean): Ending {
	runtime.setMemoryLimit(CHECK_MEMORY_BYTES);
	for (const wrap of CHECKED) {
		const result = context.evalCode(wrap(code), FILE, { compileOnly: true });
		if (!result.error) continue;
		if (isStopped()) return { type: 'stopped' };
		// A syntax error is the engine's own object, and is safe to read: no user code has run that could have changed its getters.
		const fault = cutFault(context.dump(result.error) as Partial<EngineFault>);
		return fault.name === 'SyntaxError' ? { type: 'threw', fault } : { type: 'broken' };
	}
	return { type: 'returned', json: 'null' };
}

export interface SandboxRunParts extends HostCallsParts {
	/** It is as it was when it started, and is used by nothing else until the run has ended. */
	instance: Instance;
	/** Returns whether the run must end. */
	isStopped(): boolean;
	/** Awaits `news` while the run has nothing to do. */
	wait(news: Promise<void>): Promise<void>;
}

export class SandboxRun {
	readonly #instance: Instance;
	readonly #hostCalls: HostCalls;
	readonly #isStopped: () => boolean;
	readonly #wait: SandboxRunParts['wait'];

	constructor({ instance, isStopped, wait, ...host }: SandboxRunParts) {
		this.#instance = instance;
		this.#isStopped = isStopped;
		this.#wait = wait;
		this.#hostCalls = new HostCalls(host);
		instance.serve = (verb, texts) => this.#hostCalls.serve(verb, texts);
	}

	get logs(): string[] {
		return this.#hostCalls.logs();
	}

	/** @throws Error of the engine, or of the host's stack: the instance must not be used any more */
	async run(task: RunTask): Promise<Ending> {
		try {
			const hasBegun = this.#begin(task);
			while (hasBegun && !this.#isOver()) await this.#takeTurn();
		} finally {
			this.#hostCalls.close();
		}
		return this.#isStopped() ? { type: 'stopped' } : (this.#hostCalls.ending ?? { type: 'broken' });
	}

	/** Delivers the answer to a request. */
	answer(id: string, answer: HostAnswer): void {
		this.#hostCalls.deliver(id, answer);
	}

	/** Wakes a waiting run, so that it sees that it must end. */
	wake(): void {
		this.#hostCalls.wake();
	}

	#isOver(): boolean {
		return this.#hostCalls.ending !== null || this.#isStopped();
	}

	/** Starts the code. @returns false if it could not even begin */
	#begin(task: RunTask): boolean {
		const { context, kernel } = this.#instance;
		if (!kernel) return false;
		const tool = this.#compile(task);
		if (!tool) return false;
		this.#hostCalls.mayRequest = task.mayRequest;
		const parameters = context.newString(task.parameters);
		const mayRequest = task.mayRequest ? context.true : context.false;
		this.#hostCalls.calls.allow(task.calls ?? null);
		const namespace = context.newString(task.calls?.namespace ?? '');
		context.callFunction(kernel.run, context.undefined, tool, parameters, mayRequest, namespace);
		return true;
	}

	/** Makes a function of the code, none of which is run. */
	#compile({ code, memoryBytes }: RunTask): QuickJSHandle | null {
		const recalled = this.#instance.recall(code);
		this.#instance.runtime.setMemoryLimit(memoryBytes);
		const tool = recalled ?? this.#instance.evaluate(wrapped(code), FILE);
		if (tool && !recalled) this.#instance.remember(code, tool);
		return tool;
	}

	/** Executes pending jobs, then delivers one due answer or timer, or waits for one. */
	async #takeTurn(): Promise<void> {
		const { runtime } = this.#instance;
		while (runtime.hasPendingJob() && !this.#isOver()) runtime.executePendingJobs(JOBS).dispose();
		if (this.#isOver()) return;
		const due = this.#hostCalls.next();
		if (due) return this.#hand(due);
		await this.#wait(this.#hostCalls.news());
	}

	#hand(due: [id: string, text: string]): void {
		const { context, kernel } = this.#instance;
		if (!kernel) return;
		const texts = due.map((text) => context.newString(text));
		context.callFunction(kernel.wake, context.undefined, texts).dispose();
		for (const handle of texts) handle.dispose();
	}
}
