// The lines of the request log that runs of tools leave: who, what, how long, and with what outcome.

import { asGatewayError } from '../../contract/errors.ts';
import type { Caller } from '../../contract/nouns.ts';
import type { ModelUse, RunResult } from '../../contract/results.ts';
import { cleanText } from '../../kit/clean-text.ts';
import type { CallOrigin } from '../../models/logged-calls.ts';
import type { Spending } from '../../models/spending.ts';
import type { RequestRow } from '../../store/store.ts';
import type { CallParts } from '../call-parts.ts';
import type { ToolEntry } from '../entry.ts';

/** Begins the line of a run. */
export function lineOf(
	{ tool }: Pick<ToolEntry, 'tool'>,
	{ gateway, caller, incoming, asked, ofAgent, names }: CallParts & { caller: Caller },
): RequestRow {
	if (names) names.tool ??= tool.name;
	return {
		organizationId: tool.organizationId,
		kind: 'tool',
		requestId: incoming?.id ?? asked?.requestId ?? null,
		gatewayId: gateway?.id ?? null,
		toolId: tool.id,
		agentId: ofAgent?.chain.at(-1) ?? null,
		providerId: null,
		model: null,
		keyId: caller.keyId ?? null,
		userId: caller.userId ?? null,
		caller: caller.subject,
		method: caller.method,
		userAgent: incoming?.headers['user-agent'] ?? asked?.userAgent ?? null,
		clientInfo: incoming?.clientInfo ?? null,
		status: null,
		outcome: 'success',
		durationMs: 0,
		upstreamMs: null,
		waitingMs: null,
		bytesIn: null,
		bytesOut: null,
		inputTokens: null,
		outputTokens: null,
		cachedTokens: null,
		costMicroUsd: null,
		startedAt: Date.now(),
		names: { tool: tool.name, ...(gateway && { organization: gateway.organizationSlug }) },
	};
}

/** Returns what the calls of models that a call makes end with, count for, and come from. */
export function modelCalls({
	gateway,
	caller,
	incoming,
	asked,
	entry,
	ofAgent,
	...more
}: CallParts): [AbortSignal, Spending | undefined, CallOrigin] {
	const origin = {
		requestId: incoming?.id ?? asked?.requestId ?? null,
		gatewayId: gateway?.id ?? null,
		toolId: entry?.tool.id ?? null,
		agentId: ofAgent?.chain.at(-1) ?? null,
		keyId: caller?.keyId ?? null,
		userId: caller?.userId ?? null,
		caller: caller?.subject ?? null,
		method: caller?.method ?? null,
		userAgent: incoming?.headers['user-agent'] ?? asked?.userAgent ?? null,
		clientInfo: incoming?.clientInfo ?? null,
	};
	return [more.signal, more.spending, origin];
}

const MAX_NAME = 64;
const MAX_VERSION = 32;

/** Returns the program of a client as one text. */
export const clientInfoOf = (name: string, version: string | undefined): string =>
	`${cleanText(name, MAX_NAME)}/${cleanText(version ?? '', MAX_VERSION).replaceAll('/', '_')}`;

/** Returns what the span of a run tells. */
export const traceOf = ({ tool: { name, executor, organizationId } }: Pick<ToolEntry, 'tool'>) => ({
	...{ tool: name, kind: executor, organization: organizationId },
});

/** Completes a line. */
export function endedLine(
	line: RequestRow,
	{ outcome, use, durationMs }: { outcome: string; use: ModelUse | null; durationMs: number },
): RequestRow {
	line.outcome = outcome;
	line.durationMs = durationMs;
	line.inputTokens = use?.inputTokens ?? null;
	line.outputTokens = use?.outputTokens ?? null;
	line.cachedTokens = use?.cachedTokens ?? null;
	line.costMicroUsd = use?.costMicroUsd ?? null;
	return line;
}

/** Returns the outcome of a call that threw. */
export const outcomeOf = (thrown: unknown): string => asGatewayError(thrown)?.code ?? 'internal';

/** Returns the outcome of a run that gave a result: `tool_error` where the tool itself said that it failed. */
export const outcomeOfRun = ({ isError, error }: RunResult): string => (isError ? (error?.code ?? 'tool_error') : 'success');

/** Returns the outcome of a run that failed; null otherwise. */
export const failureOf = (result: RunResult): string | null => (result.isError ? outcomeOfRun(result) : null);
