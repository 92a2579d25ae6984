// Rounds of imports with the code of a checkout: each imports a document into a real store and makes tools of it, twice. They measure the
// duration, the CPU time of the whole process, workers included, and the longest time for which the event loop was blocked.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Imports } from '../../core/imports/imports.ts';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { silent } from '../helpers/silent.ts';
import type { TestStore } from '../helpers/store.ts';
import type { Subject } from './import-subjects.ts';
import { cpuMicrosOf, endedCpuMicros } from './proc.ts';

export interface Measured {
	step: string;
	durationMs: number;
	cpuMs: number;
	longestBlockMs: number;
	/** The same in CPU time of the main thread, which other processes on the machine do not stretch. */
	longestCpuMs: number;
}

/** The code of a checkout with a store of its own. */
export interface Importing {
	imports: Imports;
	store: TestStore;
}

/** An import may take so long on a busy machine. */
const TIMEOUT_MS = 600_000;
const IMPORTERS = ['graphql', 'openapi', 'protobuf', 'soap'];
/** The executors that the tools of these importers name. */
const EXECUTORS = ['graphql', 'grpc', 'http', 'soap'];

/** @param folder a checkout with its packages installed */
export async function openImporting(folder: string): Promise<Importing> {
	const urlOf = (path: string): string => pathToFileURL(join(folder, path)).href;
	const { createImports } = await import(urlOf('core/imports/imports.ts'));
	const { Registry } = await import(urlOf('core/registry/registry.ts'));
	const { testStore } = await import(urlOf('test/helpers/store.ts'));
	const registry = new Registry();
	for (const file of [...IMPORTERS.map((name) => `importers/${name}`), ...EXECUTORS.map((name) => `plugins/executors/${name}`)]) {
		const url = urlOf(`${file}/index.ts`);
		registry.add((await import(url)).default, url);
	}
	const imports: Imports = createImports({
		registry,
		egressPolicy: { allow: [] },
		secrets: createSecrets('ab'.repeat(32)),
		log: silent,
		timeoutMs: TIMEOUT_MS,
	});
	return { imports, store: await testStore() };
}

/** @param round distinguishes the rounds on one store */
export async function* runRound(
	{ imports, store }: Importing,
	round: number,
	{ type, name, filter = {} }: Subject,
	body: Buffer,
): AsyncGenerator<Measured> {
	const user = { email: `${name}${round}@example.com`, passwordHash: 'x', firstName: 'Bench', lastName: '' };
	const { organization } = await store.accounts.register(user, { name: 'bench', slugs: [`${name}${round}`] });
	const api = await store.apis.create(organization.id, { name, type, baseUrl: 'https://api.github.com', description: null });
	const read = (bytes: Buffer) => imports.importSchema(store, api, bytes, new AbortController().signal);
	const make = () => imports.generateTools(store, api, filter);
	const [first, second] = [movable(body), movable(body)];
	yield await measure('import', () => read(first));
	yield await measure('tools', make);
	yield await measure('import again', () => read(second));
	yield await measure('tools again', make);
}

const movable = (body: Buffer): Buffer => Buffer.from(Uint8Array.from(body).buffer);

async function measure(step: string, work: () => Promise<unknown>): Promise<Measured> {
	let [at, cpuAt, longestBlockMs, longestCpuMs] = [performance.now(), cpuMs('thread'), 0, 0];
	const ticks = setInterval(() => {
		const [now, cpuNow] = [performance.now(), cpuMs('thread')];
		longestBlockMs = Math.max(longestBlockMs, now - at);
		longestCpuMs = Math.max(longestCpuMs, cpuNow - cpuAt);
		[at, cpuAt] = [now, cpuNow];
	}, 1);
	const [start, cpuStart] = [performance.now(), cpuMs('process')];
	await work();
	clearInterval(ticks);
	return { step, durationMs: performance.now() - start, cpuMs: cpuMs('process') - cpuStart, longestBlockMs, longestCpuMs };
}

/** Returns the CPU time so far of this thread, or of the process with all its threads and with the workers of imports. */
function cpuMs(of: 'thread' | 'process'): number {
	const { user, system } = of === 'thread' ? process.threadCpuUsage() : process.cpuUsage();
	return (user + system) / 1000 + (of === 'process' ? workersCpuMs() : 0);
}

/** Returns the CPU time so far of the workers that are processes: of those that run, and of those that have ended. */
function workersCpuMs(): number {
	const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean);
	const running = children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker-start'));
	return running.reduce((sum, pid) => sum + cpuMicrosOf(Number(pid)), endedCpuMicros()) / 1000;
}
