// The lines of the request log that calls of models leave.

import { asGatewayError } from '../contract/errors.ts';
import type { Usage } from '../contract/providers.ts';
import type { LlmProviderRow, RequestRow } from '../store/store.ts';

/** The origin of a call of a model, as far as it is known. */
export type CallOrigin = Partial<
	Pick<RequestRow, 'requestId' | 'gatewayId' | 'toolId' | 'agentId' | 'keyId' | 'userId' | 'caller' | 'method' | 'userAgent' | 'clientInfo'>
>;

interface Ended {
	origin: CallOrigin;
	model: string;
	usage: Usage | null;
	outcome: string;
	durationMs: number;
}

/** Returns the line of a call that has just ended. */
export const lineOf = (
	{ organizationId, id, provider }: Pick<LlmProviderRow, 'organizationId' | 'id' | 'provider'>,
	{ origin, model, usage, outcome, durationMs }: Ended,
): RequestRow => ({
	organizationId,
	kind: 'model',
	requestId: origin.requestId ?? null,
	gatewayId: origin.gatewayId ?? null,
	toolId: origin.toolId ?? null,
	agentId: origin.agentId ?? null,
	providerId: id,
	model: model.slice(0, 200),
	keyId: origin.keyId ?? null,
	userId: origin.userId ?? null,
	caller: origin.caller ?? null,
	method: origin.method ?? null,
	userAgent: origin.userAgent ?? null,
	clientInfo: origin.clientInfo ?? null,
	status: null,
	outcome,
	durationMs,
	upstreamMs: durationMs,
	waitingMs: null,
	bytesIn: null,
	bytesOut: null,
	inputTokens: usage?.inputTokens ?? null,
	outputTokens: usage?.outputTokens ?? null,
	cachedTokens: usage?.cachedTokens ?? null,
	costMicroUsd: usage?.costMicroUsd ?? null,
	startedAt: Date.now() - durationMs,
	names: { provider },
});

/** Returns the line of a call that was refused before anything was sent. */
export const refusedLine = (
	row: Parameters<typeof lineOf>[0],
	{ thrown, ...call }: Pick<Ended, 'origin' | 'model' | 'durationMs'> & { thrown: unknown },
): RequestRow => ({
	...lineOf(row, { ...call, usage: null, outcome: asGatewayError(thrown)?.code ?? 'internal' }),
	upstreamMs: 0,
	costMicroUsd: 0,
});
