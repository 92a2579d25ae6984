// Tests outbound lanes without failures: which calls may begin, wait, or are refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { elapsing, firstOf } from '../../test/helpers/clock.ts';
import { apiWith, cluster, counted, HOLD_MS, localLanes, within } from '../../test/helpers/lanes.ts';
import type { GatewayError } from '../contract/errors.ts';
import type { OutboundLimits } from '../store/store.ts';
import type { LaneApi } from './lane.ts';
import { laneOf } from './lanes.ts';

test('an API without limits of calls has no lane', () => {
	const row = { ...apiWith({}), organizationId: 'o', type: 'openapi', baseUrl: '', description: null, status: 'active', passThrough: [] };
	const results = { strictOutput: false, icon: null, watch: null };
	const dates = { createdAt: new Date(), updatedAt: new Date() };
	assert.equal(laneOf(null), null);
	for (const outbound of [null, {}, { maxQueued: 5 }, { minTimeMs: 0 }])
		assert.equal(laneOf({ ...row, ...results, ...dates, outbound }), null);
	assert.deepEqual(laneOf({ ...row, ...results, ...dates, outbound: { maxConcurrent: 1 } })?.outbound, { maxConcurrent: 1 });
});

test('without Redis a lane lets as many calls through at once as it may, in their order, and loses none', async (t) => {
	const { seen, call } = await counted(t, 20);
	const lanes = localLanes(t);
	await Promise.all(Array.from({ length: 12 }, () => call(lanes, apiWith({ maxConcurrent: 2 }))));
	assert.deepEqual([seen.most, seen.began], [2, 12]);
});

test('two replicas together never pass the number of calls at once, and every call is made', async (t) => {
	const { seen, call } = await counted(t, 30);
	const { replicas } = await cluster(t);
	const api = apiWith({ maxConcurrent: 2 });
	await Promise.all(Array.from({ length: 30 }, (_, at) => call(replicas[at % 2 === 0 ? 0 : 1], api)));
	assert.deepEqual([seen.most, seen.began], [2, 30]);
});

test('calls of both replicas begin as far apart as they must', async (t) => {
	const { seen, call } = await counted(t, 1);
	const { replicas } = await cluster(t);
	const api = apiWith({ minTimeMs: 200 });
	// Separate timers in each replica would take less than half of this time.
	const isTime = elapsing(1000);
	await Promise.all(Array.from({ length: 6 }, (_, at) => call(replicas[at % 2 === 0 ? 0 : 1], api)));
	assert.ok(isTime(), 'the last one was too early');
	assert.equal(seen.began, 6);
});

test('a full lane refuses at once, a late call when it has waited, and both name the API', async (t) => {
	const lanes = localLanes(t);
	const { signal } = new AbortController();
	const api = apiWith({ maxConcurrent: 1, maxQueued: 2, maxWaitMs: 150 });
	const enter = () => lanes.enter(api, { signal, holdMs: HOLD_MS });
	const [first, second, third, fourth] = [enter(), enter(), enter(), enter()];
	// The call starts at once: those before it still wait for their 150 ms.
	assert.equal(await firstOf({ second, third, fourth }), 'fourth');
	await assert.rejects(fourth, (error: GatewayError) => {
		assert.match(error.message, /"Pets" is full: 2 calls wait/);
		// By details, whoever repeats what an upstream refused knows that it was refused here.
		assert.deepEqual([error.code, error.details.map(({ path }) => path)], ['rate_limited', ['/outbound/maxQueued']]);
		return true;
	});
	const leave = await first;
	for (const waiting of [second, third]) await assert.rejects(waiting, { code: 'rate_limited', message: /"Pets" was busy: .* 150 ms/ });
	leave();
	(await enter())();
});

