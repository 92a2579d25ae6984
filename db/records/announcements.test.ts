// Changes of watched records, announced to every replica.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Topic } from '../../core/store/store.ts';
import { until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { begin } from '../../test/helpers/records.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const EVENTS: [id: string, doing: (world: Awaited<ReturnType<typeof begin>>) => Promise<unknown>][] = [
	['an update', ({ organizationId, scope, records }) => records.update(organizationId, scope, { key: 'a', revision: 1, value: { n: 2 } })],
	['a taking', ({ organizationId, scope, records }) => records.take(organizationId, scope, 'a')],
	['a removal', ({ organizationId, scope, records }) => records.drop(organizationId, scope, 't')],
	['a document in its place', ({ put }) => put('a', { n: 2 }, { tags: ['t'], watched: true })],
	['one in its place that is not watched', ({ put }) => put('a', { n: 2 }, { tags: ['t'] })],
];

/** Runs another replica, and collects the topics of records that it receives until a topic of ours that comes after them. */
async function listen(store: TestStore, isNew = false) {
	const replica = await openReplica(store);
	const heard: Topic[] = [];
	replica.changes.subscribe((topics) => heard.push(...topics));
	const hear = async (doing: () => Promise<unknown>): Promise<Topic[]> => {
		await doing();
		const end: Topic = `org:${randomUUID()}`;
		await administer(store.database, `INSERT INTO changes (topic) VALUES ('${end}')`);
		await until(async () => heard.includes(end), 'the end');
		return heard.splice(0).filter((topic) => topic.startsWith('record:') && topic.startsWith('record:new:') === isNew);
	};
	return { hear, [Symbol.asyncDispose]: () => replica[Symbol.asyncDispose]() };
}

for (const [id, doing] of EVENTS)
	test(`${id} of a watched record is announced to every replica, but not of an unwatched one`, async () => {
		await using store = await testStore();
		const world = await begin(store);
		const { organizationId, scope, put, records } = world;
		await using replica = await listen(store);
		assert.deepEqual(await replica.hear(() => put('a', { n: 1 }, { tags: ['t'], watched: true })), [], 'its coming is no change');
		const { topic } = (await records.look(organizationId, scope, 'a')) ?? assert.fail();
		assert.deepEqual(await replica.hear(() => doing(world)), [topic]);
		await replica.hear(() => records.drop(organizationId, scope, 't'));
		await put('a', { n: 1 }, { tags: ['t'] });
		assert.equal((await records.look(organizationId, scope, 'a'))?.topic, null);
		assert.deepEqual(await replica.hear(() => doing(world)), []);
	});

test('many watched records removed at once share one topic, and expired ones are removed unannounced', async () => {
	const { organizationId, scope, records } = await begin(store);
	await using replica = await listen(store);
	const fill = (tag: string, count: number, expiresAt = 'NULL') =>
		administer(
			store.database,
			`INSERT INTO records (organization_id, gateway_id, plugin, key, value, tags, watched, expires_at)
			SELECT '${organizationId}', '${scope.gatewayId}', '${scope.plugin}', '${tag}' || n, '{}', '{${tag}}', true, ${expiresAt}
			FROM generate_series(1, ${count}) AS n`,
		);
	await fill('many', 1_001);
	await fill('some', 1_000);
	await fill('old', 3, `now() - interval '1 second'`);
	assert.deepEqual(await replica.hear(() => records.drop(organizationId, scope, 'many')), ['record:*']);
	assert.equal((await replica.hear(() => records.drop(organizationId, scope, 'some'))).length, 1_000);
	assert.deepEqual(await replica.hear(() => records.prune()), []);
});

test('the coming of a watched record is announced by its place and key, also in the place of an expired one', async () => {
	const { organizationId, scope, put, records } = await begin(store);
	await using replica = await listen(store, true);
	for (const at of [scope, { ...scope, gatewayId: null }]) {
		const come = (ttlMs: number) => records.put(organizationId, at, 'a', {}, { watched: true, ttlMs });
		const topic = await records.arrival(organizationId, at, 'a');
		assert.deepEqual(await replica.hear(() => come(60_000)), [topic]);
		assert.deepEqual(await replica.hear(() => come(-1_000)), [], 'a change is no coming');
		assert.deepEqual(await replica.hear(() => come(60_000)), [topic]);
	}
	assert.deepEqual(await replica.hear(() => put('b')), [], 'an unwatched one');
});
