// The findings of rules in the sums of tools: a share of failed calls, or how long calls take.

import type { JsonObject } from '../contract/nouns.ts';
import { percentile } from '../store/histogram.ts';
import { bucketAt, lengthOf, OTHERS } from '../store/metric-cells.ts';
import type { AlertRuleRow, Analytics, MetricRange, Sums } from '../store/store.ts';

/** The part of the bound at which an incident ends. */
const CALM = 0.8;
/** The most tools of an organization that a rule about all of them looks at: those with the most calls. */
const TOOLS = 500;

/** The sums of a tool in the window of a rule. */
export type Measured = Pick<Sums, 'calls' | 'failed' | 'histogram'>;

const NOTHING: Measured = { calls: 0, failed: 0, histogram: [] };

/** Reads the sums that rules need: those of an organization and a window once, and those of a tool in it. */
export class Measures {
	readonly #analytics: Pick<Analytics, 'series' | 'top'>;
	readonly #nowMs: number;
	readonly #busiest = new Map<string, Promise<ReadonlyMap<string, Measured>>>();
	readonly #tools = new Map<string, Promise<Measured>>();

	constructor(analytics: Pick<Analytics, 'series' | 'top'>, nowMs: number) {
		this.#analytics = analytics;
		this.#nowMs = nowMs;
	}

	/**
	 * Returns what is to be judged, by tool. A tool without sums is left out while others are counted together: nothing is known of it.
	 * @param open the tools with an open incident, which are judged without calls, too
	 */
	async of(rule: AlertRuleRow, open: readonly string[]): Promise<Map<string, Measured>> {
		if (rule.toolId !== null) return this.#each(rule, [rule.toolId]);
		const busiest = await this.#busiestOf(rule);
		const rest = open.filter((tool) => !busiest.has(tool));
		return new Map([...busiest, ...(await this.#each(rule, rest))]);
	}

	/** Reads the sums of some tools, one after another: an organization takes no more of the database than one statement at a time. */
	async #each(rule: AlertRuleRow, tools: readonly string[]): Promise<Map<string, Measured>> {
		const found = new Map<string, Measured>();
		for (const tool of tools) {
			const measured = await this.#tool(rule, tool);
			if (measured.calls > 0 || !(await this.#hasOthers(rule))) found.set(tool, measured);
		}
		return found;
	}

	#tool({ organizationId, windowMinutes }: AlertRuleRow, tool: string): Promise<Measured> {
		return kept(this.#tools, `${organizationId} ${windowMinutes} ${tool}`, async () => {
			const series = await this.#analytics.series(organizationId, this.#range(windowMinutes), { dimension: 'tool', value: tool });
			return series.reduce(added, NOTHING);
		});
	}

	async #hasOthers(rule: AlertRuleRow): Promise<boolean> {
		return (await this.#tool(rule, OTHERS)).calls > 0;
	}

	#busiestOf({ organizationId, windowMinutes }: AlertRuleRow): Promise<ReadonlyMap<string, Measured>> {
		return kept(this.#busiest, `${organizationId} ${windowMinutes}`, async () => {
			const of = { dimension: 'tool', limit: TOOLS, by: 'calls' } as const;
			const found = await this.#analytics.top(organizationId, this.#range(windowMinutes), of);
			return new Map(found.filter(({ value }) => value !== OTHERS).map((sums) => [sums.value, sums]));
		});
	}

	#range(windowMinutes: number): MetricRange {
		const until = bucketAt('minute', this.#nowMs) + lengthOf('minute');
		const since = until - windowMinutes * lengthOf('minute');
		return { resolution: 'minute', kind: 'tool', since: new Date(since), until: new Date(until) };
	}
}

/** Returns what a map has, or reads it and keeps it. */
function kept<T>(map: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
	const reading = map.get(key) ?? read();
	map.set(key, reading);
	return reading;
}

const added = (a: Measured, b: Measured): Measured => ({
	calls: a.calls + b.calls,
	failed: a.failed + b.failed,
	histogram: b.histogram.map((count, at) => count + (a.histogram[at] ?? 0)),
});

/** The value of a rule's measure; null without calls. Durations are milliseconds that 95 % of the calls did not exceed. */
function measureOf({ kind }: Pick<AlertRuleRow, 'kind'>, { calls, failed, histogram }: Measured): number | null {
	if (calls === 0) return null;
	return kind === 'error_rate' ? failed / calls : percentile(histogram, 0.95);
}

/** Says what changes: an incident opens or ends, or null. */
export function judge(
	rule: Pick<AlertRuleRow, 'kind' | 'bound' | 'minCalls'>,
	measured: Measured,
	isOpen: boolean,
): { change: 'open' | 'end'; found: JsonObject } | null {
	const value = measureOf(rule, measured);
	const bound = rule.bound ?? Number.POSITIVE_INFINITY;
	const { calls, failed } = measured;
	const found = { value, calls, failed };
	if (!isOpen) return value !== null && calls >= rule.minCalls && value > bound ? { change: 'open', found } : null;
	return value === null || value <= bound * CALM ? { change: 'end', found } : null;
}
