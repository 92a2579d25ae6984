// Measures what the steps of a call cost, by requests that end after fewer of them: each is the one before and some steps more. All of the gateway's
// go to one process, in short turns, and all of it is done in several processes. `[BENCH_PINNED=true] node test/bench/steps.ts [embedded | postgres | all]`:
// three minutes for each database.

import { type BackingName, backingsOf, openBacking, startOn } from './backing.ts';
import { bareCallOf, callOf, type Path, pingOf, prepareGateways } from './paths.ts';
import { FAILED, IS_SHORT, printRows } from './rounds.ts';
import { startSubject } from './subject.ts';
import { pin, runTurns } from './turns.ts';

/** Processes, and the rounds of each. */
const [STARTS, ROUNDS] = IS_SHORT ? [1, 2] : [4, 4];

async function pathsOf(urls: { upstream: string; bare: string; service: string }): Promise<Path[]> {
	const { keyed, open, credential } = await prepareGateways(urls);
	const call = callOf('the whole call: the executor, the request to the upstream, its result', keyed.url, credential);
	return [
		bareCallOf('bare hapi proxy', urls.bare),
		{ ...bareCallOf('the same without its request to the upstream', urls.bare), url: `${urls.bare}/ready` },
		pingOf('hapi until `onRequest`, the gateway, its limits, the body, the message, the answer, the line', open.url, {}),
		pingOf('the same with a key', keyed.url, credential),
		// The arguments break the tool's schema, so the result tells that.
		{
			...call,
			name: 'a call of a tool until its arguments are checked, its line',
			body: call.body?.replace('"42"', '"x"') ?? '',
			proof: FAILED,
		},
		call,
	];
}

/** @param micros receives the figures of each path */
async function measure(name: BackingName, micros: Map<string, number[]>): Promise<void> {
	await using backing = await openBacking(name);
	await using upstream = await startSubject('./upstream.ts', {});
	await using bare = await startSubject('./bare-proxy.ts', { UPSTREAM: upstream.url });
	await using service = await startOn(backing, upstream.url);
	const paths = await pathsOf({ upstream: upstream.url, bare: bare.url, service: service.url });
	if (process.env['BENCH_PINNED'] === 'true') {
		for (const { pid } of [bare, service]) pin(pid, 0);
		for (const pid of [process.pid, upstream.pid]) pin(pid, 1);
	}
	const measured = await runTurns(paths, (server) => (server === 'bare' ? bare : service).cpuMicros(), ROUNDS);
	for (const [at, path] of paths.entries()) micros.set(path.name, [...(micros.get(path.name) ?? []), ...(measured[at] ?? [])]);
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

for (const backing of backingsOf(process.argv[2])) {
	const micros = new Map<string, number[]>();
	for (let start = 0; start < STARTS; start++) await measure(backing, micros);
	const means = [...micros].map(([name, values]): [string, number] => [name, meanOf(values)]);
	console.log(`\nOn ${backing}, ${STARTS} processes of ${ROUNDS} rounds, Node ${process.version}.\n`);
	const bare = means[0]?.[1] ?? Number.NaN;
	printRows(
		['request', 'CPU µs', '× bare proxy'],
		means.map(([name, mean]) => [name, mean.toFixed(1), (mean / bare).toFixed(2)]),
	);
}
