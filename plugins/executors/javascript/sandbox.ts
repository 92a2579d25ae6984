// A sandbox's thread: QuickJS in WebAssembly, one run at a time, each in a runtime of its own. It knows no environment, no secret
// and no tenant but the one that it works for, and it may be killed at any time.

import { parentPort, workerData } from 'node:worker_threads';
import baseVariant from '@jitl/quickjs-wasmfile-release-sync';
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSSyncVariant, type QuickJSWASMModule } from 'quickjs-emscripten-core';
import { Brake } from './brake.ts';
import type { CheckTask, Ending, FromThread, GuestRequest, RunTask, ThreadData, ToThread } from './messages.ts';
import { checkCode, Guest } from './sandbox-run.ts';

const PAGE_BYTES = 64 * 1024;
const INITIAL_PAGES = 256;
/** Twice what a run may hold, since the engine's heap has gaps. */
const MAX_PAGES = (256 * 1024 * 1024) / PAGE_BYTES;
/** An instance whose memory grew beyond it is given up: WebAssembly gives nothing back. */
const KEPT_PAGES = (32 * 1024 * 1024) / PAGE_BYTES;
/** A run that waits for less keeps its place, so that the main thread hears of each run fifty times a second at most. */
const WAITING_MS = 20;

if (!parentPort) throw new Error('The sandbox runs as a worker thread only.');
const port = parentPort;
const send = (message: FromThread): void => port.postMessage(message);

// The pool made it of this shape.
const { module: compiled, control } = workerData as ThreadData;
const brake = new Brake(control);
const isStopped = (): boolean => brake.isStopped();

interface Instance {
	module: QuickJSWASMModule;
	memory: WebAssembly.Memory;
}

/** For the next run of the same organization. */
interface Kept extends Instance {
	organization: string;
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
	brake.begin();
	const former = kept?.organization === task.organization ? kept : null;
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
	send({ type: 'ended', ending, logs: guest.logs, isUnsound, isHeavy, computedMs: brake.computedMs() });
	if (isClean && !isUnsound) keep(instance, task.organization);
}

const newGuest = ({ module }: Instance): Guest => new Guest({ module, isStopped, request, wait });

/** Nobody waits for it: where it fails, the next run begins with another instance. */
function keep(instance: Instance, organization: string): void {
	try {
		const guest = newGuest(instance);
		if (guest.isReady) kept = { ...instance, organization, guest };
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

/** The engine itself failed: nothing that it has touched is used again. */
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
