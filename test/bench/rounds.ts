// Runs rounds of load on several paths in turn, and prints their table, for all benchmarks. Every response is compared with the one checked
// before; a single wrong one fails the run.

import { cpus } from 'node:os';
import autocannon from 'autocannon';
import type { Path } from './paths.ts';

export const CONNECTIONS = 32;
/** With `BENCH_SHORT=true` a run only shows that it works: its figures say little. */
export const IS_SHORT = process.env['BENCH_SHORT'] === 'true';
export const ROUNDS = IS_SHORT ? 2 : 4;
export const ROUND_SECONDS = IS_SHORT ? 1 : 4;
/** The time until the JIT compiler has done its work: longer paths need more, and a shorter warm-up would count against them. */
const WARM_UP_SECONDS = IS_SHORT ? 2 : 8;

/** The figures of one round. */
export interface Round {
	requestsPerSecond: number;
	cpuMicros: number;
	p50Ms: number;
	p99Ms: number;
	faults: number;
}

export interface Measured {
	path: Path;
	rounds: Round[];
	/** The duration of each. */
	seconds: number;
}

/** How often and how long paths are measured. */
export interface Pace {
	rounds: number;
	seconds: number;
	warmUpSeconds: number;
}

const USUAL: Pace = { rounds: ROUNDS, seconds: ROUND_SECONDS, warmUpSeconds: WARM_UP_SECONDS };
/** Many short rounds for ratios near to one: the speed of a shared machine changes within seconds, and so within a round of four. */
export const FINE: Pace = { ...USUAL, rounds: IS_SHORT ? ROUNDS : 40, seconds: 1 };

/** Reads the CPU time so far of the server of a path. */
export type Meter = (server: Path['server']) => Promise<number>;

export async function runRounds(paths: Path[], meter: Meter, pace: Partial<Pace> = {}): Promise<Measured[]> {
	const { rounds: count, seconds, warmUpSeconds } = { ...USUAL, ...pace };
	const expected = new Map<Path, string>();
	for (const path of paths) expected.set(path, await expectedOf(path));
	const run = (path: Path, seconds: number): Promise<Round> => runRound(path, expected.get(path) ?? '', seconds, meter);
	for (const path of paths) await run(path, warmUpSeconds);
	const measured = paths.map((path): Measured => ({ path, rounds: [], seconds }));
	for (let round = 0; round < count; round++) {
		// The order alternates, so that noise and warm caches affect all paths alike.
		for (const one of round % 2 === 0 ? measured : measured.toReversed()) one.rounds.push(await run(one.path, seconds));
	}
	return measured;
}

/** Fetches one response and checks it: an MCP error is a 200 too. */
export async function expectedOf(path: Path): Promise<string> {
	const { name, url, method, headers, body } = path;
	const asked = { method, headers, ...(body === undefined ? {} : { body }) };
	const response = path.via ? new Response(await path.via.fetch()) : await fetch(url, asked);
	const text = await response.text();
	if (response.status !== 200 || !isAnswer(path, text)) throw new Error(`${name} answered HTTP ${response.status}: ${text.slice(0, 500)}`);
	return text;
}

export const isAnswer = ({ proof = 'Pride and Prejudice' }: Path, text: string): boolean =>
	text.includes(proof) && (proof === FAILED || !text.includes(FAILED));

/** A result that tells a failure. */
export const FAILED = '"isError":true';

/** Tells what a load has come to. */
export type Load = Awaited<ReturnType<typeof autocannon>>;

function loadBy(path: Path, expectBody: string, seconds: number): Promise<Load> {
	const { url, method, headers, body, hasFreshIds = false, connections = CONNECTIONS } = path;
	const compared = hasFreshIds ? { idReplacement: true, verifyBody: (text: string) => isAnswer(path, text) } : { expectBody };
	const load = { url, method, headers, connections, duration: seconds, ...compared };
	return autocannon(body === undefined ? load : { ...load, body });
}

async function runRound(path: Path, expectBody: string, seconds: number, meter: Meter): Promise<Round> {
	const before = await meter(path.server);
	const result = path.via ? await path.via.load(seconds) : await loadBy(path, expectBody, seconds);
	const cpuMicros = ((await meter(path.server)) - before) / result.requests.total;
	return {
		requestsPerSecond: result.requests.average,
		cpuMicros,
		p50Ms: result.latency.p50,
		p99Ms: result.latency.p99,
		faults: result.non2xx + result.errors + result.mismatches,
	};
}

/** Prints the machine, the table and the rounds. @throws Error when a response was missing, not 2xx, or not the expected one */
export function print(measured: Measured[], column?: Column): void {
	printMachine(measured[0]?.rounds.length, measured[0]?.seconds);
	printTable(measured, column);
	printRounds('Requests/s', measured, 'requestsPerSecond');
	printRounds('CPU µs/request', measured, 'cpuMicros');
	assertFaultless(measured);
}

export function printMachine(rounds = ROUNDS, seconds = ROUND_SECONDS): void {
	console.log(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), load and upstream on the same machine.`);
	console.log(`${CONNECTIONS} keep-alive connections, ${rounds} rounds of ${seconds} s each, order alternating; medians.\n`);
}

/** A last column of words about each path. */
export interface Column {
	title: string;
	of(path: Path): string;
}

export function printTable(measured: Measured[], column?: Column): void {
	const titles = ['path', 'requests/s', 'CPU µs/request', 'p50 ms', 'p99 ms', 'faults', '× first, requests/s', '× first, CPU'];
	const [first] = measured;
	const rows = measured.map((one) => [
		one.path.name,
		medianOf(one, 'requestsPerSecond').toFixed(0),
		medianOf(one, 'cpuMicros').toFixed(0),
		Math.round(medianOf(one, 'p50Ms') * 10) / 10,
		Math.round(medianOf(one, 'p99Ms') * 10) / 10,
		one.rounds.reduce((sum, { faults }) => sum + faults, 0),
		ratio(one, first, 'requestsPerSecond'),
		ratio(one, first, 'cpuMicros'),
		...(column ? [column.of(one.path)] : []),
	]);
	printRows([...titles, ...(column ? [column.title] : [])], rows);
}

/** Prints a table of Markdown. */
export function printRows(titles: readonly string[], rows: readonly (readonly unknown[])[]): void {
	console.log(`| ${titles.join(' | ')} |\n|${'---|'.repeat(titles.length)}`);
	for (const cells of rows) console.log(`| ${cells.join(' | ')} |`);
}

/** @throws Error when a response was missing, not 2xx, or not the expected one */
export function assertFaultless(measured: readonly Measured[]): void {
	const faults = measured.flatMap(({ rounds }) => rounds).reduce((sum, round) => sum + round.faults, 0);
	if (faults > 0) throw new Error(`${faults} answers were missing, not 2xx, or not the expected one.`);
}

function printRounds(title: string, measured: Measured[], field: keyof Round): void {
	console.log(`\n${title} by round:`);
	for (const { path, rounds } of measured) console.log(`  ${path.name}: ${rounds.map((round) => round[field].toFixed(0)).join(', ')}`);
}

export const medianOf = ({ rounds }: Measured, field: keyof Round): number => median(rounds.map((round) => round[field]));

/** Compares round with round, so that fluctuations of the machine cancel out; then takes the median. */
function ratio(one: Measured, first: Measured | undefined, field: keyof Round): string {
	const ratios = one.rounds.map((round, index) => round[field] / (first?.rounds[index]?.[field] ?? Number.NaN));
	return median(ratios).toFixed(2);
}

export function median(values: number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const middle = sorted.length / 2;
	return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}
