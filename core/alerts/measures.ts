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

/** Reads the sums that rules need, those of an organization and a window once. */
export class Measures {
	readonly #analytics: Pick<Analytics, 'series' | 'top'>;
	readonly #nowMs: number;
	readonly #all = new Map<string, Promise<Map<string, Measured>>>();

	constructor(analytics: Pick<Analytics, 'series' | 'top'>, nowMs: number) {
		this.#analytics = analytics;
		this.#nowMs = nowMs;
	}

	/** Returns what is to be judged, by tool. @param open the tools with an open incident, which are judged without calls, too */
	async of({ organizationId, toolId, windowMinutes }: AlertRuleRow, open: readonly string[]): Promise<Map<string, Measured>> {
		const range = this.#range(windowMinutes);
		if (toolId !== null) {
			const series = await this.#analytics.series(organizationId, range, { dimension: 'tool', value: toolId });
			return new Map([[toolId, series.reduce(added, NOTHING)]]);
		}
		const key = `${organizationId} ${windowMinutes}`;
		const reading = this.#all.get(key) ?? this.#read(organizationId, range);
		this.#all.set(key, reading);
		const found = await reading;
		return new Map([...open.map((tool) => [tool, NOTHING] as const), ...found]);
	}

	async #read(organizationId: string, range: MetricRange): Promise<Map<string, Measured>> {
		const found = await this.#analytics.top(organizationId, range, { dimension: 'tool', limit: TOOLS, by: 'calls' });
		return new Map(found.filter(({ value }) => value !== OTHERS).map((sums) => [sums.value, sums]));
	}

	#range(windowMinutes: number): MetricRange {
		const until = bucketAt('minute', this.#nowMs) + lengthOf('minute');
		const since = until - windowMinutes * lengthOf('minute');
		return { resolution: 'minute', kind: 'tool', since: new Date(since), until: new Date(until) };
	}
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
