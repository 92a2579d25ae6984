import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { type Collector, startCollector } from '../../test/helpers/otlp.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { GatewayError } from '../contract/errors.ts';
import { addTrace, tracedRequest } from './outbound-spans.ts';
import { activeSpan, apart, contextOf, spanned, spannedStream, traceContext, traceIdOf } from './spans.ts';
import { createTelemetry, OFF, type Telemetry } from './telemetry.ts';
import { type TelemetryConfig, telemetryOf } from './variables.ts';
import { tracedMessage, tracedTool } from './work-spans.ts';

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent, tee: silent };
const DEFAULTS = {
	...{ OTEL_EXPORTER_OTLP_HEADERS: [], OTEL_RESOURCE_ATTRIBUTES: [], OTEL_SERVICE_NAME: 'gatehouse', LOG_FORMAT: 'json' },
	...{ OTEL_TRACES_SAMPLER: 'parentbased_always_on', OTEL_TRACES_SAMPLER_ARG: 1, OTEL_METRIC_EXPORT_INTERVAL: 60_000 },
};

/** Starts telemetry that sends traces only. */
async function tracing(t: TestContext, sampling: object = {}): Promise<{ telemetry: Telemetry; collector: Collector }> {
	const collector = await startCollector(t);
	const values = { ...DEFAULTS, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.origin}/v1/traces`, ...sampling };
	const config: TelemetryConfig = telemetryOf(values);
	return { telemetry: await createTelemetry(config, { log, version: '1' }), collector };
}

const named = (name: string) => () => ({ name });
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const sampled = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
const unsampled = { traceparent: `00-${TRACE}-00f067aa0ba902b7-00` };

test('attempts of a run that nothing traced began are one trace, on whichever replica', async (t) => {
	const [one, two] = [await tracing(t), await tracing(t)];
	const id = randomUUID();
	await one.telemetry.run({ id, trace: undefined }, named('first'), async () => undefined);
	await assert.rejects(
		two.telemetry.run({ id, trace: undefined }, named('second'), () => Promise.reject(new Error('gone'))),
		/gone/,
	);
	await Promise.all([one.telemetry.close(), two.telemetry.close()]);
	const [first, second] = [one.collector.spans[0], two.collector.spans[0]];
	assert.equal(first?.traceId, second?.traceId);
	assert.notEqual(first?.spanId, second?.spanId);
	assert.deepEqual([second?.status.code, second?.attributes['error.type']], [2, 'internal']);
	assert.ok(!two.collector.raw().includes('gone'), 'the message is not told');
});

test('replicas agree on whether such a run is sampled, and a share of them is', async (t) => {
	const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: 0.5 };
	const [one, two] = [await tracing(t, ratio), await tracing(t, ratio)];
	const ids = Array.from({ length: 200 }, () => randomUUID());
	for (const { telemetry } of [one, two])
		for (const id of ids) await telemetry.run({ id, trace: undefined }, named(id), async () => undefined);
	await Promise.all([one.telemetry.close(), two.telemetry.close()]);
	const names = ({ collector }: { collector: Collector }): string[] => collector.spans.map(({ name }) => name).sort();
	assert.deepEqual(names(one), names(two));
	assert.ok(names(one).length > 50 && names(one).length < 150, String(names(one).length));
});

test('a trace that is not sampled is passed on as such, and leaves no spans; a message’s own trace may be', async (t) => {
	const { telemetry, collector } = await tracing(t);
	const seen: unknown[] = [];
	await telemetry.run({ id: '1', trace: unsampled }, named('root'), async () => {
		seen.push(await spanned(named('child'), async (span) => span));
		seen.push(traceContext()?.traceparent.slice(-2));
		await spanned(named('message'), async () => undefined, { traceparent: sampled.traceparent.replace('4bf', '5cf') });
	});
	await telemetry.close();
	assert.deepEqual(seen, [null, '00']);
	assert.deepEqual(
		collector.spans.map(({ name, traceId }) => `${name} ${traceId.slice(0, 3)}`),
		['message 5cf'],
	);
});

test('a message is the span of the tool that it calls, and tells its outcome; what the tool calls has spans of its own', async (t) => {
	const { telemetry, collector } = await tracing(t);
	const none = (): null => null;
	const run = (tool: string, work: () => Promise<unknown>, outcomeOf: () => string | null = none) =>
		tracedTool({ tool, kind: 'http', organization: 'o' }, work, outcomeOf);
	const call = (tool: string, work: () => Promise<unknown>) =>
		tracedMessage({ method: 'tools/call', target: { tool }, version: null, id: 1, meta: {} }, work, {
			thrown: () => '-32602',
			result: none,
		});
	const refused = async (): Promise<never> => {
		throw new GatewayError('validation_failed', 'Wrong.');
	};
	await telemetry.run({ id: '1', trace: sampled }, named('root'), async () => {
		await call('outer', () =>
			run(
				'outer',
				() =>
					run('outer', async () =>
						run(
							'inner',
							async () => 1,
							() => 'timed_out',
						),
					),
				() => 'tool_error',
			),
		);
		await call('search', () => run('found', async () => 1));
		await assert.rejects(
			call('wrong', () => run('wrong', refused)),
			{ code: 'validation_failed' },
		);
	});
	await telemetry.close();
	const told = collector.spans.map(({ name, attributes }) => [name, attributes['gatehouse.outcome'], attributes['error.type']]);
	assert.deepEqual(told, [
		['execute_tool inner', undefined, 'timed_out'],
		['execute_tool outer', undefined, undefined],
		['tools/call outer', 'tool_error', undefined],
		['execute_tool found', undefined, undefined],
		['tools/call search', undefined, undefined],
		['tools/call wrong', 'validation_failed', '-32602'],
		['root', undefined, undefined],
	]);
});

test('the span of a stream is around each piece, and ends with its reader', async (t) => {
	const { telemetry, collector } = await tracing(t);
	const around: (string | null | undefined)[] = [];
	async function* pieces() {
		try {
			for (const piece of [1, 2, 3]) {
				around.push(traceContext()?.traceparent.split('-')[2]);
				yield piece;
			}
		} finally {
			around.push(traceContext()?.traceparent.split('-')[2]);
		}
	}
	await telemetry.run({ id: '1', trace: sampled }, named('root'), async () => {
		for await (const piece of spannedStream(named('stream'), pieces)) if (piece === 2) break;
	});
	await telemetry.close();
	const stream = collector.spans.find(({ name }) => name === 'stream');
	assert.deepEqual(around, Array(3).fill(stream?.spanId));
	assert.equal(collector.spans.find(({ name }) => name === 'root')?.spanId, stream?.parentSpanId);
});

test('work that belongs to no request has no span around it', async (t) => {
	const { telemetry } = await tracing(t);
	await telemetry.run({ id: '1', trace: sampled }, named('root'), async () => {
		assert.ok(activeSpan());
		assert.equal(
			apart(() => activeSpan()),
			undefined,
		);
	});
	await telemetry.close();
});

test('a request that has headers of a trace keeps its own', () => {
	const state = { ...sampled, tracestate: 'a=1' };
	for (const own of [{ traceparent: 'mine' }, { tracestate: 'mine' }]) assert.deepEqual(addTrace({ ...own }, state), own);
	assert.deepEqual(addTrace({ accept: '*/*' }, state), { accept: '*/*', ...state });
	assert.deepEqual(addTrace({}, sampled), sampled);
	assert.deepEqual(addTrace({}, null), {});
});

test('work in a span keeps its own promise, and one that throws at once ends its span, too', async (t) => {
	const { telemetry, collector } = await tracing(t);
	const answer = Promise.resolve({ status: 204 });
	const now = (): never => {
		throw new GatewayError('conflict', 'Not now.');
	};
	const message = { method: 'tools/call', target: { tool: 'x' }, version: null, id: 1, meta: {} };
	const fault = { thrown: (): null => null, result: (): null => null };
	const tool = { tool: 'x', kind: 'http', organization: 'o' };
	const request = { method: 'GET', url: 'http://a.example:81/secret' };
	await telemetry.run({ id: '1', trace: sampled }, named('root'), async () => {
		assert.equal(
			spanned(named('work'), () => answer),
			answer,
		);
		assert.equal(
			tracedMessage(
				message,
				() =>
					tracedTool(
						tool,
						() => tracedRequest(request, () => answer),
						() => null,
					),
				fault,
			),
			answer,
		);
		for (const work of [() => spanned(named('work'), now), () => tracedMessage(message, now, fault), () => tracedRequest(request, now)])
			assert.throws(work, { code: 'conflict' });
		await answer;
	});
	await telemetry.close();
	const told = collector.spans.map(({ name, status, attributes }) => [
		name,
		status.code,
		attributes['server.port'] ?? attributes['error.type'],
	]);
	assert.deepEqual(told.sort(), [
		['GET', undefined, 81],
		['GET', 2, 81],
		['root', undefined, undefined],
		['tools/call x', undefined, undefined],
		['tools/call x', 2, 'conflict'],
		['work', undefined, undefined],
		['work', 2, 'conflict'],
	]);
	assert.ok(!collector.raw().includes('secret'));
});

test('off, work is done as it is', async () => {
	assert.equal(await createTelemetry({ metrics: null, otlp: null }, { log, version: '1' }), OFF);
	assert.equal(await OFF.run({ id: '1', trace: undefined }, named('x'), () => spanned(named('y'), async (span) => span)), null);
});

for (const text of [
	'',
	'x',
	`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
	`00-${TRACE}-${'0'.repeat(16)}-01`,
	`ff-${TRACE}-00f067aa0ba902b7-01`,
	`00-${TRACE.toUpperCase()}-00f067aa0ba902b7-01`,
	5,
	null,
])
	test(`${JSON.stringify(text).slice(0, 70)} is no context`, () => {
		assert.equal(traceIdOf(text), null);
		assert.equal(contextOf({ traceparent: text }), null);
	});

test('a context is read with its state, if that is fit to be sent on', () => {
	assert.deepEqual(contextOf({ ...sampled, tracestate: 'a=1' }), { ...sampled, tracestate: 'a=1' });
	for (const tracestate of ['a\r\nb', 'a'.repeat(513), 5]) assert.deepEqual(contextOf({ ...sampled, tracestate }), sampled);
});

test('a collector that does not answer does not keep the service from stopping', async (t) => {
	let asked = 0;
	const { origin } = await httpUpstream(t, () => void asked++);
	const values = { ...DEFAULTS, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${origin}/v1/traces` };
	const telemetry = await createTelemetry(telemetryOf(values), { log, version: '1', closeMs: 200 });
	await telemetry.run({ id: '1', trace: sampled }, named('x'), async () => undefined);
	await telemetry.close();
	assert.equal(asked, 1);
});
