// Code that a client sends, run where it reaches nothing but what it is lent. Types only.

import type { Call } from './context.ts';
import type { Json, ToolResult } from './nouns.ts';

/** Code to run, and its bounds. What ends a run for one of them is said in its result. */
export interface SandboxTask {
	/** The language of the code, such as `javascript`. */
	language: string;
	/** The code, as the executor of the language takes it: for `javascript` the body of an async function. */
	code: string;
	/** The name of an object whose members are functions of one argument: `tools.find({ id: 1 })` asks for `answer('find', { id: 1 })`. */
	namespace: string;
	/**
	 * Answers one of those calls. A GatewayError that it throws is thrown in the code, with its message.
	 * @param signal aborts when the run is over
	 */
	answer(name: string, argument: Json, signal: AbortSignal): Promise<Json>;
	/** The most calls of the run. Those that do not fit beside others wait for them. */
	maxCalls: number;
	parallelCalls: number;
	/** Milliseconds for the whole run, its calls included. */
	timeoutMs: number;
	memoryMb: number;
}

/** The sandbox of an executor, which it lends to all plugins. */
export interface Sandbox<O = unknown> {
	/** The language that it runs. */
	language: string;
	/**
	 * Runs code. A fault of the code is a result with `isError` that names its line.
	 * @param organizationId for which the code runs: nothing of one organization's run is left for another's
	 * @throws rate_limited when too much runs already; the reason of `call.signal`, when it aborts
	 */
	run(task: SandboxTask, call: Call<O>, organizationId: string): Promise<ToolResult>;
}
