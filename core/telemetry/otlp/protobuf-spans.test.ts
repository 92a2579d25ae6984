// Tests that spans are written as the SDK's own writer writes them, for whatever reads them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTraceState, type SpanContext } from '@opentelemetry/api';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { decodeOtlp } from '../../../test/helpers/otlp-protobuf.ts';
import { ATTRIBUTES } from '../names.ts';
import { RecordedSpan, type SpanContexts, type SpanParts } from '../recorded.ts';
import type { SpanAttributes, SpanDraft } from '../spans.ts';
import { Ids } from '../trace-ids.ts';
import { spansAsProtobuf } from './protobuf-spans.ts';

const ids = new Ids();
const context = (own: Partial<SpanContext> = {}): SpanContext => ({ traceId: ids.trace(), spanId: ids.span(), traceFlags: 1, ...own });

/** Makes spans, and returns them once they have ended. */
function recorded(make: (span: (draft: SpanDraft, contexts?: Partial<SpanContexts>) => RecordedSpan) => void): ReadableSpan[] {
	const ended: ReadableSpan[] = [];
	const parts: SpanParts = {
		resource: resourceFromAttributes({ 'service.name': 'gatehouse', text: 'ü', list: ['a', 'b'], count: 3 }),
		...{ instrumentationScope: { name: 'gatehouse', version: '1.2.3' }, ids },
		...{ measuring: { isMeasured: false, measure: () => undefined }, processor: { onEnd: (span) => ended.push(span) } },
		openBrought: () => assert.fail('no span brings a context'),
	};
	make((draft, contexts) => new RecordedSpan(draft, { own: context(), parent: null, ...contexts }, parts));
	return ended;
}

/** Decodes what both writers write. The SDK writes zeros that say nothing, which a reader takes for absent. */
function read(bytes: Uint8Array | undefined): unknown {
	assert.ok(bytes);
	const text = JSON.stringify(decodeOtlp('/v1/traces', Buffer.from(bytes)));
	return JSON.parse(text, (name, value) => {
		if (/^dropped\w+Count$/.test(name) && value === 0) return undefined;
		return name === 'status' && Object.values(value).every((each) => each === 0) ? undefined : value;
	});
}

function assertSame(spans: ReadableSpan[]): void {
	assert.deepEqual(read(spansAsProtobuf(spans)), read(ProtobufTraceSerializer.serializeRequest(spans)));
}

const VALUES = {
	...{ none: '', short: 'a', long: 'x'.repeat(256), foreign: 'ü€😀', tail: `${'a'.repeat(126)}ü`, wide: '€'.repeat(256), half: '\ud800' },
	...{ zero: 0, small: 127, next: 128, port: 65_535, large: 2 ** 32, whole: 2 ** 53 - 1, less: -1, share: 0.25, tiny: -1e-9 },
	...{ is: true, not: false, list: ['a', '', 'ü'.repeat(100)], empty: [] },
};

/** All of them, each under another name. */
const ALL: SpanAttributes = Object.fromEntries(Object.values(VALUES).map((value, at) => [Object.keys(ATTRIBUTES)[at], value]));

test('attributes of every type are read as the SDK writes them', () => {
	for (const value of Object.values(VALUES)) {
		const spans = recorded((span) => span({ name: 'work', attributes: { tool: value } }).end());
		assert.equal(spans.length, 1);
		assertSame(spans);
	}
	assertSame(recorded((span) => span({ name: `GET ${'/ü'.repeat(200)}`, kind: 'client', attributes: ALL }).end()));
});

test('parents, links, states of traces, kinds and failures are read as the SDK writes them', () => {
	const traceState = createTraceState('vendor=value,other=2');
	const [far, near, unsampled] = [context({ isRemote: true, traceState }), context({ isRemote: false }), context({ traceFlags: 0 })];
	const spans = recorded((span) => {
		span({ name: 'root', kind: 'server' }).end();
		span({ name: 'from afar', kind: 'server' }, { own: context({ traceState }), parent: far }).end();
		span({ name: 'from near by' }, { parent: near, linked: far }).end();
		span({ name: 'linked' }, { parent: far, linked: unsampled }).end();
		const failed = span({ name: 'failed', kind: 'client' });
		failed.fail('500');
		failed.end();
	});
	assert.equal(spans.length, 5);
	assertSame(spans);
});

test('hundreds of spans are one message, and none is an empty one', () => {
	assertSame(recorded((span) => Array.from({ length: 600 }, (_none, at) => span({ name: `n${at}`, attributes: ALL }).end())));
	assert.equal(spansAsProtobuf([]).length, 0);
});
