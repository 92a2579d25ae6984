// Lines of the request log for tests.

import { KnownValues } from '../../core/store/metric-cells.ts';
import { Batch } from '../../core/store/request-log.ts';
import type { RequestBatch, RequestRow } from '../../core/store/store.ts';

/** The time at which lines began. */
export const NOW = Date.now();

const ID = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

export const requestRow = (change: Partial<RequestRow> = {}): RequestRow => ({
	organizationId: ID(1),
	kind: 'gateway',
	requestId: 'request-1',
	gatewayId: ID(2),
	toolId: null,
	agentId: null,
	providerId: null,
	model: null,
	keyId: ID(4),
	userId: null,
	caller: `key:${ID(4)}`,
	method: 'key',
	userAgent: 'curl/8.0',
	status: 200,
	outcome: 'success',
	durationMs: 10,
	upstreamMs: null,
	waitingMs: null,
	bytesIn: 100,
	bytesOut: 200,
	inputTokens: null,
	outputTokens: null,
	cachedTokens: null,
	costMicroUsd: null,
	startedAt: NOW,
	...change,
});

/** Makes one write of lines. */
export function batchOf(rows: readonly RequestRow[]): RequestBatch {
	const batch = new Batch(new KnownValues());
	for (const row of rows) batch.add(row);
	return batch.written(new Map(), NOW);
}
