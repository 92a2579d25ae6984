// The lines of the request log that runs of agents leave: whose, how long, at what cost, and with what result; never inputs or outputs.

import { asGatewayError } from '../contract/errors.ts';
import type { ModelUse } from '../contract/results.ts';
import { RunError } from '../runs/context.ts';
import type { RequestRow } from '../store/store.ts';

interface Ended {
	organizationId: string;
	agentId: string;
	/** The time and the use of models of the last attempt: waiting for people counts in neither. */
	durationMs: number;
	use: ModelUse | null;
	outcome: string;
}

/** Writes the line of a run that has just ended. */
export const runLine = ({ organizationId, agentId, durationMs, use, outcome }: Ended): RequestRow => ({
	organizationId,
	kind: 'agent',
	agentId,
	...{ requestId: null, gatewayId: null, toolId: null, providerId: null, model: null, keyId: null, userId: null },
	...{ caller: null, method: null, userAgent: null, status: null },
	outcome,
	durationMs,
	...{ upstreamMs: null, waitingMs: null, bytesIn: null, bytesOut: null },
	inputTokens: use?.inputTokens ?? null,
	outputTokens: use?.outputTokens ?? null,
	cachedTokens: use?.cachedTokens ?? null,
	costMicroUsd: use?.costMicroUsd ?? null,
	startedAt: Date.now() - Math.round(durationMs),
});

/** Returns the outcome of a run whose program threw; null: it goes on elsewhere, or has been ended from outside. */
export function outcomeOfFault(thrown: unknown, signal: AbortSignal): string | null {
	const reason: unknown = signal.aborted ? signal.reason : thrown;
	if (reason instanceof RunError) return reason.code;
	return signal.aborted ? null : (asGatewayError(reason)?.code ?? 'internal');
}
