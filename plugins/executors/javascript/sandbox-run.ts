// One run in a runtime of its own, from the thread's side: hands the code in, takes turns with it, and tells how it ended. Whatever
// comes out of the sandbox is a text of bounded length, or nothing.

import type { QuickJSContext, QuickJSHandle, QuickJSRuntime, QuickJSWASMModule } from 'quickjs-emscripten-core';
import { Desk, type DeskParts } from './host-calls.ts';
import { BEFORE, cutFault, type Ending, type EngineFault, type HostAnswer, LIMITS, type RunTask } from './messages.ts';
import { prelude } from './prelude.ts';

/** Of C, as the engine counts it. The thread's own stack is far larger, so that the engine is the first to say no. */
const STACK_BYTES = 512 * 1024;
const CHECK_MEMORY_BYTES = 64 * 1024 * 1024;
/** Until the run that comes says how much it may have. */
const PRELUDE_MEMORY_BYTES = 8 * 1024 * 1024;
/** Between two looks at whether the run must end. */
const JOBS = 32;
/** The longest that anything said to the host can be: a request, in JSON. */
const MAX_TEXT_CHARS = 4 * LIMITS.requestBytes;

const FILE = 'tool.js';
const wrapped = (code: string): string => `${BEFORE}${code}\n})`;
/** Text that closes the function too early compiles in one of these only. Both begin alike, so that columns mean the same. */
const CHECKED = [wrapped, (code: string): string => `${'({ async tool(parameters) {'.padEnd(BEFORE.length)}${code}\n} })`];
const PRELUDE = `(${prelude})`;

/** Whether `code` compiles; nothing of it is run. */
export function checkCode(module: QuickJSWASMModule, code: string, isStopped: () => boolean): Ending {
	const context = newRuntime(module, { memoryBytes: CHECK_MEMORY_BYTES, isStopped }).newContext();
	for (const wrap of CHECKED) {
		const result = context.evalCode(wrap(code), FILE, { compileOnly: true });
		if (!result.error) continue;
		if (isStopped()) return { type: 'stopped' };
		// A syntax error is the engine's own object: nothing of the user's has run that could have changed what reading it does.
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

export interface GuestParts {
	module: QuickJSWASMModule;
	/** Whether the run must end. */
	isStopped(): boolean;
	request: DeskParts['request'];
	/** Awaits `news` while the run has nothing to do. */
	wait(news: Promise<void>): Promise<void>;
}

export class Guest {
	readonly #runtime: QuickJSRuntime;
	readonly #context: QuickJSContext;
	readonly #desk: Desk;
	readonly #isStopped: () => boolean;
	readonly #wait: GuestParts['wait'];
	readonly #held: QuickJSHandle[] = [];
	/** What the prelude gave; null when it failed. */
	readonly #kernel: QuickJSHandle | null;

	/** All that can be done before it is known what is to be run. @throws Error as `run` does */
	constructor({ module, isStopped, request, wait }: GuestParts) {
		this.#runtime = newRuntime(module, { memoryBytes: PRELUDE_MEMORY_BYTES, isStopped });
		const context = this.#runtime.newContext();
		this.#context = context;
		this.#isStopped = isStopped;
		this.#wait = wait;
		this.#desk = new Desk({ request });
		const host = this.#hold(context.newFunction('host', (verb, ...texts) => this.#serve([verb, ...texts])));
		const install = this.#keep(context.evalCode(PRELUDE, 'prelude.js'));
		const indent = this.#hold(context.newNumber(BEFORE.length));
		this.#kernel = install && this.#keep(context.callFunction(install, context.undefined, host, indent));
	}

	/** Whether it can run anything. */
	get isReady(): boolean {
		return this.#kernel !== null;
	}

	get logs(): string[] {
		return this.#desk.logs();
	}

	/** @throws Error of the engine's, or of the host's stack: the instance must not be used any more */
	async run(task: RunTask): Promise<Ending> {
		try {
			const kernel = this.#begin(task);
			while (kernel && !this.#isOver()) await this.#takeTurn(kernel);
		} finally {
			this.#desk.close();
		}
		return this.#isStopped() ? { type: 'stopped' } : (this.#desk.ending ?? { type: 'broken' });
	}

	/** The answer to a request. */
	answer(id: string, answer: HostAnswer): void {
		this.#desk.deliver(id, answer);
	}

	/** So that a run that waits sees that it must end. */
	wake(): void {
		this.#desk.wake();
	}

	/** Of a run that is over. @throws Error when the engine finds that something of it is left */
	dispose(): void {
		for (const handle of this.#held) if (handle.alive) handle.dispose();
		this.#context.dispose();
		this.#runtime.dispose();
	}

	#isOver(): boolean {
		return this.#desk.ending !== null || this.#isStopped();
	}

	/** Null when the code did not even begin. */
	#begin(task: RunTask): QuickJSHandle | null {
		const [context, kernel] = [this.#context, this.#kernel];
		this.#runtime.setMemoryLimit(task.memoryBytes);
		this.#desk.mayRequest = task.mayRequest;
		const tool = kernel && this.#keep(context.evalCode(wrapped(task.code), FILE));
		if (!tool) return null;
		const run = this.#hold(context.getProp(kernel, 'run'));
		const parameters = this.#hold(context.newString(task.parameters));
		const mayRequest = task.mayRequest ? context.true : context.false;
		this.#keep(context.callFunction(run, context.undefined, tool, parameters, mayRequest));
		return kernel;
	}

	/** Until nothing is left to do for now; then what comes next is waited for. */
	async #takeTurn(kernel: QuickJSHandle): Promise<void> {
		while (this.#runtime.hasPendingJob() && !this.#isOver()) this.#runtime.executePendingJobs(JOBS).dispose();
		if (this.#isOver()) return;
		const due = this.#desk.next();
		if (due) return this.#hand(kernel, due);
		await this.#wait(this.#desk.news());
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

	/** Null when it failed. */
	#keep(result: ReturnType<QuickJSContext['evalCode']>): QuickJSHandle | null {
		if (!result.error) return this.#hold(result.value);
		this.#hold(result.error);
		return null;
	}

	/** What the code asks of the host. It may be called with anything, by anybody inside. */
	#serve(given: QuickJSHandle[]): QuickJSHandle | undefined {
		const [verb = '', ...texts] = given.map((handle) => this.#read(handle));
		const answer = this.#desk.serve(verb, texts);
		return answer === undefined ? undefined : this.#context.newString(answer);
	}

	/** Empty for what is no string, or is too long for anything. */
	#read(handle: QuickJSHandle): string {
		if (this.#context.typeof(handle) !== 'string') return '';
		// A string's length is its own: no code of the user's runs.
		const length = this.#context.getProp(handle, 'length').consume((own) => this.#context.getNumber(own));
		return length > MAX_TEXT_CHARS ? '' : this.#context.getString(handle);
	}
}
