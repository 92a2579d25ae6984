// Public documents at the level of an organization, `/{org}/.well-known/…`: clients that resolve a document's name against the address of a gateway
// without a trailing slash ask there. They are those of the organization's only active gateway whose transport declares them so.

import { GatewayError } from '../contract/errors.ts';
import type { GatewayPath } from '../http/places.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import type { Registry } from '../registry/registry.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { OnlyGateways as Found, Store } from '../store/store.ts';

/** The number of organizations kept in this process, unknown ones included; the oldest are dropped first. */
const KEPT = 1000;
const SLUG = /^[a-z0-9-]{1,48}$/;
/** The segment begins with its dot, so `placeOf` takes all of it for a suffix. */
const WELL_KNOWN = '.well-known';

interface GatewayLookup {
	/** Null: still being read, or of no organization. */
	organizationId: string | null;
	found: Promise<Found | null>;
}

export class OnlyGateways {
	readonly #store: Pick<Store, 'gateways' | 'changes'>;
	/** The types of the transports that declare a document, by its path. */
	readonly #types = new Map<string, Set<string>>();
	readonly #entries = new BoundedMap<string, GatewayLookup>(KEPT);
	readonly #unsubscribe: () => void;

	constructor({ store, registry }: { store: Pick<Store, 'gateways' | 'changes'>; registry: Registry }) {
		this.#store = store;
		for (const { name, routes } of registry.list('transport')) {
			for (const { path, atOrganization } of routes)
				if (atOrganization) this.#types.set(path, (this.#types.get(path) ?? new Set()).add(name));
		}
		this.#unsubscribe = store.changes.subscribe((topics) => this.#drop(new Set(topics)));
	}

	/**
	 * Returns the place itself, or the one at its gateway of a document of an organization. One refusal is for all that there is not: it tells
	 * nobody which organizations there are, or how many gateways they have. @throws not_found
	 */
	async placed(place: GatewayPath | null): Promise<GatewayPath | null> {
		if (place?.endpoint !== '' || place.suffix !== WELL_KNOWN) return place;
		const path = `/${WELL_KNOWN}${place.path}`;
		const types = this.#types.get(path);
		const found = types && SLUG.test(place.organization) ? await this.#of(place.organization) : null;
		const endpoints = [...(types ?? [])].flatMap((type) => found?.endpoints.get(type) ?? []);
		const [endpoint] = endpoints;
		if (endpoint === undefined || endpoints.length > 1) throw new GatewayError('not_found', NOT_HERE);
		return { ...place, endpoint: endpoint.slice(1), suffix: '', path };
	}

	close(): void {
		this.#unsubscribe();
		this.#entries.clear();
	}

	async #of(slug: string): Promise<Found | null> {
		const look = this.#store.changes.fresh(STALE_MS);
		if (look) await look;
		const known = this.#entries.get(slug);
		if (known) return known.found;
		const entry: GatewayLookup = { organizationId: null, found: this.#store.gateways.only(slug) };
		this.#entries.set(slug, entry);
		entry.found.then(
			(found) => {
				entry.organizationId = found?.organizationId ?? null;
			},
			() => this.#entries.get(slug) === entry && this.#entries.delete(slug),
		);
		return entry.found;
	}

	/** Drops changed organizations, and what may belong to any of them. */
	#drop(topics: ReadonlySet<string>): void {
		if (![...topics].some((topic) => topic === '*' || topic.startsWith('org:'))) return;
		for (const [slug, { organizationId }] of this.#entries) {
			if (organizationId === null || topics.has(`org:${organizationId}`) || topics.has('*')) this.#entries.delete(slug);
		}
	}
}

const NOT_HERE =
	'There is no such document of this organization, or more than one gateway has it: use the address of the gateway with a trailing slash, /{organization}/{gateway}/.';
