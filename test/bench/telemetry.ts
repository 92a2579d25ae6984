// Measures the same call of a tool without telemetry, with metrics, with traces of a tenth of the calls, and with everything, each by a service of its
// own, in turn. `node test/bench/telemetry.ts`, in about five minutes. Goal: at most 1.05 of the CPU with traces of a tenth.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../../demo/ports.ts';
import { prepareCall } from './paths.ts';
import { type Measured, print, runRounds } from './rounds.ts';
import { type Subject, startSubject } from './subject.ts';

const ROUNDS = 10;
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
	const services = new Map<string, Subject>();
	const paths = [];
	for (const [name, variables] of Object.entries(waysTo(collector.url))) {
		const port = String(await findPort('127.0.0.1', 0));
		const own = { PORT: port, SVC_DATA_DIR: join(folder, String(services.size)), EGRESS_ALLOW: upstream.url, LOG_LEVEL: 'warn' };
		const service = started.use(await startSubject('./service.ts', { ...own, ...variables }));
		services.set(name, service);
		paths.push({ ...(await prepareCall(name, { upstream: upstream.url, service: service.url })), name });
	}
	const meter = (server: string): Promise<number> => services.get(server)?.cpuMicros() ?? Promise.resolve(0);
	// The result is awaited here, since the servers used above end when this function returns.
	return await runRounds(paths, meter, ROUNDS);
}

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'));
try {
	print(await measureAll(folder));
} finally {
	await rm(folder, { recursive: true, force: true });
}
