// Measures plugins' records of two revisions of the project alternately: recalling one from memory, and writing. `node test/bench/records.ts
// <folder of the older revision>`, a checkout with its packages installed. Without a folder: this revision beside itself, which shows the noise.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Records } from '../../core/contract/records.ts';
import type { TestStore } from '../helpers/store.ts';
import { median } from './rounds.ts';

const ROUNDS = 9;
const RECALLS = 100_000;
const WRITES = 150;
const HERE = resolve(import.meta.dirname, '../..');

/** The measures are microseconds of one operation: of CPU where no database is needed, of time where one is. */
const WORKS: Record<string, (lend: () => Records, round: number) => Promise<number>> = {
	'recall, CPU': (lend) => {
		const records = lend();
		return cpuMicros(RECALLS, () => records.recall('kept'));
	},
	'the records of a call made, and one recalled, CPU': (lend) => cpuMicros(RECALLS, () => lend().recall('kept')),
	put: (lend, round) => timeMicros((n) => lend().put(`${round} ${n}`, { n }, { tags: ['t', `n:${n}`], watched: true, ttlMs: 3_600_000 })),
	'get and update': (lend, round) =>
		timeMicros(async (n) => {
			const records = lend();
			const record = await records.get(`${round} ${n}`);
			await records.update(`${round} ${n}`, record?.revision ?? 0, { n, changed: true });
		}),
	take: (lend, round) => timeMicros((n) => lend().take(`${round} ${n}`)),
};

async function cpuMicros(count: number, work: () => Promise<unknown>): Promise<number> {
	const before = process.threadCpuUsage();
	for (let n = 0; n < count; n++) await work();
	const { user, system } = process.threadCpuUsage(before);
	return (user + system) / count;
}

async function timeMicros(work: (n: number) => Promise<unknown>): Promise<number> {
	const startedMs = performance.now();
	for (let n = 0; n < WRITES; n++) await work(n);
	return ((performance.now() - startedMs) * 1000) / WRITES;
}

/** Lends records as the revision of the folder does. */
async function lender(folder: string, store: TestStore): Promise<() => Records> {
	const load = (path: string) => import(pathToFileURL(join(folder, path)).href);
	const { addTenant, addGateway } = await load('test/helpers/samples.ts');
	const { organizationId } = await addTenant(store);
	const owner = { organizationId, gatewayId: (await addGateway(store, organizationId)).id, plugin: 'auth:bench' };
	const made = await load('core/shared/plugin-records.ts').catch(() => null);
	if (made) {
		const { createSecrets } = await load('core/secrets/envelopes.ts');
		const services = made.createRecordServices({ store, secrets: createSecrets('ab'.repeat(32)), accountOf: async (id: string) => id });
		return () => new made.PluginRecords({ store: store.records, services }, owner);
	}
	const { RecordCache, recordsOf } = await load('core/shared/record-cache.ts');
	const cache = new RecordCache(store.changes);
	return () => recordsOf({ store: store.records, cache }, owner);
}

/** Does the works that it is told, and answers what they cost. */
async function runSubject(folder: string): Promise<void> {
	const { testStore } = await import(pathToFileURL(join(folder, 'test/helpers/store.ts')).href);
	const store: TestStore = await testStore();
	const lend = await lender(folder, store);
	await lend().put('kept', { scopes: ['a', 'b'], user: 'u' }, { watched: true });
	process.on('message', async ({ work, round }: { work: string; round: number }) => {
		if (work !== 'end') return process.send?.(await WORKS[work]?.(lend, round));
		await store.close();
		process.disconnect();
	});
	process.send?.('ready');
}

async function tell(child: ChildProcess, work: string, round: number): Promise<number> {
	child.send({ work, round });
	const [cost] = await once(child, 'message');
	return cost as number;
}

async function main(older: string): Promise<void> {
	const [before, after] = [older, HERE].map((folder) => fork(new URL(import.meta.url), ['subject', folder]));
	if (!before || !after) return;
	await Promise.all([once(before, 'message'), once(after, 'message')]);
	const costs = new Map(Object.keys(WORKS).map((work) => [work, { before: [] as number[], after: [] as number[] }]));
	for (let round = -1; round < ROUNDS; round++)
		for (const [work, { before: was, after: is }] of costs) {
			// The order alternates, so that noise affects both alike.
			for (const [child, list] of round % 2 === 0
				? ([
						[before, was],
						[after, is],
					] as const)
				: ([
						[after, is],
						[before, was],
					] as const)) {
				const cost = await tell(child, work, round);
				if (round >= 0) list.push(cost);
			}
		}
	console.log('| µs each, median | before | after | ratio |\n|---|---|---|---|');
	for (const [work, { before: was, after: is }] of costs) {
		const ratio = median(is.map((cost, round) => cost / (was[round] ?? Number.NaN)));
		console.log(`| ${work} | ${median(was).toFixed(2)} | ${median(is).toFixed(2)} | ${ratio.toFixed(3)} |`);
	}
	for (const child of [before, after]) child.send({ work: 'end', round: 0 });
	await Promise.all([once(before, 'exit'), once(after, 'exit')]);
}

const [, , first, folder = HERE] = process.argv;
await (first === 'subject' ? runSubject(folder) : main(first === undefined ? HERE : resolve(first)));
