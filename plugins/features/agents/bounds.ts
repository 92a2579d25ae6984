// The bounds of an organization's agents and of what starts them.

import { MAX_NAMED_ROWS } from '../../../core/features.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export const BOUNDS = {
	/** Agents of an organization. */
	agents: 1000,
	/** Webhooks of an agent. */
	webhooks: 20,
	/** Versions of an agent, of which the oldest give way, and the characters of all versions of an organization. */
	versions: 100,
	versionChars: 300_000_000,
	/** Rows that an agent may name. */
	references: MAX_NAMED_ROWS,
	/** Cases of a test, versions that it compares, runs of it at once, and its time and that of a case. */
	cases: 20,
	compared: 2,
	testedAtOnce: 4,
	testMs: 55_000,
	caseMs: 50_000,
	/** Nodes and edges of a pipeline, and its characters as JSON. */
	nodes: 200,
	edges: 1000,
	pipelineChars: 500_000,
	/** The longest time limit of a run, which may wait for people. */
	timeoutMs: 30 * DAY_MS,
	/** The longest time limit that a caller who waits may ask for. */
	invokeMs: 60 * MINUTE_MS,
	/** The wait without such a limit: less than the minute after which proxies give up. */
	waitMs: 55_000,
	/** Bytes of the body of a webhook. */
	webhookBytes: 1_048_576,
	/** The difference between the clocks of a webhook's sender and ours. */
	skewMs: 5 * MINUTE_MS,
	/** The time for which an `Idempotency-Key` of a webhook, or of an invocation, is known. */
	keyMs: DAY_MS,
	/** The longest life of a link in a mail. */
	linkMs: 7 * DAY_MS,
	/** The number of a list's first entries that cannot be skipped. */
	offset: 10_000,
} as const;
