// Opens all outbound connections: names are resolved and checked here, and the checked address is the one dialled.

import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, Pool } from 'undici';
import { BoundedMap } from '../kit/bounded-map.ts';
import { mayReach, type Openings } from './addresses.ts';
import { networkError, refusedAddress, timedOut } from './errors.ts';
import type { Owner } from './exchange.ts';
import { HELD_PER_OWNER, HeldBytes } from './held-bytes.ts';
import { createLookup, type Lookup, type ResolvedAddress } from './names.ts';
import { SOCKETS_PER_OWNER, Sockets } from './sockets.ts';
import { parseTarget, type Target } from './targets.ts';

/** The most that one owner has at a time. */
export interface Shares {
	connections?: number | undefined;
	/** Bytes of answers that are read whole and have not ended. */
	heldBytes?: number | undefined;
}

type DialTarget = Pick<Target, 'host' | 'hostname' | 'opened'>;

const CONNECT_TIMEOUT_MS = 5_000;
/** Limit of silence between two parts of an answer, if the caller sets no shorter total time. */
const IDLE_TIMEOUT_MS = 120_000;

/** An owner that sends nothing for so long has no connections left: idle ones are closed earlier. */
const UNUSED_MS = 5 * 60_000;
/** The URLs whose checks are kept, and the longest of them. */
const TARGETS = 1000;
const MAX_TARGET_CHARS = 1024;
/** The precision of an owner's last use: the order changes no more often. */
const USE_MS = 1000;

export class Dialer {
	readonly openings: Openings;
	readonly #lookup: Lookup;
	readonly #connections: number;
	readonly #held: HeldBytes;
	/** Targets by URL, as far as a check needs no name server; refusals are not kept. */
	readonly #targets = new BoundedMap<string, Target>(TARGETS);
	/**
	 * Keep-alive pools, one per owner and origin: a connection was checked for its origin when it was dialled, and an upstream that
	 * identifies a caller by its connection, or a connection that a tenant desynchronised, must not be shared. Ordered by last use.
	 */
	readonly #owners = new Map<string, Owner & { usedAt: number }>();

	constructor(
		openings: Openings,
		lookup: Lookup = createLookup(),
		{ connections = SOCKETS_PER_OWNER, heldBytes = HELD_PER_OWNER }: Shares = {},
	) {
		this.openings = openings;
		this.#lookup = lookup;
		this.#connections = connections;
		this.#held = new HeldBytes(heldBytes);
	}

	/** Returns the checked target of a URL. @throws egress_refused */
	target(url: string): Target {
		const known = this.#targets.get(url);
		if (known) return known;
		const target = parseTarget(url, this.openings);
		if (url.length <= MAX_TARGET_CHARS) this.#targets.set(url, target);
		return target;
	}

	/** Returns the owner's connections. @param name of the owner */
	agent(name: string): Agent {
		return this.owner(name).agent;
	}

	/** Returns an owner as requests need it. */
	owner(name: string): Owner {
		const usedAt = performance.now();
		const known = this.#owners.get(name);
		if (known && usedAt - known.usedAt < USE_MS) return known;
		const owner = { name, agent: known?.agent ?? this.#agent(), held: this.#held, usedAt };
		this.#owners.delete(name);
		this.#dropUnused(usedAt);
		this.#owners.set(name, owner);
		return owner;
	}

	#agent(): Agent {
		const sockets = new Sockets(this.#connections);
		return new Agent({ factory: (origin) => this.#pool(new URL(origin), sockets) });
	}

	/** Aborts requests in progress. */
	async close(): Promise<void> {
		await Promise.all([...this.#owners.values()].map(({ agent }) => agent.destroy()));
	}

	#dropUnused(now: number): void {
		for (const [name, { agent, usedAt }] of this.#owners) {
			if (now - usedAt < UNUSED_MS) return;
			this.#owners.delete(name);
			// `close` waits for requests in progress.
			agent.close().catch(() => undefined);
		}
	}

	/** Resolves a target. @returns at least one address. @throws egress_refused if any is not allowed, upstream_failed, upstream_timeout */
	async resolve({ host, hostname, opened }: DialTarget): Promise<ResolvedAddress[]> {
		const family = isIP(hostname);
		const addresses = family ? [{ address: hostname, family }] : await this.#find(host, hostname);
		// One private address among public ones is refused: the name server must not choose which one is dialled.
		if (!addresses.every(({ address }) => mayReach(address, this.openings, opened))) throw refusedAddress(host);
		return addresses;
	}

	async #find(host: string, hostname: string): Promise<ResolvedAddress[]> {
		// RFC 6761 §6.3: `localhost` and names under it are this machine, whatever a name server answers.
		const name = /(^|\.)localhost\.?$/i.test(hostname) ? 'localhost' : hostname;
		const addresses = await within(CONNECT_TIMEOUT_MS, this.#lookup(name), host);
		if (addresses.length === 0) throw networkError(Object.assign(new Error('no address'), { code: 'ENODATA' }), host);
		return addresses;
	}

	#pool(origin: URL, sockets: Sockets): Pool {
		return new Pool(origin.origin, {
			connect: sockets.bounded(this.#connector(parseTarget(origin.origin, this.openings))),
			// One request more than there may be connections waits for room, and not behind another request.
			connections: this.#connections + 1,
			keepAliveTimeout: 4_000,
			keepAliveMaxTimeout: 60_000,
			headersTimeout: IDLE_TIMEOUT_MS,
			bodyTimeout: IDLE_TIMEOUT_MS,
			allowH2: false,
		});
	}

	/** Creates the connector. Node calls `lookup` for names only; literal addresses are checked by `parseTarget`, before a pool exists. */
	#connector(target: DialTarget): buildConnector.connector {
		const lookup: LookupFunction = (_hostname, options, callback) => {
			this.resolve(target).then(
				(addresses) => {
					const [first] = addresses;
					if (options.all) callback(null, addresses);
					else callback(null, first?.address ?? '', first?.family);
				},
				(error) => callback(error, ''),
			);
		};
		return buildConnector({ lookup, timeout: CONNECT_TIMEOUT_MS, allowH2: false, autoSelectFamily: true });
	}
}

async function within<T>(timeoutMs: number, promise: Promise<T>, host: string): Promise<T> {
	const { promise: expiry, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => reject(timedOut(host, timeoutMs)), timeoutMs);
	try {
		return await Promise.race([promise, expiry]);
	} catch (error) {
		throw networkError(error, host);
	} finally {
		clearTimeout(timer);
	}
}
