// The prepared gateways of this process.

import type { Config } from '../config/config.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { GatewaySnapshot, Store } from '../store/store.ts';
import { type MountedGateway, type MountParts, mountGateway } from './mount.ts';

/** The number of gateways kept ready in this process; the longest unused are dropped first. */
const MOUNTED = 1000;

interface GatewayCacheParts extends MountParts {
	config: Config;
	store: Store;
}

interface CachedGateway {
	organizationId: string | null;
	gateway: Promise<MountedGateway | null>;
	/** The gateway, as soon as it is prepared. */
	ready: MountedGateway | null;
}

/** Gateways by their address, each prepared once and dropped with the first change of its organization. */
export class GatewayCache {
	readonly #parts: GatewayCacheParts;
	readonly #mounted = new BoundedMap<string, CachedGateway>(MOUNTED);
	readonly #unsubscribe: () => void;

	constructor(parts: GatewayCacheParts) {
		this.#parts = parts;
		this.#unsubscribe = parts.store.changes.subscribe((topics) => this.#drop(new Set(topics)));
	}

	/** Returns a gateway for which nothing has to be waited for; null for any other one. */
	ready(organizationSlug: string, endpoint: string): MountedGateway | null {
		const known = this.#mounted.get(organizationSlug + endpoint)?.ready ?? null;
		const look = known && this.#parts.store.changes.fresh(STALE_MS);
		if (!look) return known;
		// `get` waits for it, and fails with it.
		look.catch(() => undefined);
		return null;
	}

	/** Returns the prepared gateway; null when there is none, or it is not active. */
	async get(organizationSlug: string, endpoint: string): Promise<MountedGateway | null> {
		const look = this.#parts.store.changes.fresh(STALE_MS);
		if (look) await look;
		const key = organizationSlug + endpoint;
		const known = this.#mounted.get(key);
		if (known) return known.gateway;
		const entry: CachedGateway = {
			organizationId: null,
			ready: null,
			gateway: this.#load(organizationSlug, endpoint).then(({ organizationId, gateway }) => {
				entry.organizationId = organizationId;
				entry.ready = gateway;
				return gateway;
			}),
		};
		this.#mounted.set(key, entry);
		entry.gateway.catch(() => this.#mounted.get(key) === entry && this.#mounted.delete(key));
		return entry.gateway;
	}

	close(): void {
		this.#unsubscribe();
		this.#mounted.clear();
	}

	async #load(organizationSlug: string, endpoint: string): Promise<{ organizationId: string | null; gateway: MountedGateway | null }> {
		const snapshot = await this.#parts.store.gateways.snapshot(organizationSlug, endpoint);
		if (!snapshot) return { organizationId: null, gateway: null };
		const organizationId = snapshot.organization.id;
		return { organizationId, gateway: snapshot.gateway.status === 'active' ? this.#mount(snapshot) : null };
	}

	#mount(snapshot: GatewaySnapshot): MountedGateway {
		const url = `${this.#parts.config.publicUrls[0]}/${snapshot.organization.slug}${snapshot.gateway.endpoint}`;
		return mountGateway(snapshot, url, this.#parts);
	}

	/**
	 * Drops gateways of changed organizations. One that is still loading, or was missing, may belong to any of them. A gateway caches no
	 * records and no accounts.
	 */
	#drop(topics: ReadonlySet<string>): void {
		if (![...topics].some((topic) => topic === '*' || topic.startsWith('org:'))) return;
		for (const [key, { organizationId }] of this.#mounted) {
			if (organizationId === null || topics.has(`org:${organizationId}`) || topics.has('*')) this.#mounted.delete(key);
		}
	}
}
