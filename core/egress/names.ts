// Names of upstreams, resolved to addresses. The system's resolver has two threads of the process for all organizations, and one that waits for a
// name server that keeps silent cannot be called off: names of the internet are asked for without it.

import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';

export interface ResolvedAddress {
	address: string;
	family: number;
}

/** Resolves a name to all its addresses. */
export type Lookup = (hostname: string) => Promise<ResolvedAddress[]>;

/** Two tries are over before the time in which a connection has to be there. */
const QUERY = { timeout: 1_500, tries: 2 };
/** A name server says by these that it knows no such name, or no address of it; by the last one, the machine that it has no name server. */
const UNKNOWN: readonly string[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];
/** Lookups of the system that wait for their turn. */
const MAX_WAITING = 20;
const HOSTS = process.platform === 'win32' ? 'C:/Windows/System32/drivers/etc/hosts' : '/etc/hosts';
const HOSTS_MS = 5_000;

const bySystem: Lookup = (hostname) => systemLookup(hostname, { all: true, order: 'verbatim' });

interface Parts {
	/** Addresses of name servers with their ports; by default those of the system. */
	servers?: readonly string[];
	system?: Lookup;
}

/**
 * Creates the resolver. A name without a dot, and one of the hosts file, is the system's; any other one is asked of the name servers. What they do
 * not know, or where there are none, may be a name of the operator's network, which the system completes: it is asked for those one at a time.
 */
export function createLookup({ servers, system = bySystem }: Parts = {}): Lookup {
	const resolver = new Resolver(QUERY);
	if (servers) resolver.setServers(servers);
	const isListed = hostsFile();
	const inTurn = oneAtATime(system);
	return async (hostname) => {
		const name = hostname.replace(/\.$/, '').toLowerCase();
		if (!name.includes('.') || (await isListed(name))) return system(hostname);
		const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
		const found = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
		if (found.length > 0) return found;
		const fault = [v4, v6].map((one) => (one.status === 'rejected' ? one.reason : null)).find((one) => one && !UNKNOWN.includes(one.code));
		if (fault) throw fault;
		return inTurn(hostname);
	};
}

const addressesOf = (answer: PromiseSettledResult<string[]>, family: number): ResolvedAddress[] =>
	answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];

/** Tells whether the hosts file has a name, as it was some seconds ago at most. */
function hostsFile(): (name: string) => Promise<boolean> {
	let names: Promise<ReadonlySet<string>> | null = null;
	let readAt = Number.NEGATIVE_INFINITY;
	return async (name) => {
		if (names === null || performance.now() - readAt > HOSTS_MS) {
			readAt = performance.now();
			names = readFile(HOSTS, 'utf8').then(namesIn, () => new Set());
		}
		return (await names).has(name);
	};
}

const namesIn = (text: string): ReadonlySet<string> =>
	new Set(text.split('\n').flatMap((line) => (line.split('#')[0] ?? '').trim().toLowerCase().split(/\s+/).slice(1)));

/** Has a lookup done one at a time. Each keeps its turn until it has ended, however long nobody waits for it any more. */
function oneAtATime(lookup: Lookup): Lookup {
	let last: Promise<unknown> = Promise.resolve();
	let waiting = 0;
	return (hostname) => {
		if (waiting >= MAX_WAITING) return Promise.reject(Object.assign(new Error('too many lookups'), { code: 'EAI_AGAIN' }));
		waiting++;
		const turn = last.then(() => lookup(hostname)).finally(() => waiting--);
		last = turn.catch(() => undefined);
		return turn;
	};
}
