// The columns of the request log and of the sums, each with its field, listed once for writing and reading.

import { OWN_NUMBERS } from '../../core/store/lines.ts';
import type { LoggedRequest, Sums } from '../../core/store/store.ts';

/** The columns of the log by field; `client` is derived, and the time stands apart. */
export const LOG_COLUMNS = {
	kind: ['kind', 'text'],
	requestId: ['request_id', 'text'],
	gatewayId: ['gateway_id', 'uuid'],
	toolId: ['tool_id', 'uuid'],
	agentId: ['agent_id', 'uuid'],
	providerId: ['provider_id', 'uuid'],
	model: ['model', 'text'],
	keyId: ['key_id', 'uuid'],
	userId: ['user_id', 'uuid'],
	caller: ['caller', 'text'],
	method: ['method', 'text'],
	client: ['client', 'text'],
	userAgent: ['user_agent', 'text'],
	clientInfo: ['client_info', 'text'],
	status: ['status', 'integer'],
	outcome: ['outcome', 'text'],
	durationMs: ['duration_ms', 'float'],
	upstreamMs: ['upstream_ms', 'float'],
	waitingMs: ['waiting_ms', 'float'],
	bytesIn: ['bytes_in', 'bigint'],
	bytesOut: ['bytes_out', 'bigint'],
	inputTokens: ['input_tokens', 'bigint'],
	outputTokens: ['output_tokens', 'bigint'],
	cachedTokens: ['cached_tokens', 'bigint'],
	costMicroUsd: ['cost', 'float'],
	arguments: ['arguments', 'text'],
	result: ['result', 'text'],
} as const satisfies Record<Exclude<keyof LoggedRequest, 'organizationId' | 'startedAt'>, readonly [column: string, type: string]>;

/** The fields that most lines have in common with others of their batch, by which they are sent in groups. */
export const ALIKE = [
	...['kind', 'gatewayId', 'toolId', 'agentId', 'providerId', 'model', 'keyId', 'userId', 'caller', 'method'],
	...['client', 'userAgent', 'clientInfo', 'status', 'outcome'],
] as const satisfies readonly (keyof typeof LOG_COLUMNS)[];

/** The fields that each line has of its own. */
export const OWN = ['requestId', ...OWN_NUMBERS, 'arguments', 'result'] as const satisfies readonly (keyof typeof LOG_COLUMNS)[];

/** The columns of numbers in the sums, by field. */
export const SUM_COLUMNS = {
	calls: ['calls', 'bigint'],
	failed: ['failed', 'bigint'],
	lost: ['lost', 'bigint'],
	durationMs: ['duration_ms', 'float'],
	upstreamMs: ['upstream_ms', 'float'],
	waitingMs: ['waiting_ms', 'float'],
	bytesIn: ['bytes_in', 'bigint'],
	bytesOut: ['bytes_out', 'bigint'],
	inputTokens: ['input_tokens', 'bigint'],
	outputTokens: ['output_tokens', 'bigint'],
	cachedTokens: ['cached_tokens', 'bigint'],
	costMicroUsd: ['cost', 'float'],
	unpriced: ['unpriced', 'bigint'],
} as const satisfies Record<Exclude<keyof Sums, 'histogram'>, readonly [column: string, type: string]>;
