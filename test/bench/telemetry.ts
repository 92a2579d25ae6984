// Measures the same call of a tool without telemetry, with traces of none, of a tenth and of all calls, with metrics, and with everything, each by a
// service of its own in one process, in short turns, and all of it in several processes, one after the other, since each compiles its code in its own way.
// `[BENCH_PINNED=true] node test/bench/telemetry.ts [names of ways]`: three ways take eight minutes. Goal: at most 1.05 of the CPU with traces of a tenth.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../../demo/ports.ts';
import { type Path, prepareCall } from './paths.ts';
import { IS_SHORT } from './rounds.ts';
import { startSubject } from './subject.ts';
import { pin, printTurns, runTurns } from './turns.ts';

/** Processes, and the rounds of each. */
const [STARTS, ROUNDS] = IS_SHORT ? [1, 3] : [4, 8];
const METRICS = { METRICS_TOKEN: 'a-token-of-the-bench' };

function waysTo(collector: string): Record<string, Record<string, string>> {
	const traces = (share: number) => ({
		OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector}/v1/traces`,
		OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
		OTEL_TRACES_SAMPLER_ARG: String(share),
	});
	return {
		off: {},
		'off again': {},
		'traces of none': traces(0),
		'traces of a tenth': traces(0.1),
		'traces of all': traces(1),
		metrics: METRICS,
		everything: { OTEL_EXPORTER_OTLP_ENDPOINT: collector, ...METRICS },
	};
}

/** @param micros receives the figures of each way */
async function measure(folder: string, micros: Map<string, number[]>): Promise<void> {
	await using started = new AsyncDisposableStack();
	const upstream = started.use(await startSubject('./upstream.ts', {}));
	const collector = started.use(await startSubject('./collector.ts', {}));
	const ways = Object.entries(waysTo(collector.url)).filter(([name]) => asked.length === 0 || asked.includes(name));
	const SERVICES = [];
	for (const [at, [, variables]] of ways.entries())
		SERVICES.push({ PORT: String(await findPort('127.0.0.1', 0)), SVC_DATA_DIR: join(folder, String(at)), ...variables });
	const common = { EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn', SERVICES: JSON.stringify(SERVICES) };
	const services = started.use(await startSubject('./telemetry-services.ts', common));
	const paths: Path[] = [];
	for (const [at, service] of services.url.split(' ').entries()) {
		const name = ways[at]?.[0] ?? '';
		paths.push({ ...(await prepareCall(name, { upstream: upstream.url, service })), name });
	}
	if (process.env['BENCH_PINNED'] === 'true') {
		pin(services.pid, 0);
		for (const pid of [process.pid, upstream.pid, collector.pid]) pin(pid, 1);
	}
	const measured = await runTurns(paths, () => services.cpuMicros(), ROUNDS);
	for (const [at, [name]] of ways.entries()) micros.set(name, [...(micros.get(name) ?? []), ...(measured[at] ?? [])]);
}

const asked = process.argv.slice(2);
const micros = new Map<string, number[]>();
for (let start = 0; start < STARTS; start++) {
	const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
	try {
		await measure(folder, micros);
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}
printTurns([...micros.keys()], [...micros.values()]);
