// One run in a runtime of its own, on the sandbox thread: passes the code in, alternates with it, and reports how it ended. Whatever
// comes out of the sandbox is a text of bounded length, or nothing.

import type { QuickJSContext, QuickJSHandle, QuickJSRuntime, QuickJSWASMModule } from 'quickjs-emscripten-core';
import { HostCalls, type HostCallsParts } from './host-calls.ts';
import { BEFORE, cutFault, type Ending, type EngineFault, type HostAnswer, LIMITS, type RunTask } from './messages.ts';
import { prelude } from './prelude/main.ts';

/** C stack of the engine. The thread's own stack is far larger, so that the engine's limit is reached first. */
const STACK_BYTES = 512 * 1024;
const CHECK_MEMORY_BYTES = 64 * 1024 * 1024;
/** Memory limit until a run sets its own. */
const PRELUDE_MEMORY_BYTES = 8 * 1024 * 1024;
/** Jobs executed between two checks whether the run must end. */
const JOBS = 32;
/** Length of the longest text that the host accepts: a request, in JSON. */
const MAX_TEXT_CHARS = 4 * LIMITS.requestBytes;

const FILE = 'tool.js';
const wrapped = (code: string): string => `${BEFORE}${code}\n})`;
/** Text that closes the function too early compiles in only one of these. Both prefixes have one length, so that columns are the same. */
const CHECKED = [wrapped, (code: string): string => `${'({ async tool(parameters) {'.padEnd(BEFORE.length)}${code}\n} })`];
const PRELUDE = `(${prelude})`;

/** Compiles `code` without running any of it. */
export function checkCode(module: QuickJSWASMModule, code: string, isStopped: () => boolean): Ending {
	const context = newRuntime(module, { memoryBytes: CHECK_MEMORY_BYTES, isStopped }).newContext();
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

function newRuntime(module: QuickJSWASMModule, limits: { memoryBytes: number; isStopped: () => boolean }): QuickJSRuntime {
	const runtime = module.newRuntime();
	runtime.setMemoryLimit(limits.memoryBytes);
	runtime.setMaxStackSize(STACK_BYTES);
	runtime.setInterruptHandler(limits.isStopped);
	return runtime;
}

export interface SandboxRunParts {
	module: QuickJSWASMModule;
	/** Returns whether the run must end. */
	isStopped(): boolean;
	request: HostCallsParts['request'];
	progress: HostCallsParts['progress'];
	call: HostCallsParts['call'];
	/** Awaits `news` while the run has nothing to do. */
	wait(news: Promise<void>): Promise<void>;
}

export class SandboxRun {
	readonly #runtime: QuickJSRuntime;
	readonly #context: QuickJSContext;
	readonly #hostCalls: HostCalls;
	readonly #isStopped: () => boolean;
	readonly #wait: SandboxRunParts['wait'];
	readonly #held: QuickJSHandle[] = [];
	/** The object that the prelude returned; null if it failed. */
	readonly #kernel: QuickJSHandle | null;

	/** Prepares everything that does not depend on the code. @throws Error like `run` */
	constructor({ module, isStopped, request, progress, call, wait }: SandboxRunParts) {
		this.#runtime = newRuntime(module, { memoryBytes: PRELUDE_MEMORY_BYTES, isStopped });
		const context = this.#runtime.newContext();
		this.#context = context;
		this.#isStopped = isStopped;
		this.#wait = wait;
		this.#hostCalls = new HostCalls({ request, progress, call });
		const host = this.#hold(context.newFunction('host', (verb, ...texts) => this.#serve([verb, ...texts])));
		const install = this.#keep(context.evalCode(PRELUDE, 'prelude.js'));
		const indent = this.#hold(context.newNumber(BEFORE.length));
		this.#kernel = install && this.#keep(context.callFunction(install, context.undefined, host, indent));
	}

	/** Whether the prelude succeeded, so that code can be run. */
	get isReady(): boolean {
		return this.#kernel !== null;
	}

	get logs(): string[] {
		return this.#hostCalls.logs();
	}

	/** @throws Error of the engine, or of the host's stack: the instance must not be used any more */
	async run(task: RunTask): Promise<Ending> {
		try {
			const kernel = this.#begin(task);
			while (kernel && !this.#isOver()) await this.#takeTurn(kernel);
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

	/** Frees a run that is over. @throws Error if the engine finds that something of it is left */
	dispose(): void {
		for (const handle of this.#held) if (handle.alive) handle.dispose();
		this.#context.dispose();
		this.#runtime.dispose();
	}

	#isOver(): boolean {
		return this.#hostCalls.ending !== null || this.#isStopped();
	}

	/** Starts the code; null if it could not even begin. */
	#begin(task: RunTask): QuickJSHandle | null {
		const [context, kernel] = [this.#context, this.#kernel];
		this.#runtime.setMemoryLimit(task.memoryBytes);
		this.#hostCalls.mayRequest = task.mayRequest;
		const tool = kernel && this.#keep(context.evalCode(wrapped(task.code), FILE));
		if (!tool) return null;
		const run = this.#hold(context.getProp(kernel, 'run'));
		const parameters = this.#hold(context.newString(task.parameters));
		const mayRequest = task.mayRequest ? context.true : context.false;
		this.#hostCalls.calls.allow(task.calls ?? null);
		const namespace = this.#hold(context.newString(task.calls?.namespace ?? ''));
		this.#keep(context.callFunction(run, context.undefined, tool, parameters, mayRequest, namespace));
		return kernel;
	}

	/** Executes pending jobs, then delivers one due answer or timer, or waits for one. */
	async #takeTurn(kernel: QuickJSHandle): Promise<void> {
		while (this.#runtime.hasPendingJob() && !this.#isOver()) this.#runtime.executePendingJobs(JOBS).dispose();
		if (this.#isOver()) return;
		const due = this.#hostCalls.next();
		if (due) return this.#hand(kernel, due);
		await this.#wait(this.#hostCalls.news());
	}

	#hand(kernel: QuickJSHandle, due: [id: string, text: string]): void {
		const wake = this.#context.getProp(kernel, 'wake');
		const texts = due.map((text) => this.#context.newString(text));
		this.#context.callFunction(wake, this.#context.undefined, texts).dispose();
		for (const handle of [wake, ...texts]) handle.dispose();
	}

	#hold<H extends QuickJSHandle>(handle: H): H {
		this.#held.push(handle);
		return handle;
	}

	/** Keeps the value of a result; null if it is an error. */
	#keep(result: ReturnType<QuickJSContext['evalCode']>): QuickJSHandle | null {
		if (!result.error) return this.#hold(result.value);
		this.#hold(result.error);
		return null;
	}

	/** Handles a call of the host. Code inside may call it with any values. */
	#serve(given: QuickJSHandle[]): QuickJSHandle | undefined {
		const [verb = '', ...texts] = given.map((handle) => this.#read(handle));
		const answer = this.#hostCalls.serve(verb, texts);
		return answer === undefined ? undefined : this.#context.newString(answer);
	}

	/** Reads a string; empty if the value is not one, or is longer than anything valid. */
	#read(handle: QuickJSHandle): string {
		if (this.#context.typeof(handle) !== 'string') return '';
		// The length of a string is a property of its own: reading it runs no user code.
		const length = this.#context.getProp(handle, 'length').consume((own) => this.#context.getNumber(own));
		return length > MAX_TEXT_CHARS ? '' : this.#context.getString(handle);
	}
}
