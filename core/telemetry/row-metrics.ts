// Metrics of calls, from the lines of the request log: what is counted there is counted here, once and by the same code.

import { BoundedMap } from '../kit/bounded-map.ts';
import type { RequestRow } from '../store/store.ts';
import type { Labels } from './labels.ts';
import { ATTRIBUTES as A, type MetricName, OPERATIONS } from './names.ts';
import type { Attributes } from './spans.ts';

type Measure = (metric: MetricName, value: number, labels: Attributes) => void;

const KNOWN = 10_000;
const GONE = 'unknown';

/** The slugs of organizations by id: told by calls of gateways, and looked up for others. */
export class OrganizationNames {
	readonly #known = new BoundedMap<string, string>(KNOWN);
	readonly #asked = new Map<string, Promise<string>>();
	lookUp: (id: string) => Promise<string | null> = async () => null;

	know(id: string, slug: string): void {
		if (!this.#known.has(id)) this.#known.set(id, slug);
	}

	/** Calls `use` with the slug: at once, or when it has been looked up. */
	with(id: string, use: (slug: string) => void): void {
		const known = this.#known.get(id);
		if (known === undefined) void (this.#asked.get(id) ?? this.#ask(id)).then(use);
		else use(known);
	}

	#ask(id: string): Promise<string> {
		const asking = this.lookUp(id)
			.then((slug) => slug ?? GONE)
			.catch(() => GONE)
			.then((slug) => {
				this.#asked.delete(id);
				if (slug !== GONE) this.#known.set(id, slug);
				return slug;
			});
		this.#asked.set(id, asking);
		return asking;
	}
}

export class RowMetrics {
	readonly #measure: Measure;
	readonly #labels: Labels;
	readonly #names: OrganizationNames;

	constructor({ measure, labels, names }: { measure: Measure; labels: Labels; names: OrganizationNames }) {
		this.#measure = measure;
		this.#labels = labels;
		this.#names = names;
	}

	/** The values of a row are taken now: it may wait for the name of its organization. */
	add(row: RequestRow): void {
		const { organizationId, names } = row;
		if (names?.organization !== undefined) this.#names.know(organizationId, names.organization);
		const count = this.#countOf(row);
		this.#names.with(organizationId, (slug) => count(this.#labels.of('organization', slug, slug)));
	}

	#countOf(row: RequestRow): (organization: string) => void {
		if (row.kind === 'gateway') return this.#gateway(row);
		if (row.kind === 'tool') return this.#tool(row);
		if (row.kind === 'model') return this.#model(row);
		return this.#agent(row);
	}

	#gateway({ organizationId, names, durationMs, outcome, isOpenEnded }: RequestRow): (organization: string) => void {
		const gateway = this.#labels.of('gateway', organizationId, names?.gateway ?? '*');
		const ended = this.#outcome(outcome);
		return (organization) => {
			const around = { [A.organization]: organization, [A.gateway]: gateway };
			this.#measure('gateway', 1, { ...around, [A.outcome]: ended });
			if (!isOpenEnded) this.#measure('gatewayDuration', durationMs / 1000, around);
		};
	}

	#tool({ organizationId, names, durationMs, upstreamMs, waitingMs, outcome }: RequestRow): (organization: string) => void {
		const tool = this.#labels.of('tool', organizationId, names?.tool ?? 'unknown');
		const failed = this.#failed(outcome);
		return (organization) => {
			const around = { [A.organization]: organization };
			this.#measure('tool', durationMs / 1000, { ...around, [A.tool]: tool, ...failed });
			if (upstreamMs !== null) this.#measure('upstream', upstreamMs / 1000, around);
			if (waitingMs !== null) this.#measure('waiting', waitingMs / 1000, around);
		};
	}

	#model(row: RequestRow): (organization: string) => void {
		const { organizationId, model, names, durationMs, inputTokens, outputTokens, costMicroUsd, outcome } = row;
		const around = {
			[A.operation]: OPERATIONS.chat,
			[A.provider]: this.#labels.of('declared', 'provider', names?.provider ?? 'custom'),
			[A.requestModel]: this.#labels.of('model', organizationId, model ?? 'unknown'),
		};
		const failed = this.#failed(outcome);
		return (organization) => {
			const labels = { ...around, [A.organization]: organization };
			this.#measure('model', durationMs / 1000, { ...labels, ...failed });
			if (inputTokens !== null) this.#measure('inputTokens', inputTokens, labels);
			if (outputTokens !== null) this.#measure('outputTokens', outputTokens, labels);
			if (costMicroUsd !== null) this.#measure('cost', costMicroUsd / 1e6, labels);
		};
	}

	#agent({ durationMs, outcome }: RequestRow): (organization: string) => void {
		const ended = this.#outcome(outcome);
		return (organization) => this.#measure('agent', durationMs / 1000, { [A.organization]: organization, [A.outcome]: ended });
	}

	#outcome(outcome: string): string {
		return this.#labels.of('declared', 'outcome', outcome);
	}

	#failed(outcome: string): Attributes {
		return outcome === 'success' ? {} : { [A.errorType]: this.#outcome(outcome) };
	}
}
