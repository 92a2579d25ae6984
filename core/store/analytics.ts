// The storage port of the request log, and of the sums that are kept of it.

import type { Lines } from './lines.ts';
import type { Listed, Page } from './rows.ts';

/** The kinds of line: a request to a gateway, a run of a tool, a run of an agent, a call of a model. */
export const REQUEST_KINDS = ['gateway', 'tool', 'agent', 'model'] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** Names of what a line is about, for metrics and the log: slugs, the name of the tool, the plugin. They are not stored. */
export interface LineNames {
	organization?: string;
	gateway?: string;
	tool?: string;
	provider?: string;
}

/** One line of the request log. Credentials are no part of it. */
export interface RequestRow {
	organizationId: string;
	kind: RequestKind;
	/** The `X-Request-Id` of the answer; null for work that no request waits for. */
	requestId: string | null;
	gatewayId: string | null;
	toolId: string | null;
	agentId: string | null;
	providerId: string | null;
	model: string | null;
	keyId: string | null;
	userId: string | null;
	/** The name under which the caller is counted; null for nobody. */
	caller: string | null;
	/** The way by which the caller was admitted. */
	method: string | null;
	userAgent: string | null;
	/** The program that the client says it is, such as `claude-code/2.1.0`. */
	clientInfo?: string | null;
	/** The status of HTTP; null where there is none. */
	status: number | null;
	/** `success`, the code of an error, or a word for a failure that has none. */
	outcome: string;
	durationMs: number;
	/** The parts of the duration for which others were waited for: upstreams, and turns. Null: unknown. */
	upstreamMs: number | null;
	waitingMs: number | null;
	bytesIn: number | null;
	bytesOut: number | null;
	inputTokens: number | null;
	outputTokens: number | null;
	cachedTokens: number | null;
	costMicroUsd: number | null;
	/** Redacted and cut; null where the gateway has none kept. */
	arguments?: string | null;
	result?: string | null;
	/** The output that the tool printed; null for none. */
	logs?: readonly string[] | null;
	/** The size of a tool's answer at a gateway; summed, and not stored with the line. */
	answer?: AnswerSize;
	/** Milliseconds since 1970. */
	startedAt: number;
	/** The request only listened, so its duration says nothing about speed. */
	isOpenEnded?: boolean;
	names?: LineNames;
	/** The line is summed and not kept: whoever is refused for sending too much must not fill the log. */
	isOnlyCounted?: boolean;
}

export interface AnswerSize {
	/** An estimate. */
	tokens: number;
	/** Characters by path, of a sample of the answers. */
	fields?: readonly (readonly [path: string, chars: number])[];
}

/** A stored line; `client` is the program that it names, or its user agent. */
export interface LoggedRequest extends Omit<RequestRow, 'startedAt' | 'isOpenEnded' | 'isOnlyCounted' | 'names' | 'answer' | 'logs'> {
	client: string | null;
	clientInfo: string | null;
	arguments: string | null;
	result: string | null;
	startedAt: Date;
}

/** The lengths of the buckets of time in which calls are summed. */
export const RESOLUTIONS = ['live', 'minute', 'hour', 'day'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/**
 * The properties by which calls are summed; '' sums all of a kind. The values of `error` are a code and an id, with a space between. `answer` sums
 * the tokens of answers, also in its histogram, by gateway and tool; `field` the characters (`bytesOut`) of their fields by gateway, tool
 * and path: in hours and days.
 */
export const DIMENSIONS = ['', 'gateway', 'tool', 'agent', 'provider', 'key', 'client', 'error', 'answer', 'field'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Sums over calls; money in millionths of a US dollar. */
export interface Sums {
	calls: number;
	failed: number;
	/** Calls whose records were lost, since the database was away for too long: they are in none of the other sums. */
	lost: number;
	/** The time of the calls in `histogram`: those that only listened are in neither. */
	durationMs: number;
	upstreamMs: number;
	waitingMs: number;
	bytesIn: number;
	bytesOut: number;
	inputTokens: number;
	outputTokens: number;
	cachedTokens: number;
	costMicroUsd: number;
	/** Calls of models whose cost is unknown. */
	unpriced: number;
	/** Counts of calls by `bucketOf` their duration. */
	histogram: number[];
}

/** The calls of one value of a dimension in one bucket of time. */
export interface Cell extends Sums {
	organizationId: string;
	resolution: Resolution;
	kind: RequestKind;
	dimension: Dimension;
	/** The beginning of the bucket, in milliseconds since 1970. */
	bucket: number;
	value: string;
	/** The id of one of the requests. */
	sample: string | null;
}

/** The addition of one write: it takes effect once, however often it is tried. */
export interface RequestBatch {
	id: string;
	lines: Lines;
	cells: readonly Cell[];
}

/** The sum by which values are ordered. */
export type SumOrder = 'calls' | 'cost' | 'outputTokens' | 'bytesOut';

/** A range of whole buckets. */
export interface MetricRange {
	resolution: Resolution;
	kind: RequestKind;
	since: Date;
	until: Date;
}

export interface RequestFilter {
	kind?: RequestKind;
	gatewayId?: string;
	toolId?: string;
	agentId?: string;
	providerId?: string;
	keyId?: string;
	userId?: string;
	client?: string;
	outcome?: string;
	/** Only calls that failed. */
	failed?: boolean;
	requestId?: string;
	since?: Date;
	until?: Date;
	/** Arguments and results are read, too; otherwise they are null. */
	payloads?: boolean;
}

export interface Analytics {
	/** Adds the lines and their sums in one statement. Those of an organization that does not exist are left out. */
	add(batch: RequestBatch): Promise<void>;
	/** Returns the sums of one value by bucket, in the order of time. Buckets without calls are left out. */
	series(organizationId: string, range: MetricRange, of: { dimension: Dimension; value: string }): Promise<(Sums & { bucket: Date })[]>;
	/** Returns the sums of the values with the most calls (or cost, or output). @param of `prefix`: only values that begin with it */
	top(
		organizationId: string,
		range: MetricRange,
		of: { dimension: Dimension; limit: number; by: SumOrder; prefix?: string },
	): Promise<(Sums & { value: string; sample: string | null; last: Date })[]>;
	/** Returns the sums by bucket, in the order of time, of the values with the most cost, and of all others together as `*`. */
	spread(
		organizationId: string,
		range: MetricRange,
		of: { dimension: Dimension; limit: number },
	): Promise<(Omit<Sums, 'histogram'> & { bucket: Date; value: string })[]>;
	/** Returns the names of gateways, tools, agents, LLM providers, keys and users by their ids. */
	names(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
	/** Lists the log, the newest first. So many lines are looked at for one page that it may hold fewer than its limit, or none, before the last. */
	requests(organizationId: string, filter: RequestFilter, page: Pick<Page, 'limit' | 'cursor'>): Promise<Listed<LoggedRequest>>;
	/** Makes the partitions of the coming days, and moves lines into them that came before. @returns how many lines it moved */
	prepare(): Promise<number>;
	/** Drops the days of the log and the sums from before; null keeps them, and removes only the sums of seconds and minutes that nobody can ask for. @returns what it dropped */
	prune(olderThan: Date | null): Promise<{ days: number; sums: number }>;
}
