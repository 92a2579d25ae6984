// Measures what telemetry adds to a call of a tool, and nothing else of the call: its hooks, in one process, in turn, by CPU. `node
// test/bench/telemetry-hooks.ts`, in a minute. It tells on a busy machine what `telemetry.ts` tells on a quiet one.

import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runWith } from '../../core/process/around.ts';
import { addTrace, tracedRequest } from '../../core/telemetry/outbound-spans.ts';
import { tellGateway } from '../../core/telemetry/request-fields.ts';
import { createTelemetry, type Telemetry } from '../../core/telemetry/telemetry.ts';
import { telemetryOf } from '../../core/telemetry/variables.ts';
import { tracedMessage, tracedTool } from '../../core/telemetry/work-spans.ts';
import { requestRow } from '../helpers/requests.ts';
import { median } from './rounds.ts';

const [ROUNDS, CALLS, WARM_UP] = [9, 10_000, 3];
const silent = (): void => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent, tee: silent };

const USUAL = {
	...{ OTEL_EXPORTER_OTLP_HEADERS: [], OTEL_RESOURCE_ATTRIBUTES: [], OTEL_SERVICE_NAME: 'bench', LOG_FORMAT: 'json' },
	...{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: 0.1, OTEL_METRIC_EXPORT_INTERVAL: 60_000 },
};
const names = { organization: 'acme', gateway: 'main', tool: 'get_item' };
const rows = [requestRow({ kind: 'tool', names }), requestRow({ kind: 'gateway', names })];
const message = { method: 'tools/call', target: { tool: 'get_item' }, version: '2025-11-25', id: 1, meta: {} };
const tool = { tool: 'get_item', kind: 'http', organization: 'acme' };
const outbound = { method: 'GET', url: 'http://127.0.0.1:4000/items/42', headers: { accept: '*/*' } };
const none = (): null => null;

/** Does what a call does, as far as telemetry hears of it. */
function call(telemetry: Telemetry): Promise<void> {
	const request = { method: 'POST', httpVersion: '1.1', headers: {} };
	// The parts of both that telemetry reads.
	const response = Object.assign(new EventEmitter(), { statusCode: 200, writableFinished: true, req: request });
	const { promise, resolve } = Promise.withResolvers<void>();
	const work = async (): Promise<void> => {
		tellGateway(names, '/');
		const send = () => tracedRequest(outbound, async (trace) => ({ status: 200, sent: addTrace({ ...outbound.headers }, trace) }));
		await tracedMessage(message, () => tracedTool(tool, send, none), { thrown: none, result: none });
		for (const row of rows) telemetry.line(row);
		response.emit('close');
		resolve();
	};
	const span = telemetry.begin(request as unknown as IncomingMessage, response as unknown as ServerResponse);
	void runWith({ span }, work);
	return promise;
}

/** @returns CPU time of a call in microseconds, that of sending included */
async function round(telemetry: Telemetry): Promise<number> {
	const before = process.cpuUsage();
	for (let at = 0; at < CALLS; at++) {
		await call(telemetry);
		if (at % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
	}
	const { user, system } = process.cpuUsage(before);
	return (user + system) / CALLS;
}

const server = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
// A TCP server has such an address.
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
const WAYS: Record<string, object> = {
	off: {},
	metrics: { METRICS_TOKEN: 'a-token-of-the-bench' },
	'traces of a tenth': { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url },
	'everything, each call traced': {
		OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
		OTEL_TRACES_SAMPLER_ARG: 1,
		METRICS_TOKEN: 'a-token-of-the-bench',
	},
};
const ways = await Promise.all(
	Object.entries(WAYS).map(async ([name, own]) => ({
		name,
		telemetry: await createTelemetry(telemetryOf({ ...USUAL, ...own }), { log, version: 'bench' }),
		micros: [] as number[],
	})),
);
for (let at = 0; at < ROUNDS + WARM_UP; at++)
	for (const { telemetry, micros } of at % 2 === 0 ? ways : ways.toReversed()) {
		const spent = await round(telemetry);
		if (at >= WARM_UP) micros.push(spent);
	}
console.log('| telemetry | CPU µs of its hooks in a call | by round |\n|---|---|---|');
for (const { name, micros } of ways)
	console.log(`| ${name} | ${median(micros).toFixed(1)} | ${micros.map((one) => one.toFixed(1)).join(', ')} |`);
process.exit();
