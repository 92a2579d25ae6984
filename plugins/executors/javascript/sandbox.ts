// A sandbox's thread: QuickJS in WebAssembly, one run at a time, each in a runtime of its own. It knows no environment, no secret
// and no tenant but the one that it works for, and it may be killed at any time.

import { parentPort, workerData } from 'node:worker_threads';
import baseVariant from '@jitl/quickjs-wasmfile-release-sync';
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSSyncVariant, type QuickJSWASMModule } from 'quickjs-emscripten-core';
import { checkCode, Guest } from './guest.ts';
import type { Ending, FromThread, GuestRequest, RunTask, ThreadData, ToThread } from './messages.ts';

const PAGE_BYTES = 64 * 1024;
const INITIAL_PAGES = 256;
/** Twice what a run may hold, since the engine's heap has gaps. */
const MAX_PAGES = (256 * 1024 * 1024) / PAGE_BYTES;
/** An instance whose memory grew beyond it is given up: WebAssembly gives nothing back. */
const KEPT_PAGES = (32 * 1024 * 1024) / PAGE_BYTES;

if (!parentPort) throw new Error('The sandbox runs as a worker thread only.');
const port = parentPort;
const send = (message: FromThread): void => port.postMessage(message);

// The pool made it of this shape.
const { module: compiled, stop } = workerData as ThreadData;
const stopped = new Int32Array(stop);
/** What computes steps aside once a millisecond, or the main thread would wait for the end of its slice of time. */
const [BUSY_MS, PAUSE_MS] = [1, 0.1];
let pausedAt = performance.now();

/** The engine asks every ten thousand steps. */
function isStopped(): boolean {
	if (performance.now() - pausedAt > BUSY_MS) {
		Atomics.wait(stopped, 0, 0, PAUSE_MS);
		pausedAt = performance.now();
	}
	return Atomics.load(stopped, 0) !== 0;
}

interface Instance {
	module: QuickJSWASMModule;
	memory: WebAssembly.Memory;
}

/** For the next run of the same owner. */
interface Kept extends Instance {
	owner: string;
	/** Made while nobody waits for it. */
	guest: Guest;
}

let kept: Kept | null = null;
let current: Guest | null = null;

async function newInstance(): Promise<Instance> {
	const memory = newMemory();
	// The package's types are those of its CommonJS part, in which the variant is one `default` further in.
	const base = baseVariant as unknown as QuickJSSyncVariant;
	const variant = newVariant(base, { wasmModule: compiled, wasmMemory: memory });
	return { module: await newQuickJSWASMModuleFromVariant(variant), memory };
}

/**
 * It grows at most twice: to what is kept, and to all there may be, which takes no more of the machine than is written to. After each
 * growth V8 collects garbage, with threads that step aside for nobody; the engine would grow ten times, by a fifth each.
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
	pausedAt = performance.now();
	const begun = process.threadCpuUsage();
	const former = kept?.owner === task.owner ? kept : null;
	kept = null;
	const instance = former ?? (await newInstance());
	const guest = former?.guest ?? newGuest(instance);
	current = guest;
	const ending = await guest.run(task);
	current = null;
	// What ended otherwise may have left anything behind: the instance goes as it is, with all that was in it.
	const isHeavy = instance.memory.buffer.byteLength > KEPT_PAGES * PAGE_BYTES;
	const isClean = !isHeavy && (ending.type === 'returned' || ending.type === 'threw');
	const isUnsound = isClean && !disposes(guest);
	const { user, system } = process.threadCpuUsage(begun);
	send({ type: 'ended', ending, logs: guest.logs, isUnsound, isHeavy, computedMs: (user + system) / 1000 });
	if (isClean && !isUnsound) keep(instance, task.owner);
}

const newGuest = ({ module }: Instance): Guest => new Guest({ module, isStopped, request });

/** Nobody waits for it: where it fails, the next run begins with another instance. */
function keep(instance: Instance, owner: string): void {
	try {
		const guest = newGuest(instance);
		if (guest.isReady) kept = { ...instance, owner, guest };
	} catch {
		// The engine has told what it found; nothing that it touched is used again.
	}
}

/** False when the engine found that something of the run was left. */
function disposes(guest: Guest): boolean {
	try {
		guest.dispose();
		return true;
	} catch {
		// An assertion of the engine's failed: its memory is no longer what it takes it to be.
		return false;
	}
}

function request(id: string, asked: GuestRequest): void {
	send({ type: 'request', id, request: asked });
}

async function check(code: string): Promise<void> {
	const { module } = await newInstance();
	send({ type: 'ended', ending: checkCode(module, code, isStopped), logs: [], isUnsound: false, isHeavy: false, computedMs: 0 });
}

/** The engine itself failed: nothing that it has touched is used again. */
function giveUp(): void {
	const logs = current?.logs ?? [];
	const ending: Ending = isStopped() ? { type: 'stopped' } : { type: 'broken' };
	current = null;
	send({ type: 'ended', ending, logs, isUnsound: true, isHeavy: false, computedMs: 0 });
}

port.on('message', (message: ToThread) => {
	if (message.type === 'run') run(message.task).catch(giveUp);
	else if (message.type === 'check') check(message.code).catch(giveUp);
	else if (message.type === 'answer') current?.answer(message.id, message.answer);
	else current?.wake();
});

send({ type: 'ready' });