test('a lane that lets nobody wait lets a call through when there is room', async (t) => {
	const lanes = localLanes(t);
	const { signal } = new AbortController();
	const enter = (outbound: OutboundLimits) =>
		lanes.enter({ ...apiWith({ ...outbound, maxQueued: 0 }), id: JSON.stringify(outbound) }, { signal, holdMs: 100 });
	for (const outbound of [{ maxConcurrent: 2 }, { minTimeMs: 10 }]) (await enter(outbound))();
	await Promise.all([enter({ maxConcurrent: 2 }), enter({ maxConcurrent: 2 })]);
	await assert.rejects(enter({ maxConcurrent: 2 }), { code: 'rate_limited' });
});

for (const kind of ['local', 'clustered'] as const) {
	test(`a call that is cancelled while it waits goes at once, and costs the others nothing (${kind})`, async (t) => {
		const lanes = kind === 'local' ? localLanes(t) : (await cluster(t)).replicas[0];
		const api = apiWith({ maxConcurrent: 1, maxQueued: 20, minTimeMs: 700 });
		const leave = await lanes.enter(api, { signal: AbortSignal.timeout(HOLD_MS), holdMs: HOLD_MS });
		const controller = new AbortController();
		const gone = Array.from({ length: 20 }, () => lanes.enter(api, { signal: controller.signal, holdMs: HOLD_MS }));
		const reason = new Error('the client left');
		controller.abort(reason);
		for (const waiting of gone) await assert.rejects(waiting, reason);
		await assert.rejects(lanes.enter(api, { signal: controller.signal, holdMs: HOLD_MS }), reason);
		const stays = lanes.enter(api, { signal: AbortSignal.timeout(HOLD_MS), holdMs: HOLD_MS });
		leave();
		// Twenty calls still known to Bottleneck would take fourteen seconds, and a call waits for ten.
		(await stays)();
	});
}

test('limits that are edited hold from the next call on, and a row that is older than the last is ignored', async (t) => {
	const { replicas } = await cluster(t);
	const { signal } = new AbortController();
	const enter = (api: LaneApi) => replicas[0].enter(api, { signal, holdMs: HOLD_MS });
	/** Whoever is to get a turn may wait long for it, on a busy machine. */
	const [patientMs, impatientMs] = [HOLD_MS / 2, 300];
	const held = await enter(apiWith({ maxConcurrent: 1, maxWaitMs: patientMs }, 1));
	const narrow = apiWith({ maxConcurrent: 1, maxWaitMs: impatientMs }, 2);
	await assert.rejects(enter(narrow), { code: 'rate_limited' });
	const second = await enter(apiWith({ maxConcurrent: 2, maxWaitMs: patientMs }, 3));
	// Calls under way count against the new limits, at the other replica too.
	await sleep(50);
	const wide = apiWith({ maxConcurrent: 2, maxWaitMs: impatientMs }, 4);
	await assert.rejects(replicas[1].enter(wide, { signal, holdMs: HOLD_MS }), { code: 'rate_limited' });
	held();
	(await enter(narrow))();
	second();
});

test('a process has so many lanes at most: one that has nothing to do makes room, one in use does not', async (t) => {
	const lanes = localLanes(t);
	const enter = (at: number) =>
		lanes.enter({ ...apiWith({ maxConcurrent: 1 }), id: String(at), organizationId: String(at % 10) }, within(HOLD_MS));
	const leaves = await Promise.all(Array.from({ length: 2000 }, (_, at) => enter(at)));
	await assert.rejects(enter(2000), { code: 'rate_limited', message: /"Pets".*too many APIs/ });
	leaves[7]?.();
	(await enter(2000))();
	for (const leave of leaves) leave();
});

test('an organization has an eighth of the lanes at most, also where its calls are far apart, so that there is one for others', async (t) => {
	const lanes = localLanes(t);
	const enter = (at: number, organizationId: string) =>
		lanes.enter({ ...apiWith({ minTimeMs: 60_000 }), id: `${organizationId}${at}`, organizationId }, within(HOLD_MS));
	for (let at = 0; at < 250; at++) (await enter(at, 'large'))();
	await assert.rejects(enter(250, 'large'), { code: 'rate_limited', message: /too many APIs/ });
	(await enter(0, 'small'))();
});
