// A sandbox's thread: QuickJS in WebAssembly, one run at a time, each in a runtime of its own. It knows no environment, no secret
// and no tenant but the one that it works for, and it may be killed at any time.

import { parentPort, workerData } from 'node:worker_threads';
import { Brake } from './brake.ts';
import { Instance, KeptInstances } from './engine/instance.ts';
import { Jobs } from './jobs.ts';
import type { CheckTask, Ending, FromThread, Progress, RunTask, SandboxRequest, ThreadData } from './messages.ts';
import { checkCode, SandboxRun } from './sandbox-run.ts';

/** A shorter wait is not reported, so that each run sends at most fifty such messages a second to the main thread. */
const WAITING_MS = 20;

if (!parentPort) throw new Error('The sandbox runs as a worker thread only.');
const port = parentPort;
const send = (message: FromThread): void => port.postMessage(message);

// The cast holds: `Thread` passes this shape.
const { module: compiled, control } = workerData as ThreadData;
const brake = new Brake(control);
const isStopped = (): boolean => brake.isStopped();

const kept = new KeptInstances();
let current: SandboxRun | null = null;

/** Takes the instance that is kept for the organization, or starts one: none serves two organizations. */
const take = async (organization: string): Promise<Instance> => kept.take(organization) ?? Instance.start(compiled, isStopped);

/** Keeps an instance whose run ended by itself: another may have left anything behind. */
function keep(instance: Instance, organization: string, ending: Ending): void {
	const isClean = !instance.isHeavy && (ending.type === 'returned' || ending.type === 'threw');
	if (isClean && instance.rewind()) kept.keep(organization, instance);
}

async function run(task: RunTask): Promise<void> {
	brake.begin();
	const instance = await take(task.organization);
	const sandboxRun = new SandboxRun({ instance, isStopped, request, progress, call, wait });
	current = sandboxRun;
	const ending = await sandboxRun.run(task);
	current = null;
	const { isHeavy } = instance;
	send({ type: 'ended', ending, logs: sandboxRun.logs, isUnsound: false, isHeavy, computedMs: brake.end() });
	keep(instance, task.organization, ending);
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

async function check({ organization, code }: CheckTask): Promise<void> {
	brake.begin();
	const instance = await take(organization);
	const ending = checkCode(instance, code, isStopped);
	send({ type: 'ended', ending, logs: [], isUnsound: false, isHeavy: false, computedMs: brake.end() });
	keep(instance, organization, ending);
}

/** Ends a run whose engine failed; its thread is not used again. */
function giveUp(): void {
	const logs = current?.logs ?? [];
	const ending: Ending = isStopped() ? { type: 'stopped' } : { type: 'broken' };
	current = null;
	send({ type: 'ended', ending, logs, isUnsound: true, isHeavy: false, computedMs: brake.end() });
}

const jobs = new Jobs(port, control, (message) => {
	if (message.type === 'answer') current?.answer(message.id, message.answer);
	else current?.wake();
});

send({ type: 'ready' });
await jobs.serve(async (job) => {
	try {
		await (job.type === 'run' ? run(job.task) : check(job.task));
	} catch {
		giveUp();
	}
});
