// Runs rounds of load on several paths in turn, and prints their table, for all benchmarks. Every response is compared with the one checked
// before; a single wrong one fails the run.

import { cpus } from 'node:os';
import autocannon from 'autocannon';
import type { Path } from './paths.ts';

const CONNECTIONS = 32;
const ROUNDS = 4;
const ROUND_SECONDS = 4;
/** The time until the JIT compiler has done its work: longer paths need more, and a shorter warm-up would count against them. */
const WARM_UP_SECONDS = 8;

interface Round {
	requestsPerSecond: number;
	cpuMicros: number;
	p50Ms: number;
	p99Ms: number;
	faults: number;
}

export interface Measured {
	path: Path;
	rounds: Round[];
}

/** Returns the number of rounds, each of four seconds a path. */
const roundsOf = (measured: Measured[]): number => measured[0]?.rounds.length ?? 0;

/** Reads the CPU time so far of the server of a path. */
export type Meter = (server: Path['server']) => Promise<number>;

export async function runRounds(paths: Path[], meter: Meter, count = ROUNDS): Promise<Measured[]> {
	const expected = new Map<Path, string>();
	for (const path of paths) expected.set(path, await fetchExpected(path));
	const run = (path: Path, seconds: number): Promise<Round> => runRound(path, expected.get(path) ?? '', seconds, meter);
	for (const path of paths) await run(path, WARM_UP_SECONDS);
	const measured = paths.map((path): Measured => ({ path, rounds: [] }));
	for (let round = 0; round < count; round++) {
		// The order alternates, so that noise and warm caches affect all paths alike.
		for (const one of round % 2 === 0 ? measured : measured.toReversed()) one.rounds.push(await run(one.path, ROUND_SECONDS));
	}
	return measured;
}

/** Fetches one response and checks it: an MCP error is a 200 too. */
async function fetchExpected({ name, url, method, headers, body }: Path): Promise<string> {
	const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
	const text = await response.text();
	if (response.status !== 200 || !text.includes('Pride and Prejudice') || text.includes('"isError":true'))
		throw new Error(`${name} answered HTTP ${response.status}: ${text.slice(0, 500)}`);
	return text;
}

async function runRound(path: Path, expectBody: string, seconds: number, meter: Meter): Promise<Round> {
	const { url, method, headers, body } = path;
	const before = await meter(path.server);
	const load = { url, method, headers, expectBody, connections: CONNECTIONS, duration: seconds };
	const result = await autocannon(body === undefined ? load : { ...load, body });
	const cpuMicros = ((await meter(path.server)) - before) / result.requests.total;
	return {
		requestsPerSecond: result.requests.average,
		cpuMicros,
		p50Ms: result.latency.p50,
		p99Ms: result.latency.p99,
		faults: result.non2xx + result.errors + result.mismatches,
	};
}

/** Prints the table. @throws Error when a response was missing, not 2xx, or not the expected one */
export function print(measured: Measured[]): void {
	console.log(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), load and upstream on the same machine.`);
	console.log(
		`${CONNECTIONS} keep-alive connections, ${roundsOf(measured)} rounds of ${ROUND_SECONDS} s each, order alternating; medians.\n`,
	);
	console.log('| path | requests/s | CPU µs/request | p50 ms | p99 ms | faults | × first, requests/s | × first, CPU |');
	console.log('|---|---|---|---|---|---|---|---|');
	const [first] = measured;
	for (const one of measured) {
		const cells = [
			one.path.name,
			medianOf(one, 'requestsPerSecond').toFixed(0),
			medianOf(one, 'cpuMicros').toFixed(0),
			medianOf(one, 'p50Ms'),
			medianOf(one, 'p99Ms'),
			one.rounds.reduce((sum, { faults }) => sum + faults, 0),
			ratio(one, first, 'requestsPerSecond'),
			ratio(one, first, 'cpuMicros'),
		];
		console.log(`| ${cells.join(' | ')} |`);
	}
	printRounds('Requests/s', measured, 'requestsPerSecond');
	printRounds('CPU µs/request', measured, 'cpuMicros');
	const faults = measured.flatMap(({ rounds }) => rounds).reduce((sum, round) => sum + round.faults, 0);
	if (faults > 0) throw new Error(`${faults} answers were missing, not 2xx, or not the expected one.`);
}

function printRounds(title: string, measured: Measured[], field: keyof Round): void {
	console.log(`\n${title} by round:`);
	for (const { path, rounds } of measured) console.log(`  ${path.name}: ${rounds.map((round) => round[field].toFixed(0)).join(', ')}`);
}

const medianOf = ({ rounds }: Measured, field: keyof Round): number => median(rounds.map((round) => round[field]));

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
