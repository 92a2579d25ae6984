// Runs paths at one fixed rate, half of what a gateway does at full load, and prints how much later than the bare proxy each answers.

import { runPaced } from './paced.ts';
import type { Path } from './paths.ts';
import { expectedOf, type Measured, type Meter, median, medianOf, printRows, ROUND_SECONDS, ROUNDS } from './rounds.ts';

/** The most that a gateway may add to the bare proxy's p99. */
const GOAL_MS = 2;

interface PacedRound {
	p50Ms: number;
	p99Ms: number;
	cpuMicros: number;
	faults: number;
}

interface HalfLoad {
	rate: number;
	paths: { path: Path; rounds: PacedRound[] }[];
}

/** Returns half of the rate at which a path was answered at full load. @param name the path's */
export function halfRateOf(measured: readonly Measured[], name: string): number {
	const found = measured.find(({ path }) => path.name === name);
	if (!found) throw new Error(`No path is named ${name}.`);
	return Math.round(medianOf(found, 'requestsPerSecond') / 2);
}

/** Runs the rounds; the first path is the one that the others are compared with. */
export async function runHalfLoad(paths: readonly Path[], rate: number, meter: Meter): Promise<HalfLoad> {
	const measured: HalfLoad['paths'] = paths.map((path) => ({ path, rounds: [] }));
	for (let round = 0; round < ROUNDS; round++) {
		for (const { path, rounds } of round % 2 === 0 ? measured : measured.toReversed()) {
			const expected = await expectedOf(path);
			const before = await meter(path.server);
			const { sent, ...figures } = await runPaced(path, expected, rate, ROUND_SECONDS);
			rounds.push({ ...figures, cpuMicros: ((await meter(path.server)) - before) / sent });
		}
	}
	return { rate, paths: measured };
}

/** Prints the table. @throws Error when an answer was missing, not 2xx, or not the expected one */
export function printHalfLoad({ rate, paths }: HalfLoad): void {
	console.log(`\nHalf load: ${rate} requests/s each, ${ROUNDS} rounds of ${ROUND_SECONDS} s, order alternating; medians.\n`);
	const [first] = paths;
	const rows = paths.map(({ path, rounds }) => {
		const of = (field: keyof PacedRound): number => median(rounds.map((round) => round[field]));
		const above = median(rounds.map(({ p99Ms }, at) => p99Ms - (first?.rounds[at]?.p99Ms ?? Number.NaN)));
		return [path.name, of('p50Ms').toFixed(2), of('p99Ms').toFixed(2), above.toFixed(2), of('cpuMicros').toFixed(0)];
	});
	printRows(['path', 'p50 ms', 'p99 ms', `p99 above the first, ms (goal ${GOAL_MS})`, 'CPU µs/request'], rows);
	const faults = paths.flatMap(({ rounds }) => rounds).reduce((sum, round) => sum + round.faults, 0);
	if (faults > 0) throw new Error(`${faults} answers at half load were missing, not 2xx, or not the expected one.`);
}
