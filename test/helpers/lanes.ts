// Outbound lanes with a real Redis, on real upstreams that count concurrent requests: two replicas are two instances in this process, which
// share nothing but Redis.

import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createEgress } from '../../core/egress/egress.ts';
import type { LaneApi } from '../../core/lanes/lane.ts';
import { createLanes, type Lanes } from '../../core/lanes/lanes.ts';
import { connectLanes, createShared } from '../../core/shared/redis.ts';
import type { OutboundLimits } from '../../core/store/store.ts';
import { startRedis, testRedis } from './redis.ts';
import { silent } from './silent.ts';
import { httpUpstream } from './upstream.ts';

/** Time after which slots of lost replicas are free again, longer than any test waits for them. */
export const HOLD_MS = 20_000;
const REPLICAS = 2;

export const apiWith = (outbound: OutboundLimits, version = 1): LaneApi => ({
	id: 'pets',
	organizationId: 'acme',
	name: 'Pets',
	version,
	outbound,
});

export function localLanes(t: TestContext): Lanes {
	const lanes = createLanes({ redis: null, log: silent });
	t.after(() => lanes.close());
	return lanes;
}

async function replica(t: TestContext, target: { host: string; port: number; keyPrefix: string }): Promise<Lanes> {
	const shared = await createShared(target, silent);
	const redis = { connect: () => connectLanes(target), ping: () => shared.ping(), replicas: () => REPLICAS };
	const lanes = createLanes({ redis, log: silent });
	t.after(async () => {
		await lanes.close();
		await shared.close();
	});
	return lanes;
}

const freshPrefix = (): string => `gatehouse-test-${randomBytes(6).toString('hex')}:`;

export interface Cluster {
	replicas: [Lanes, Lanes];
	target: { host: string; port: number; keyPrefix: string };
}

export interface Breakable extends Cluster {
	flush(): Promise<unknown>;
	/** Closes every connection; the data stays. */
	cut(): Promise<unknown>;
	freeze(): void;
	thaw(): void;
	kill(): Promise<void>;
	/** Starts it again on the same port, empty. */
	restart(): Promise<void>;
}

export async function cluster(t: TestContext): Promise<Cluster> {
	const { host, port, stop } = await testRedis();
	const target = { host, port, keyPrefix: freshPrefix() };
	const replicas: [Lanes, Lanes] = [await replica(t, target), await replica(t, target)];
	t.after(stop);
	return { replicas, target };
}

/** Starts lanes on a Redis of their own. */
export async function breakable(t: TestContext): Promise<Breakable> {
	let redis = await startRedis();
	const { host, port } = redis;
	const target = { host, port, keyPrefix: freshPrefix() };
	const replicas: [Lanes, Lanes] = [await replica(t, target), await replica(t, target)];
	t.after(() => redis.stop());
	const command = async (name: string, ...args: string[]): Promise<unknown> => {
		const client = new Redis(port, host);
		return client.call(name, ...args).finally(() => client.disconnect());
	};
	return {
		replicas,
		target,
		flush: () => command('FLUSHALL'),
		cut: () => command('CLIENT', 'KILL', 'TYPE', 'normal'),
		freeze: () => redis.signal('SIGSTOP'),
		thaw: () => redis.signal('SIGCONT'),
		kill: () => redis.stop(),
		restart: async () => {
			redis = await startRedis(port);
		},
	};
}

/** Starts an upstream that takes `takesMs` for each response. */
export async function counted(t: TestContext, takesMs: number) {
	let inside = 0;
	const seen = { most: 0, began: 0 };
	const { origin } = await httpUpstream(t, async (_request, response) => {
		seen.began++;
		inside++;
		seen.most = Math.max(seen.most, inside);
		await sleep(takesMs);
		inside--;
		response.end('done');
	});
	const egress = createEgress({ allow: ['127.0.0.1'] });
	t.after(() => egress.close());
	const call = async (lanes: Lanes, api: LaneApi, signal = new AbortController().signal): Promise<void> => {
		const leave = await lanes.enter(api, { signal, holdMs: HOLD_MS });
		await egress.request({ method: 'GET', url: origin }).finally(leave);
	};
	return { seen, call };
}

export const within = (ms: number) => ({ signal: AbortSignal.timeout(ms), holdMs: HOLD_MS });
