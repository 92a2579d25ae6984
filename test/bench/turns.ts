// Measures the CPU of several paths in turns of a hundred requests, some 30 ms each, for ratios near to one: the speed of a shared machine
// changes within seconds, and so within the rounds of `rounds.ts`. Sums of many turns are compared, since they must have what costs seldom.

import { execFileSync } from 'node:child_process';
import { Pool } from 'undici';
import type { Path } from './paths.ts';
import { CONNECTIONS, expectedOf, IS_SHORT, type Meter, median, printRows } from './rounds.ts';

const REQUESTS = 128;
/** The turns of each path in a round, and before the first one. */
const [TURNS, WARM_UP] = IS_SHORT ? [8, 30] : [90, 300];

/** @returns the CPU time of a request in microseconds, by path and round. @throws Error when an answer was not the expected one */
export async function runTurns(paths: Path[], meter: Meter, rounds: number): Promise<number[][]> {
	await using clients = new AsyncDisposableStack();
	const loads: Load[] = [];
	for (const path of paths) loads.push(clients.use(new Load(path, await expectedOf(path))));
	for (let turn = 0; turn < WARM_UP; turn++) for (const load of loads) await load.run();
	const micros = loads.map((): number[] => []);
	for (let round = 0; round < rounds; round++) {
		const sums = loads.map(() => 0);
		for (let turn = 0; turn < TURNS; turn++)
			for (const at of orderOf(turn, loads.length)) sums[at] = (sums[at] ?? 0) + (await measured(loads[at], meter));
		for (const [at, sum] of sums.entries()) micros[at]?.push(sum / TURNS / REQUESTS);
	}
	return micros;
}

/** Every path follows every other one, in both directions. */
function orderOf(turn: number, count: number): number[] {
	const order = Array.from({ length: count }, (_none, at) => (at + turn) % count);
	return turn % 2 === 0 ? order : order.reverse();
}

async function measured(load: Load | undefined, meter: Meter): Promise<number> {
	if (!load) return Number.NaN;
	const before = await meter(load.path.server);
	await load.run();
	return (await meter(load.path.server)) - before;
}

/** The load of a path: a request at a time on each of its connections, which stay open between its turns. */
class Load implements AsyncDisposable {
	readonly path: Path;
	readonly #expected: string;
	readonly #pool: Pool;
	readonly #target: string;

	constructor(path: Path, expected: string) {
		const { origin, pathname } = new URL(path.url);
		this.path = path;
		this.#expected = expected;
		this.#pool = new Pool(origin, { connections: CONNECTIONS });
		this.#target = pathname;
	}

	/** Sends the requests of a turn. */
	async run(): Promise<void> {
		let left = REQUESTS;
		const send = async (): Promise<void> => {
			while (left-- > 0) await this.#send();
		};
		await Promise.all(Array.from({ length: CONNECTIONS }, send));
	}

	async #send(): Promise<void> {
		const { name, method, headers, body = null } = this.path;
		const answer = await this.#pool.request({ path: this.#target, method, headers, body });
		const text = await answer.body.text();
		if (answer.statusCode !== 200 || text !== this.#expected) throw new Error(`${name} answered HTTP ${answer.statusCode}: ${text}`);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#pool.close();
	}
}

/** Keeps a process on one core: its neighbours on the machine, and the other processes of the benchmark, disturb it less. */
export const pin = (pid: number, core: number): void => void execFileSync('taskset', ['-apc', String(core), String(pid)]);

/** Prints the table of the paths, of which the first one is the measure. @param micros of each path, by round */
export function printTurns(names: readonly string[], micros: readonly number[][]): void {
	const [first = []] = micros;
	console.log(
		`Node ${process.version}, ${CONNECTIONS} requests at once, ${first.length} rounds of ${TURNS} turns of ${REQUESTS} requests.\n`,
	);
	const rows = names.map((name, at) => {
		const own = micros[at] ?? [];
		const ratios = own.map((one, round) => one / (first[round] ?? Number.NaN));
		return [name, median(own).toFixed(1), median(ratios).toFixed(3), `${mean(ratios).toFixed(3)} ± ${standardError(ratios).toFixed(3)}`];
	});
	printRows(['path', 'CPU µs/request', '× first, median', '× first, mean'], rows);
	console.log('\nCPU µs/request by round:');
	for (const [at, name] of names.entries()) console.log(`  ${name}: ${micros[at]?.map((one) => one.toFixed(0)).join(', ')}`);
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function standardError(values: number[]): number {
	const around = mean(values);
	const variance = values.reduce((sum, value) => sum + (value - around) ** 2, 0) / (values.length - 1);
	return Math.sqrt(variance / values.length);
}
