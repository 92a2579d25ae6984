// Tests of the bounds of skills, which hold for requests at once, and of what a gateway's snapshot has of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SkillBounds, SkillEdit } from '../../core/store/store.ts';
import { addGateway, addTenant } from '../../test/helpers/samples.ts';
import { testStore } from '../../test/helpers/store.ts';

const BOUNDS: SkillBounds = { skills: 3, bytes: 100, skillBytes: 60, skillFiles: 2, assigned: 2 };

const file = (path: string, size: number) => ({ path, mimeType: 'text/plain', isText: true, content: Buffer.alloc(size, 'x') });
const skill = (name: string, size = 1, ...more: string[]): SkillEdit => ({
	...{ name, description: 'x', frontmatter: {}, arguments: [], drop: [] },
	put: [file('SKILL.md', size), ...more.map((path) => file(path, 1))],
});
const conflict = { code: 'conflict' };

test('an organization has no more skills and bytes than it may, whoever comes at once', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const made = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((name) => store.skills.create(organizationId, skill(name), BOUNDS)));
	assert.deepEqual(made.map(({ status }) => status).sort(), ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected']);
	const [first, second] = (await store.skills.list(organizationId, { limit: 10 })).items;
	const grow = (id = '', size: number) =>
		store.skills.update(organizationId, id, ({ name }) => skill(name, size), { bounds: BOUNDS, ifVersion: undefined });
	await assert.rejects(grow(first?.id, 61), conflict);
	const grown = await Promise.allSettled([grow(first?.id, 55), grow(second?.id, 55)]);
	assert.deepEqual(grown.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
	const sizes = (await store.skills.list(organizationId, { limit: 10 })).items.map(({ bytes }) => bytes);
	assert.ok(sizes.reduce((sum, bytes) => sum + bytes) <= BOUNDS.bytes);
	await assert.rejects(store.skills.create((await addTenant(store)).organizationId, skill('a', 1, 'b', 'c', 'd'), BOUNDS), conflict);
});

test('a refused change leaves the files as they were', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const { id } = await store.skills.create(organizationId, skill('a', 1, 'kept'), BOUNDS);
	const change = () => ({ ...skill('a', 61), drop: ['kept'] });
	await assert.rejects(store.skills.update(organizationId, id, change, { bounds: BOUNDS, ifVersion: undefined }), conflict);
	assert.equal((await store.skills.content(organizationId, id, 'kept'))?.length, 1);
	assert.equal((await store.skills.get(organizationId, id))?.version, 1);
	await assert.rejects(
		store.skills.update(organizationId, id, () => skill('a'), { bounds: BOUNDS, ifVersion: 7 }),
		{
			code: 'precondition_failed',
		},
	);
});

test('a gateway has its skills in the order of their assignment, as many as it may, and its snapshot lists them', async () => {
	await using store = await testStore();
	const { organizationId, slug } = await addTenant(store);
	const gateway = await addGateway(store, organizationId);
	const ids: string[] = [];
	for (const name of ['a', 'b', 'c']) ids.unshift((await store.skills.create(organizationId, skill(name), BOUNDS)).id);
	for (const id of ids.slice(0, 2)) await store.skills.assign(organizationId, gateway.id, id, BOUNDS);
	await assert.rejects(store.skills.assign(organizationId, gateway.id, ids[2] ?? '', BOUNDS), conflict);
	await store.skills.assign(organizationId, gateway.id, ids[0] ?? '', BOUNDS);
	const names = async () => (await store.gateways.snapshot(slug, '/main'))?.skills.map(({ name }) => name);
	assert.deepEqual(await names(), ['c', 'b']);
	assert.deepEqual(await store.skills.remove(organizationId, ids[0] ?? '', false), { assignments: 1 });
	assert.deepEqual(await names(), ['b']);
	assert.equal((await store.gateways.remove(organizationId, gateway.id, false))?.['skills'], 1);
});
