// Tests outbound lanes when a replica, Redis, a connection or the service itself fails.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PATIENCE_MS, until } from '../../test/helpers/clock.ts';
import { apiWith, type Breakable, breakable, type Cluster, cluster, counted, HOLD_MS, within } from '../../test/helpers/lanes.ts';
import { asGatewayError } from '../contract/errors.ts';
import type { LaneApi } from './lane.ts';
import type { Lanes } from './lanes.ts';

const CHILD = `
import { createLanes } from ${JSON.stringify(fileURLToPath(new URL('./lanes.ts', import.meta.url)))};
import { connectLanes } from ${JSON.stringify(fileURLToPath(new URL('../shared/redis.ts', import.meta.url)))};
const [api, target, holds] = process.argv.slice(-3).map((text) => JSON.parse(text));
const quiet = () => undefined;
const redis = target && { connect: () => connectLanes(target), ping: async () => {}, replicas: () => 2 };
const lanes = createLanes({ redis, log: { debug: quiet, info: quiet, warn: quiet, error: quiet } });
const { signal } = new AbortController();
const enter = () => lanes.enter(api, { signal, holdMs: 500 });
for (let held = 0; held < holds; held++) await enter();
enter().catch(quiet);
process.stdin.once('data', () => lanes.close());
process.stdout.write('held');
`;

/** Starts a replica in a process of its own that holds so many places, while one more call waits. */
async function childReplica(t: TestContext, api: LaneApi, target: Cluster['target'] | null, holds: number) {
	const args = ['--input-type=module-typescript', '--eval', CHILD, '--', JSON.stringify(api), JSON.stringify(target), String(holds)];
	const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
	t.after(() => child.kill('SIGKILL'));
	await once(child.stdout, 'data');
	return child;
}

test('the places of a replica that was killed come back', async (t) => {
	const { replicas, target } = await cluster(t);
	const api = apiWith({ maxConcurrent: 2 });
	const child = await childReplica(t, api, target, 2);
	child.kill('SIGKILL');
	await once(child, 'exit');
	const waiting = { signal: new AbortController().signal, holdMs: HOLD_MS };
	await assert.rejects(replicas[0].enter({ ...api, outbound: { ...api.outbound, maxWaitMs: 100 } }, waiting), { code: 'rate_limited' });
	// No other process would release these places.
	const patient = apiWith({ ...api.outbound, maxWaitMs: PATIENCE_MS }, 2);
	const both = await Promise.all([replicas[0].enter(patient, waiting), replicas[1].enter(patient, waiting)]);
	for (const leave of both) leave();
});

for (const kind of ['local', 'clustered'] as const) {
	test(`closed lanes let the process end, whatever was held or reserved (${kind})`, async (t) => {
		const target = kind === 'local' ? null : (await cluster(t)).target;
		const child = await childReplica(t, apiWith({ maxConcurrent: 2, minTimeMs: 3_600_000 }), target, 1);
		// The next place is reserved, an hour from now.
		await sleep(100);
		child.stdin.end('close');
		const [code] = await once(child, 'exit');
		assert.equal(code, 0);
	});
}

test('closed lanes let the process end when a place is reserved on a connection that was replaced', { timeout: 60_000 }, async (t) => {
	const given = await breakable(t);
	const child = await childReplica(t, apiWith({ maxConcurrent: 2, minTimeMs: 3_600_000 }), given.target, 1);
	await sleep(100);
	given.freeze();
	// A heartbeat comes every second, and its answer may take another.
	await sleep(2500);
	given.thaw();
	child.stdin.end('close');
	assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('what is under way when Redis is flushed is counted again, and what is over when it is cut off is free again', async (t) => {
	const given = await breakable(t);
	const [first, second] = given.replicas;
	const api = apiWith({ maxConcurrent: 2 });
	const held = [await first.enter(api, within(20_000)), await first.enter(api, within(20_000))];
	await second.enter(api, within(50)).catch(() => undefined);
	await given.flush();
	await sleep(2000);
	await assert.rejects(second.enter(api, within(300)), { name: 'TimeoutError' });
	await given.cut();
	for (const leave of held) leave();
	const both = await Promise.all([second.enter(api, within(20_000)), second.enter(api, within(20_000))]);
	for (const leave of both) leave();
});

/** Makes calls at both replicas until stopped, one after the other in each of `lanes` sequences. */
function traffic(lanes: [Lanes, Lanes], call: (lanes: Lanes) => Promise<void>) {
	const outcome = { made: 0, errors: [] as string[] };
	let isOver = false;
	const strand = async (own: Lanes): Promise<void> => {
		while (!isOver) {
			await call(own).then(
				() => outcome.made++,
				(error) => outcome.errors.push(asGatewayError(error)?.message ?? String(error)),
			);
		}
	};
	const strands = Promise.all([...lanes, ...lanes, ...lanes].map(strand));
	const stop = (): Promise<unknown> => {
		isOver = true;
		return strands;
	};
	return { outcome, stop };
}

const TROUBLES: Record<string, { begin: (at: Breakable) => unknown; end: (at: Breakable) => unknown }> = {
	flushed: { begin: ({ flush }) => flush(), end: () => undefined },
	'stopped (SIGSTOP)': { begin: ({ freeze }) => freeze(), end: ({ thaw }) => thaw() },
	'killed and started again': { begin: ({ kill }) => kill(), end: ({ restart }) => restart() },
};

describe('trouble with Redis in the middle', { concurrency: true }, () => {
	for (const [name, { begin, end }] of Object.entries(TROUBLES)) {
		test(`${name}: calls go on in each replica's share, none hangs or fails, and then the lane is shared again`, async (t) => {
			const { seen, call } = await counted(t, 20);
			const given = await breakable(t);
			const api = apiWith({ maxConcurrent: 2 });
			const { outcome, stop } = traffic(given.replicas, (lanes) => call(lanes, api));
			t.after(stop);
			/** Checks from that time on that calls are made, and how many run at once. */
			const look = async (afterMs: number): Promise<void> => {
				await sleep(afterMs);
				const { made } = outcome;
				seen.most = 0;
				await until(() => outcome.made - made > 20, 'calls are made');
				assert.ok(seen.most <= 2, `${seen.most} at once`);
			};
			await look(0);
			await begin(given);
			// Both replicas know of it by then.
			await look(2000);
			await end(given);
			await look(3000);
			await stop();
			// A call that waited for ten seconds would be among the errors.
			assert.deepEqual(outcome.errors, []);
			// A single replica may use the whole limit again.
			const both = [1, 2].map(() => given.replicas[0].enter(api, within(5000)));
			for (const leave of await Promise.all(both)) leave();
		});
	}
});

test('closing ends what waits, and needs no Redis', async (t) => {
	const given = await breakable(t);
	const { signal } = new AbortController();
	const api = apiWith({ maxConcurrent: 1, minTimeMs: 5000 });
	await given.replicas[0].enter(api, { signal, holdMs: HOLD_MS });
	const waiting = given.replicas[0].enter(api, { signal, holdMs: HOLD_MS });
	const refused = assert.rejects(waiting, { code: 'unavailable' });
	await sleep(50);
	await given.kill();
	// The replica closes before the next place, which is five seconds away.
	await given.replicas[0].close();
	await refused;
});
