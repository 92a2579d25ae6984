// Measures the same call of a tool without telemetry, with metrics, with traces of a tenth of the calls, and with everything, each by a service of its
// own in one process, in turn. `node test/bench/telemetry.ts [names of ways]`, in about six minutes. Goal: at most 1.05 of the CPU with traces of a tenth.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPort } from '../../demo/ports.ts';
import { prepareCall } from './paths.ts';
import { IS_SHORT, type Measured, print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

/** The rounds of all ways together. */
const ROUNDS = IS_SHORT ? 10 : 200;
/** Code of all ways in one process is compiled later than that of one. */
const WARM_UP_SECONDS = IS_SHORT ? 2 : 16;
/** The time in which spans of a round are sent, so that their cost counts in it: full batches at once, the rest in the next round. */
const SENT_MS = 300;
const TENTH = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' };

const waysTo = (collector: string): Record<string, Record<string, string>> => ({
	off: {},
	'off again': {},
	metrics: { METRICS_TOKEN: 'a-token-of-the-bench' },
	'traces of a tenth': { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector}/v1/traces`, ...TENTH },
	'everything, each call traced': { OTEL_EXPORTER_OTLP_ENDPOINT: collector, METRICS_TOKEN: 'a-token-of-the-bench' },
});

async function measureAll(folder: string): Promise<Measured[]> {
	await using started = new AsyncDisposableStack();
	const upstream = started.use(await startSubject('./upstream.ts', {}));
	const collector = started.use(await startSubject('./collector.ts', {}));
	const ways = Object.entries(waysTo(collector.url)).filter(([name]) => asked.length === 0 || asked.includes(name));
	const SERVICES = [];
	for (const [at, [, variables]] of ways.entries())
		SERVICES.push({ PORT: String(await findPort('127.0.0.1', 0)), SVC_DATA_DIR: join(folder, String(at)), ...variables });
	const common = { EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn', SERVICES: JSON.stringify(SERVICES) };
	const services = started.use(await startSubject('./telemetry-services.ts', common));
	const paths = [];
	for (const [at, service] of services.url.split(' ').entries()) {
		const name = ways[at]?.[0] ?? '';
		paths.push({ ...(await prepareCall(name, { upstream: upstream.url, service })), name });
	}
	let isOver = false;
	/** Reads the time before and after a round in turn. */
	const meter = async (): Promise<number> => {
		if (isOver) await sleep(SENT_MS);
		isOver = !isOver;
		return services.cpuMicros();
	};
	// The result is awaited here, since the servers used above end when this function returns.
	return await runRounds(paths, meter, { rounds: Math.round(ROUNDS / ways.length), seconds: 1, warmUpSeconds: WARM_UP_SECONDS });
}

const asked = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
try {
	print(await measureAll(folder));
} finally {
	await rm(folder, { recursive: true, force: true });
}
