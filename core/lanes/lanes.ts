// Outbound limits: each API with limits has a lane, shared by all replicas, through which its calls pass. An API without limits
// never comes here.

import { GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import type { RedisClient } from '../shared/redis.ts';
import type { ApiRow } from '../store/store.ts';
import { LaneCluster } from './cluster.ts';
import { localGate, shareOf } from './gates.ts';
import { type Gate, Lane, type LaneApi, type Leave, type QueuedCall } from './lane.ts';

export interface Lanes {
	/**
	 * Resolves when a call of the API may begin, with the function that ends it. @throws rate_limited when too many calls wait already,
	 * or this one has waited too long; the signal's reason when it was aborted
	 */
	enter(api: LaneApi, call: QueuedCall): Promise<Leave>;
	close(): Promise<void>;
}

export interface LaneParts {
	/** Null when there is no Redis. */
	redis: {
		connect: () => RedisClient;
		/** Resolves when Redis can be reached. @throws unavailable */
		ping: () => Promise<void>;
		/** The number of replicas that were last seen alive, this one included. */
		replicas: () => number;
	} | null;
	log: Log;
}

/** The most lanes of this process; beyond it, idle lanes are dropped, and if none is idle, calls of further APIs are refused. */
const LANES = 2000;
/** The most lanes of one organization: a lane whose spacing is long stays, and so do those of a tenant that calls each API once a minute. */
const OF_ORGANIZATION = LANES / 8;
const IDLE_MS = 60_000;
const SWEEP_MS = 10_000;
const PROBE_MS = 500;
/** The most retired connections that wait for their places; more mean a Redis that comes and goes, and the oldest are closed. */
const RETIRED = 8;

/** Returns the part of the API that its lane needs; null for an API without limits. */
export function laneOf(api: ApiRow | null): LaneApi | null {
	const outbound = api?.outbound;
	if (!outbound || (outbound.maxConcurrent === undefined && !outbound.minTimeMs)) return null;
	return { id: api.id, organizationId: api.organizationId, name: api.name, version: api.version, outbound };
}

export const createLanes = (parts: LaneParts): Lanes => new ApiLanes(parts);

class ApiLanes implements Lanes {
	readonly #redis: LaneParts['redis'];
	readonly #log: Log;
	readonly #lanes = new Map<string, Lane>();
	readonly #retired = new Set<LaneCluster>();
	readonly #sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
	/** The current connection, made with the first lane; null while Redis is away. */
	#cluster: LaneCluster | null = null;
	#madeAtMs = Number.NEGATIVE_INFINITY;
	/** The timer that looks for Redis while it is away. */
	#probe: NodeJS.Timeout | null = null;

	constructor({ redis, log }: LaneParts) {
		this.#redis = redis;
		this.#log = log;
	}

	async enter(api: LaneApi, call: QueuedCall): Promise<Leave> {
		const lane = this.#lanes.get(api.id) ?? this.#make(api);
		// A gateway's row may be a second old, so an older one is ignored.
		if (api.version > lane.api.version) this.#change(lane, api);
		return lane.enter(call);
	}

	async close(): Promise<void> {
		clearInterval(this.#sweeper);
		if (this.#probe) clearInterval(this.#probe);
		this.#probe = null;
		const reason = new GatewayError('unavailable', 'The service is stopping.');
		for (const lane of this.#lanes.values()) lane.close(reason);
		this.#lanes.clear();
		const clusters = [...this.#retired, ...(this.#cluster ? [this.#cluster] : [])];
		this.#cluster = null;
		await Promise.all(clusters.map((cluster) => cluster.close()));
	}

	#make(api: LaneApi): Lane {
		if (this.#isFull(api)) this.#sweep(0);
		if (this.#isFull(api))
			throw new GatewayError('rate_limited', `The API "${api.name}" must wait: too many APIs are called at once. Try again later.`);
		const lane = new Lane(api, this.#gate(api));
		this.#lanes.set(api.id, lane);
		return lane;
	}

	#isFull({ organizationId }: LaneApi): boolean {
		if (this.#lanes.size < OF_ORGANIZATION) return false;
		if (this.#lanes.size >= LANES) return true;
		let own = 0;
		for (const lane of this.#lanes.values()) if (lane.api.organizationId === organizationId) own += 1;
		return own >= OF_ORGANIZATION;
	}

	#change(lane: Lane, api: LaneApi): void {
		const [from, to] = [lane.api.outbound, api.outbound];
		if (from.maxConcurrent === to.maxConcurrent && from.minTimeMs === to.minTimeMs) lane.update(api);
		else lane.use(this.#gate(api), api);
	}

	#gate({ id, outbound }: LaneApi): Gate {
		const redis = this.#redis;
		if (!redis) return localGate(outbound);
		if (this.#probe) return localGate(shareOf(outbound, redis.replicas()));
		this.#cluster ??= this.#join(redis);
		return this.#cluster.gate(id, outbound);
	}

	#join({ connect, replicas }: NonNullable<LaneParts['redis']>): LaneCluster {
		this.#madeAtMs = performance.now();
		return new LaneCluster({
			connect,
			replicas,
			onTrouble: (cluster, trouble) => {
				if (cluster === this.#cluster) this.#leave(cluster, trouble);
				// A retired connection's places are no longer counted anywhere.
				else if (trouble.isForgotten) for (const lane of this.#lanes.values()) lane.recount();
			},
		});
	}

	#leave(cluster: LaneCluster, { error, isForgotten }: { error: Error; isForgotten: boolean }): void {
		this.#cluster = null;
		// A Redis that forgets over and over counts as away.
		const isAway = !isForgotten || performance.now() - this.#madeAtMs < PROBE_MS;
		this.#retired.add(cluster);
		cluster.retire().then(() => this.#retired.delete(cluster));
		const [oldest] = this.#retired;
		if (oldest && this.#retired.size > RETIRED) void oldest.close();
		this.#log.warn(
			{ error: error.message },
			isAway ? 'outbound lanes are kept by this replica alone' : 'outbound lanes begin anew in Redis',
		);
		if (isAway) this.#probe = setInterval(() => this.#look(), PROBE_MS).unref();
		this.#regate();
	}

	#look(): void {
		this.#redis?.ping().then(
			() => this.#found(),
			() => undefined,
		);
	}

	#found(): void {
		if (!this.#probe) return;
		clearInterval(this.#probe);
		this.#probe = null;
		this.#log.info({}, 'outbound lanes are shared by all replicas again');
		this.#regate();
	}

	#regate(): void {
		this.#sweep(0);
		for (const lane of this.#lanes.values()) lane.use(this.#gate(lane.api));
	}

	/** Drops the lanes that have been idle for so long, and whose next call may begin at once. */
	#sweep(idleMs = IDLE_MS): void {
		const now = performance.now();
		for (const [id, lane] of this.#lanes) {
			const { idleSinceMs, api } = lane;
			if (idleSinceMs === null || now - idleSinceMs < Math.max(idleMs, api.outbound.minTimeMs ?? 0)) continue;
			lane.close();
			this.#lanes.delete(id);
		}
	}
}
