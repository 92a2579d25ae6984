// Sends a mixed load at a bounded rate for some minutes, and samples the heap after a collection, the memory and the open descriptors of the service:
// they should be flat, the second half beside the first. `node test/bench/soak.ts [minutes] [requests a second]`, by default 20 and 100, on PostgreSQL and
// Redis. It fails where an answer was not one that its kind of request may have.

import { setTimeout as sleep } from 'node:timers/promises';
import { enter } from '../../demo/account.ts';
import { openBacking, startOn } from './backing.ts';
import { ACCOUNT } from './paths.ts';
import { descriptorsOf, memoryOf } from './proc.ts';
import { printRows } from './rounds.ts';
import { type Kind, kindsOf } from './soak-kinds.ts';
import { type Subject, startSubject } from './subject.ts';

/** The most requests under way: where the machine is too busy for the rate, fewer are sent. */
const AT_ONCE = 200;
/** The time before the first sample: caches fill, and code is compiled. */
const WARM_UP_MS = 10_000;
const SAMPLE_MS = 30_000;
/** The least number of samples, so that a trial of one minute has two halves. */
const LEAST_SAMPLES = 6;

const WRONG_SHOWN = 3;
const ID = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

interface Sample {
	minute: number;
	heapMb: number;
	rssMb: number;
	pssMb: number;
	descriptors: number;
}

interface Tally {
	sent: number;
	/** Sentences about wrong answers, with their number. */
	wrong: Map<string, number>;
}

/** Sends requests of all kinds, so many a second, until it is told to end. @returns when the last one has been answered */
async function load(
	kinds: readonly Kind[],
	tallies: Map<string, Tally>,
	{ rate, signal }: { rate: number; signal: AbortSignal },
): Promise<void> {
	const pending = new Set<Promise<void>>();
	const turns = kinds.flatMap((kind) => Array.from({ length: kind.share }, () => kind));
	const startedMs = performance.now();
	for (let sent = 0; !signal.aborted; await sleep(5)) {
		const due = ((performance.now() - startedMs) * rate) / 1000;
		for (; sent < due; sent++) {
			const kind = turns[Math.floor(Math.random() * turns.length)];
			if (!kind || pending.size >= AT_ONCE) continue;
			const one = sendOne(kind, tallies).finally(() => pending.delete(one));
			pending.add(one);
		}
	}
	await Promise.all(pending);
}

async function sendOne({ name, send }: Kind, tallies: Map<string, Tally>): Promise<void> {
	const tally = tallies.get(name) ?? { sent: 0, wrong: new Map() };
	tallies.set(name, tally);
	tally.sent++;
	const wrong = await send().catch((error: unknown) => String(error));
	if (wrong === null) return;
	const said = wrong.replaceAll(ID, ':id');
	tally.wrong.set(said, (tally.wrong.get(said) ?? 0) + 1);
}

async function sample(service: Subject, startedMs: number): Promise<Sample> {
	const heapMb = await service.heapMb();
	const minute = (performance.now() - startedMs) / 60_000;
	return { minute, heapMb, ...memoryOf(service.pid), descriptors: descriptorsOf(service.pid) };
}

const FIELDS = ['heapMb', 'rssMb', 'pssMb', 'descriptors'] as const;
const mean = (samples: readonly Sample[], field: keyof Sample): number =>
	samples.reduce((sum, one) => sum + one[field], 0) / samples.length;

function printSamples(samples: readonly Sample[]): void {
	const cells = (of: (field: keyof Sample) => number): string[] =>
		FIELDS.map((field) => of(field).toFixed(field === 'descriptors' ? 0 : 1));
	const half = Math.floor(samples.length / 2);
	const [first, second] = [samples.slice(0, half), samples.slice(-half)];
	const grown = FIELDS.map((field) => `${((mean(second, field) / mean(first, field) - 1) * 100).toFixed(1)} %`);
	printRows(
		['minute', 'heap after gc, MB', 'RSS, MB', 'PSS, MB', 'descriptors'],
		[
			...samples.map((one) => [one.minute.toFixed(1), ...cells((field) => one[field])]),
			['first half', ...cells((field) => mean(first, field))],
			['second half', ...cells((field) => mean(second, field))],
			['grown by', ...grown],
		],
	);
}

function printTallies(tallies: ReadonlyMap<string, Tally>): void {
	console.log();
	const wrongOf = ({ wrong }: Tally): string =>
		[...wrong]
			.slice(0, WRONG_SHOWN)
			.map(([said, count]) => `${count}: ${said.slice(0, 200)}`)
			.join('; ');
	printRows(
		['kind of request', 'sent', 'wrong answers'],
		[...tallies].map(([name, tally]) => [name, tally.sent, wrongOf(tally) || 0]),
	);
	if ([...tallies.values()].some(({ wrong }) => wrong.size > 0)) process.exitCode = 1;
}

async function main(minutes: number, rate: number): Promise<void> {
	if (!(minutes > 0 && rate > 0)) throw new Error('Usage: node test/bench/soak.ts [minutes] [requests a second]');
	await using backing = await openBacking('postgres');
	await using upstream = await startSubject('./upstream.ts', {});
	// An upstream of its own: the breaker of an origin that fails would refuse the calls of the others.
	await using failing = await startSubject('./upstream.ts', {});
	await using service = await startOn(backing, `${upstream.url},${failing.url}`, './service.ts', ['--expose-gc']);
	const kinds = await kindsOf(await enter(service.url, ACCOUNT), { upstream: upstream.url, failing: failing.url });
	const [tallies, over] = [new Map<string, Tally>(), new AbortController()];
	const loading = load(kinds, tallies, { rate, signal: over.signal });
	await sleep(WARM_UP_MS);
	const [samples, startedMs, durationMs] = [[] as Sample[], performance.now(), minutes * 60_000];
	const pauseMs = Math.min(SAMPLE_MS, durationMs / LEAST_SAMPLES);
	while (performance.now() - startedMs < durationMs) {
		samples.push(await sample(service, startedMs));
		await sleep(pauseMs);
	}
	over.abort();
	await loading;
	console.log(`Node ${process.version}, at most ${rate} requests/s for ${minutes} minutes on ${backing.title}.\n`);
	printSamples(samples);
	printTallies(tallies);
}

await main(Number(process.argv[2] ?? 20), Number(process.argv[3] ?? 100));
