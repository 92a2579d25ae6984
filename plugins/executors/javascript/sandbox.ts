// A sandbox's thread: QuickJS in WebAssembly, one run at a time, each in a runtime of its own. It knows no environment, no secret
// and no tenant but the one that it works for, and it may be killed at any time.

import { parentPort, workerData } from 'node:worker_threads';
import baseVariant from '@jitl/quickjs-wasmfile-release-sync';
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSSyncVariant, type QuickJSWASMModule } from 'quickjs-emscripten-core';
import { Brake } from './brake.ts';
import type { CheckTask, Ending, FromThread, Progress, RunTask, SandboxRequest, ThreadData, ToThread } from './messages.ts';
import { checkCode, SandboxRun } from './sandbox-run.ts';

const PAGE_BYTES = 64 * 1024;
const INITIAL_PAGES = 256;
/** Twice the memory that a run may hold, since the engine's heap is fragmented. */
const MAX_PAGES = (256 * 1024 * 1024) / PAGE_BYTES;
/** An instance whose memory grew beyond this is dropped: WebAssembly memory never shrinks. */
const KEPT_PAGES = (32 * 1024 * 1024) / PAGE_BYTES;
/** A shorter wait is not reported, so that each run sends at most fifty such messages a second to the main thread. */
const WAITING_MS = 20;

if (!parentPort) throw new Error('The sandbox runs as a worker thread only.');
const port = parentPort;
const send = (message: FromThread): void => port.postMessage(message);

// The cast holds: `Thread` passes this shape.
const { module: compiled, control } = workerData as ThreadData;
const brake = new Brake(control);
const isStopped = (): boolean => brake.isStopped();

interface Instance {
	module: QuickJSWASMModule;
	memory: WebAssembly.Memory;
}

/** An instance for the next run of the same organization. */
interface Kept extends Instance {
	organization: string;
	/** Prepared while nobody waits for it. */
	sandboxRun: SandboxRun;
}

let kept: Kept | null = null;
let current: SandboxRun | null = null;

async function newInstance(): Promise<Instance> {
	const memory = newMemory();
	// The package's types describe its CommonJS build, in which the variant is nested in one more `default`.
	const base = baseVariant as unknown as QuickJSSyncVariant;
	const variant = newVariant(base, { wasmModule: compiled, wasmMemory: memory });
	return { module: await newQuickJSWASMModuleFromVariant(variant), memory };
}

/**
 * Makes memory that grows at most twice: to the size that is kept, and to the maximum, of which the system provides only pages that are
 * written to. After each growth V8 collects garbage, on threads that are not niced; the engine would grow ten times, by a fifth each.
 */
function newMemory(): WebAssembly.Memory {
	const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAX_PAGES });
	const grow = memory.grow.bind(memory);
	memory.grow = (delta) => {
		const pages = memory.buffer.byteLength / PAGE_BYTES;
		const wanted = pages + delta <= KEPT_PAGES ? KEPT_PAGES : MAX_PAGES;
		return grow(Math.max(delta, wanted - pages));
	};
	return memory;
}

async function run(task: RunTask): Promise<void> {
	brake.begin();
	const former = kept?.organization === task.organization ? kept : null;
	kept = null;
	const instance = former ?? (await newInstance());
	const sandboxRun = former?.sandboxRun ?? newSandboxRun(instance);
	current = sandboxRun;
	const ending = await sandboxRun.run(task);
	current = null;
	// A run that ended otherwise may have left anything behind, so its instance is dropped.
	const isHeavy = instance.memory.buffer.byteLength > KEPT_PAGES * PAGE_BYTES;
	const isClean = !isHeavy && (ending.type === 'returned' || ending.type === 'threw');
	const isUnsound = isClean && !disposes(sandboxRun);
	send({ type: 'ended', ending, logs: sandboxRun.logs, isUnsound, isHeavy, computedMs: brake.computedMs() });
	if (isClean && !isUnsound) keep(instance, task.organization);
}

const newSandboxRun = ({ module }: Instance): SandboxRun => new SandboxRun({ module, isStopped, request, progress, call, wait });

/** Prepares the next run, while nobody waits for it; if that fails, the next run begins with a new instance. */
function keep(instance: Instance, organization: string): void {
	try {
		const sandboxRun = newSandboxRun(instance);
		if (sandboxRun.isReady) kept = { ...instance, organization, sandboxRun };
	} catch {
		// The instance is not used again.
	}
}

/** Returns false if the engine found that something of the run was left. */
function disposes(sandboxRun: SandboxRun): boolean {
	try {
		sandboxRun.dispose();
		return true;
	} catch {
		// An assertion of the engine failed, so its memory cannot be trusted any more.
		return false;
	}
}

function request(id: string, asked: SandboxRequest): void {
	send({ type: 'request', id, request: asked });
}

function progress(told: Progress): void {
	send({ type: 'progress', progress: told });
}

function call(id: string, name: string, argument: string): void {
	send({ type: 'call', id, name, argument });
}

async function wait(news: Promise<void>): Promise<void> {
	let isTold = false;
	const timer = setTimeout(() => {
		isTold = true;
		send({ type: 'waiting', isWaiting: true });
	}, WAITING_MS);
	await news;
	clearTimeout(timer);
	if (isTold) send({ type: 'waiting', isWaiting: false });
}

async function check({ code }: CheckTask): Promise<void> {
	brake.begin();
	const { module } = await newInstance();
	const ending = checkCode(module, code, isStopped);
	send({ type: 'ended', ending, logs: [], isUnsound: false, isHeavy: false, computedMs: brake.computedMs() });
}

/** Ends a run whose engine failed; its thread is not used again. */
function giveUp(): void {
	const logs = current?.logs ?? [];
	const ending: Ending = isStopped() ? { type: 'stopped' } : { type: 'broken' };
	current = null;
	send({ type: 'ended', ending, logs, isUnsound: true, isHeavy: false, computedMs: brake.computedMs() });
}

port.on('message', (message: ToThread) => {
	if (message.type === 'run') run(message.task).catch(giveUp);
	else if (message.type === 'check') check(message.task).catch(giveUp);
	else if (message.type === 'answer') current?.answer(message.id, message.answer);
	else current?.wake();
});

send({ type: 'ready' });
