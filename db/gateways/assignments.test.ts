// A tool's name and description in one gateway, different from its own.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError } from '../../core/contract/errors.ts';
import type { AssignmentChange, Store } from '../../core/store/store.ts';
import { addGateway, addTenant, addTool } from '../../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../../test/helpers/store.ts';
import { createClient } from '../connection.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const PAGE = { limit: 100 };
const TAKEN = { code: 'conflict', message: 'The name is taken by another tool of this gateway.' };

/** Makes a gateway with tools of these names, and a function that changes their assignments. */
async function furnish(store: Store, names: string[]) {
	const { organizationId, slug } = await addTenant(store);
	const gateway = (await addGateway(store, organizationId)).id;
	const tools: string[] = [];
	for (const name of names) tools.push((await addTool(store, organizationId, { name })).id);
	const assigned = await store.gateways.assign(organizationId, gateway, tools);
	const change = (id: string, values: AssignmentChange) => store.gateways.updateAssignment(organizationId, gateway, id, values);
	return { organizationId, slug, gateway, tools, assigned, change };
}

test('an alias and a description apply to one gateway: the tool, and other gateways, keep theirs', async () => {
	const { organizationId, slug, gateway, tools, assigned, change } = await furnish(store, ['getPet']);
	const [tool = assert.fail()] = tools;
	const [first = assert.fail()] = assigned;
	const other = (await addGateway(store, organizationId, '/other')).id;
	await store.gateways.assign(organizationId, other, [tool]);
	assert.deepEqual([first.name, first.description, first.rateLimit], ['getPet', null, null]);

	const aliased = await change(first.id, { name: 'read_a_pet', description: 'Reads one.', rateLimit: 3 });
	assert.deepEqual(aliased, { ...first, name: 'read_a_pet', description: 'Reads one.', rateLimit: 3 });
	assert.deepEqual((await store.gateways.tools(organizationId, gateway, PAGE)).items[0]?.assignment, aliased);
	assert.deepEqual((await store.gateways.snapshot(slug, '/main'))?.tools[0]?.assignment, aliased);
	const [elsewhere] = (await store.gateways.snapshot(slug, '/other'))?.tools ?? [];
	assert.deepEqual([elsewhere?.assignment.name, elsewhere?.assignment.description], ['getPet', null]);
	assert.equal((await store.tools.get(organizationId, tool))?.name, 'getPet');
});

test('fields that a change leaves out stay, and null restores the tool’s own', async () => {
	const { tools, change } = await furnish(store, ['getPet']);
	const [tool = assert.fail()] = tools;
	const seen: unknown[] = [];
	for (const values of [
		{ name: 'a', description: 'b', rateLimit: 1 },
		{},
		{ rateLimit: null },
		{ description: '' },
		{ name: 'a' },
		{ name: 'A' },
		{ description: null },
		{ name: null },
	]) {
		const row = await change(tool, values);
		seen.push([row?.name, row?.description, row?.rateLimit]);
	}
	assert.deepEqual(seen, [
		['a', 'b', 1],
		['a', 'b', 1],
		['a', 'b', null],
		['a', '', null],
		['a', '', null],
		['A', '', null],
		['A', null, null],
		['getPet', null, null],
	]);
});

test('a name that another tool of the gateway has is a conflict, ignoring case', async () => {
	const { organizationId, tools, change } = await furnish(store, ['getPet', 'addPet']);
	const [first = assert.fail(), second = assert.fail()] = tools;
	for (const name of ['addPet', 'ADDPET']) await assert.rejects(change(first, { name, rateLimit: 9 }), TAKEN);
	const free = await change(second, { name: 'putPet' });
	assert.equal(free?.name, 'putPet');
	assert.equal((await change(first, { name: 'addPet' }))?.name, 'addPet');

	const other = (await addGateway(store, organizationId, '/other')).id;
	await store.gateways.assign(organizationId, other, [second]);
	assert.equal((await store.gateways.updateAssignment(organizationId, other, second, { name: 'addPet' }))?.name, 'addPet');
});

test('the tool’s own name is restored with a suffix when another tool has it by now, and follows the tool', async () => {
	const { organizationId, gateway, tools, change } = await furnish(store, ['getPet', 'other']);
	const [first = assert.fail(), second = assert.fail()] = tools;
	await change(first, { name: 'alias' });
	await change(second, { name: 'GetPet' });
	const back = await change(first, { name: null });
	assert.match(back?.name ?? '', /^getPet_[0-9a-f]{8}$/);
	assert.equal((await change(first, { name: null }))?.name, back?.name, 'its own name does not stand in its way');
	await store.gateways.unassign(organizationId, gateway, first);
	assert.equal((await store.gateways.assign(organizationId, gateway, [first]))[0]?.name, back?.name, 'as `assign` has it');

	await change(second, { name: null });
	await store.tools.update(organizationId, first, { name: 'find pets' });
	assert.equal((await change(first, { name: null }))?.name, 'find_pets');
});

test('text that cannot be stored is refused with the field’s name', async () => {
	const { tools, change } = await furnish(store, ['getPet']);
	for (const field of ['name', 'description'])
		for (const text of ['a\0', '\ud800'])
			await assert.rejects(change(tools[0] ?? '', { [field]: text }), { code: 'validation_failed', message: new RegExp(`^${field} `) });
});

test('one of fifty concurrent requests for one name in a gateway gets it', async () => {
	await using replica = await openReplica(store);
	const { organizationId, gateway, tools } = await furnish(
		store,
		Array.from({ length: 50 }, (_, n) => `t${n}`),
	);
	const renames = tools.map((id, n) =>
		(n % 2 ? store : replica).gateways.updateAssignment(organizationId, gateway, id, { name: n % 3 ? 'best' : 'BEST' }),
	);
	const codes = (await Promise.allSettled(renames)).map((result) =>
		result.status === 'fulfilled' ? 'named' : asGatewayError(result.reason)?.code,
	);
	assert.deepEqual(codes.sort(), [...Array(49).fill('conflict'), 'named']);
});

test('a change of a name waits for a running assignment, and then sees its name; another change does not wait', async () => {
	const { organizationId, gateway, tools, change } = await furnish(store, ['getPet', 'other']);
	const [first = assert.fail(), second = assert.fail()] = tools;
	await change(first, { name: 'alias' });
	await store.gateways.unassign(organizationId, gateway, second);
	const client = createClient(store.database);
	await client.connect();
	try {
		await client.query('BEGIN');
		await client.query('SELECT id FROM gateways WHERE id = $1 FOR NO KEY UPDATE', [gateway]);
		const insert = `INSERT INTO gateway_tools (organization_id, gateway_id, tool_id, name) VALUES ($1, $2, $3, 'getPet')`;
		await client.query(insert, [organizationId, gateway, second]);
		const back = change(first, { name: null });
		assert.equal((await change(first, { rateLimit: 5 }))?.rateLimit, 5);
		assert.equal(await Promise.race([back, sleep(300, 'waits')]), 'waits');
		await client.query('COMMIT');
		assert.match((await back)?.name ?? '', /^getPet_[0-9a-f]{8}$/);
	} finally {
		await client.end();
	}
});
