// Tests of the desk of alerts at the port: turns are taken once, incidents are told once.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { addApi, addTenant, addTool } from '../../test/helpers/samples.ts';
import { type TestStore, testStore } from '../../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const RULE = {
	...{ name: 'r', kind: 'error_rate' as const, toolId: null, apiId: null, bound: 0.5, windowMinutes: 5, minCalls: 1 },
	...{ url: 'u', secret: 's' },
};
const HOUR_MS = 3_600_000;

test('a turn is taken by one of many', async () => {
	const { alertDesk } = store;
	const turns = await Promise.all(Array.from({ length: 8 }, () => alertDesk.take('rules', HOUR_MS)));
	assert.equal(turns.filter(Boolean).length, 1);
	assert.equal(await alertDesk.take('others', HOUR_MS), true);
	assert.equal(await alertDesk.take('rules', 0), true);
});

test('an incident begins once, is told once, ends once, and is gone when its end was told', async () => {
	const { alertDesk } = store;
	const { organizationId } = await addTenant(store);
	const tool = (await addTool(store, organizationId)).id;
	const rule = (await store.alerts.create(organizationId, randomUUID(), RULE, 10)) ?? assert.fail();
	const begin = (digest: string | null) => alertDesk.begin(rule, tool, { digest, untold: { at: digest } });
	assert.deepEqual((await Promise.all([begin(null), begin(null), begin(null)])).filter(Boolean), [true]);
	const [first = assert.fail(), ...others] = await alertDesk.untold(10);
	assert.deepEqual(others, []);
	assert.deepEqual([first.subject, first.isOpen, first.rule], [tool, true, { name: 'r', url: 'u', secret: 's' }]);
	assert.equal(await begin('another content'), true, 'a message of its own');
	await alertDesk.told(first);
	const [second = assert.fail()] = await alertDesk.untold(10);
	assert.deepEqual(second.untold, { at: 'another content' }, 'the former one was told, and not this');
	await alertDesk.told(second);
	assert.deepEqual(await alertDesk.untold(10), []);
	assert.equal((await alertDesk.open([rule.id])).length, 1);
	const incident = { organizationId, ruleId: rule.id, subject: tool };
	assert.deepEqual([await alertDesk.end(incident, { over: true }), await alertDesk.end(incident, {})], [true, false]);
	const [last = assert.fail()] = await alertDesk.untold(10);
	assert.equal(last.id, second.id);
	await alertDesk.told(last);
	assert.deepEqual([await alertDesk.untold(10), await alertDesk.open([rule.id])], [[], []]);
	assert.equal(await store.alerts.remove(organizationId, rule.id), true);
	assert.equal(await begin(null), false, 'a rule that is gone begins nothing');
});

test('what one organization cannot be told does not stand before what others wait for', async () => {
	const { alertDesk } = store;
	const rules = [];
	for (const count of [4, 1, 1]) {
		const { organizationId } = await addTenant(store);
		const rule = (await store.alerts.create(organizationId, randomUUID(), RULE, 10)) ?? assert.fail();
		rules.push(rule);
		for (let n = 0; n < count; n++) await alertDesk.begin(rule, (await addTool(store, organizationId)).id, { digest: null, untold: { n } });
	}
	const [first, second, third] = rules;
	const told = (await alertDesk.untold(4)).map(({ ruleId }) => ruleId);
	assert.deepEqual(told, [first?.id, second?.id, third?.id, first?.id]);
	for (const alert of await alertDesk.untold(10)) await alertDesk.told(alert);
	for (const rule of rules) await store.alerts.remove(rule.organizationId, rule.id);
});

test('active rules are read by pages, and those of an API with those of all', async () => {
	const { organizationId } = await addTenant(store);
	const [api, other] = [(await addApi(store, organizationId)).id, (await addApi(store, organizationId)).id];
	const make = (fields: object) => store.alerts.create(organizationId, randomUUID(), { ...RULE, ...fields }, 10);
	const measured = await Promise.all([make({}), make({ kind: 'latency' }), make({ kind: 'latency' })]);
	await store.alerts.update(organizationId, measured[2]?.id ?? '', { status: 'inactive' });
	const all = await make({ kind: 'credential', bound: null });
	const own = await make({ kind: 'credential', bound: null, apiId: api });
	await make({ kind: 'credential', bound: null, apiId: other });
	const [one = assert.fail()] = await store.alertDesk.active(['error_rate', 'latency'], null, 1);
	const rest = await store.alertDesk.active(['error_rate', 'latency'], one.id, 10);
	assert.deepEqual(
		[one, ...rest].map(({ id }) => id).sort(),
		measured
			.slice(0, 2)
			.map((row) => row?.id)
			.sort(),
	);
	assert.deepEqual(
		(await store.alertDesk.ofApi(organizationId, 'credential', api)).map(({ id }) => id),
		[all?.id, own?.id],
	);
	await assert.rejects(store.alerts.create(organizationId, randomUUID(), RULE, 6), { code: 'conflict' });
});

test('a watched API is taken once in so long, and its own row stays as it is', async () => {
	const { organizationId } = await addTenant(store);
	const { id } = await addApi(store, organizationId);
	await addApi(store, organizationId);
	const watching = await store.apis.update(organizationId, id, { watch: 'daily' });
	const taken = await Promise.all([store.alertDesk.watched(HOUR_MS, 4), store.alertDesk.watched(HOUR_MS, 4)]);
	assert.deepEqual(taken.flat(), [{ organizationId, apiId: id }]);
	assert.equal((await store.alertDesk.watched(0, 4)).length, 1);
	assert.equal((await store.apis.get(organizationId, id))?.version, watching?.version);
});

test('an account that has many APIs watched keeps those of others waiting for none of them', async () => {
	const watch = async (organizationId: string): Promise<void> => {
		const { id } = await addApi(store, organizationId);
		await store.apis.update(organizationId, id, { watch: 'daily' });
	};
	const [many, few] = [(await addTenant(store)).organizationId, (await addTenant(store)).organizationId];
	for (let n = 0; n < 5; n++) await watch(many);
	await watch(few);
	const taken = (await store.alertDesk.watched(HOUR_MS, 4)).map(({ organizationId }) => organizationId);
	assert.deepEqual([taken.length, taken.includes(few)], [4, true]);
});
