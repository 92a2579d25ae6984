// Bounds the values of labels: each pair of values is a time series that is kept until the process ends, so tenants may not make any number.

/** The value under which all others are counted together. */
export const OTHER = 'other';

/** The most values of a label in all, and of one organization. */
export interface LabelBounds {
	total: number;
	perOrganization: number;
}

export const BOUNDS = {
	organization: { total: 200, perOrganization: 1 },
	gateway: { total: 500, perOrganization: 20 },
	tool: { total: 500, perOrganization: 20 },
	model: { total: 200, perOrganization: 10 },
	/** Names that plugins and the service itself declare. */
	declared: { total: 300, perOrganization: 300 },
} as const satisfies Record<string, LabelBounds>;

export type LabelKind = keyof typeof BOUNDS;

const LENGTH = 128;

/** The values of labels that were seen: the first ones keep their names, and later ones are `other`. */
export class Labels {
	readonly #kinds = new Map<LabelKind, { all: number; of: Map<string, Set<string>> }>();
	readonly #bounds: Record<LabelKind, LabelBounds>;

	constructor(bounds: Partial<Record<LabelKind, LabelBounds>> = {}) {
		this.#bounds = { ...BOUNDS, ...bounds };
	}

	/** @param organization the value belongs to; the empty string for none */
	of(kind: LabelKind, organization: string, value: string): string {
		const seen = this.#kinds.get(kind) ?? { all: 0, of: new Map<string, Set<string>>() };
		this.#kinds.set(kind, seen);
		const own = seen.of.get(organization);
		const name = value.length > LENGTH ? value.slice(0, LENGTH) : value;
		if (own?.has(name)) return name;
		const { total, perOrganization } = this.#bounds[kind];
		if (seen.all >= total || (own?.size ?? 0) >= perOrganization) return OTHER;
		seen.all++;
		if (own) own.add(name);
		else seen.of.set(organization, new Set([name]));
		return name;
	}
}
