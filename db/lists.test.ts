// Lists: their orders, and the pages of each.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Listed, Page } from '../core/store/store.ts';
import { actor } from '../test/helpers/audit.ts';
import { administer } from '../test/helpers/postgres.ts';
import { addApi, addGateway, addMember, addTenant, addTool, batchOf, operation, schema } from '../test/helpers/samples.ts';
import { type TestStore, testStore } from '../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

interface Item {
	id: string;
	name: string;
	updatedAt: Date;
}

type List = (page: Page) => Promise<Listed<Item>>;

/** Some are equal when case is ignored; others would break bad quoting. */
const NAMES = ['beta', 'Alpha', 'ärger', 'alpha', 'BETA', 'ÄRGER', 'alpha', "o'x $1 :n ? \\", 'a b  c', '', `${'x'.repeat(100)}b`];
NAMES.push(`${'x'.repeat(100)}A`, '😀'.repeat(120), 'Ω', 'ω');

/** Makes an organization with one item of each name, and lists them. */
const NOUNS: Record<string, (store: TestStore, organizationId: string) => { add(name: string): Promise<Item>; list: List }> = {
	apis: (store, organizationId) => ({
		add: (name) => addApi(store, organizationId, { name }),
		list: (page) => store.apis.list(organizationId, page),
	}),
	tools: (store, organizationId) => ({
		add: (name) => addTool(store, organizationId, { name }),
		list: (page) => store.tools.list(organizationId, page),
	}),
	gateways: (store, organizationId) => ({
		add: (name) => addGateway(store, organizationId, `/${randomUUID()}`, { name }),
		list: (page) => store.gateways.list(organizationId, page),
	}),
	'tools that a gateway could have': (store, organizationId) => ({
		add: (name) => addTool(store, organizationId, { name }),
		list: (page) => store.gateways.available(organizationId, randomUUID(), page),
	}),
};

async function walk<T>(list: (page: Page) => Promise<Listed<T>>, page: Page): Promise<T[]> {
	const all: T[] = [];
	for (let cursor: string | null | undefined; cursor !== null; ) {
		const { items, nextCursor }: Listed<T> = await list({ ...page, ...(cursor && { cursor }) });
		assert.ok(items.length <= page.limit);
		all.push(...items);
		assert.ok(all.length < 1_000, 'the walk ends');
		cursor = nextCursor;
	}
	return all;
}

const compare = (a: string | number, b: string | number): number => Number(a > b) - Number(a < b);
const folded = ({ name }: Item): string => Array.from(name).slice(0, 100).join('').toLowerCase();

/** Expected orders; equal items stay in order of creation. */
const ORDERS: Record<string, (a: Item, b: Item) => number> = {
	createdAt: () => 0,
	name: (a, b) => Buffer.compare(Buffer.from(folded(a)), Buffer.from(folded(b))),
	updatedAt: (a, b) => compare(a.updatedAt.getTime(), b.updatedAt.getTime()),
};

for (const [noun, of] of Object.entries(NOUNS))
	test(`${noun} are sorted by creation, update and name, either way, and no page loses or repeats one`, async () => {
		await using store = await testStore();
		const { add, list } = of(store, (await addTenant(store)).organizationId);
		for (const name of NAMES) await add(name);
		// In one statement, so that many share the same millisecond.
		for (const table of ['apis', 'tools', 'gateways']) await administer(store.database, `UPDATE ${table} SET status = 'active'`);
		const { items } = await list({ limit: 100 });
		for (const [field, order] of Object.entries(ORDERS)) {
			const sorted = items.toSorted(order).map(({ id }) => id);
			for (const limit of [1, 2, 7, 100]) {
				const [up, down] = [await walk(list, { limit, sort: field }), await walk(list, { limit, sort: `-${field}` })];
				assert.deepEqual([field, up.map(({ id }) => id)], [field, sorted]);
				assert.deepEqual([field, down.map(({ id }) => id)], [field, sorted.toReversed()]);
			}
		}
	});

/** Fills a list with rows that have this much of JSON each, by their names. */
const LARGE: Record<string, (organizationId: string) => Promise<{ add(name: string, fill: object): Promise<unknown>; list: List }>> = {
	agents: async (organizationId) => ({
		add: (name, fill) => {
			const pipeline = { nodes: [{ id: 'in', type: 'input', data: { ...fill } }], edges: [] };
			return store.agents.create(organizationId, randomUUID(), { name, description: '', pipeline, settings: {} }, 100);
		},
		list: (page) => store.agents.list(organizationId, page),
	}),
	tools: async (organizationId) => ({
		add: (name, fill) => addTool(store, organizationId, { name, parameters: { ...fill } }),
		list: (page) => store.tools.list(organizationId, page),
	}),
	gateways: async (organizationId) => ({
		add: (name, fill) => addGateway(store, organizationId, `/${randomUUID()}`, { name, configuration: { ...fill } }),
		list: (page) => store.gateways.list(organizationId, page),
	}),
	'tools of a gateway': async (organizationId) => {
		const { id } = await addGateway(store, organizationId, `/${randomUUID()}`);
		return {
			add: async (name, fill) => {
				const tool = await addTool(store, organizationId, { name, parameters: { ...fill } });
				await store.gateways.assign(organizationId, id, [tool.id]);
			},
			list: async (page) => {
				const { items, nextCursor } = await store.gateways.tools(organizationId, id, page);
				return { items: items.map(({ tool }) => tool), nextCursor };
			},
		};
	},
};

for (const [noun, of] of Object.entries(LARGE))
	test(`a page of ${noun} ends at a megabyte, or with one item, and no page loses or repeats one`, async () => {
		const { organizationId } = await addTenant(store);
		const { add, list } = await of(organizationId);
		const sizes = [10, 400, 400, 400, 1200, 10, 700, 400];
		for (const [at, size] of sizes.entries()) await add(`n${at}`, { fill: randomBytes(size * 512).toString('hex') });
		const names = sizes.map((_size, at) => `n${at}`);
		const sorts = noun === 'tools of a gateway' ? [undefined] : [undefined, '-createdAt', 'name', '-name'];
		for (const sort of sorts) {
			const pages: string[][] = [];
			for (let cursor: string | null | undefined; cursor !== null; ) {
				const page: Listed<Item> = await list({ limit: 100, ...(sort && { sort }), ...(cursor && { cursor }) });
				assert.ok(page.items.length === 1 || JSON.stringify(page.items).length <= 1_060_000, `${page.items.length} items`);
				pages.push(page.items.map(({ name }) => name));
				cursor = page.nextCursor;
			}
			const isDown = sort?.startsWith('-') ?? false;
			assert.deepEqual(pages.flat(), isDown ? names.toReversed() : names);
			assert.deepEqual(
				pages.map(({ length }) => length),
				isDown ? [1, 2, 1, 2, 2] : [3, 1, 1, 2, 1],
			);
		}
	});

test('a reader by name gets each remaining item once, whatever is added and removed meanwhile', async () => {
	const { organizationId } = await addTenant(store);
	for (const name of ['d', 'b', 'D', 'f', 'B', 'h']) await addTool(store, organizationId, { name });
	const list = (page: Page) => store.tools.list(organizationId, { ...page, sort: 'name' });
	const first = await list({ limit: 3 });
	assert.deepEqual(
		first.items.map(({ name }) => name),
		['b', 'B', 'd'],
	);
	// The cursor stands for the position of the last item, which may be gone.
	await store.tools.remove(organizationId, first.items[2]?.id ?? '', false);
	for (const name of ['a', 'd', 'e', 'z']) await addTool(store, organizationId, { name });
	const { items } = await list({ limit: 100, cursor: first.nextCursor ?? assert.fail() });
	assert.deepEqual(
		items.map(({ name }) => name),
		['D', 'd', 'e', 'f', 'h', 'z'],
	);
});

test('times are stored in whole milliseconds, in which they are compared', async () => {
	const { organizationId } = await addTenant(store);
	for (let n = 0; n < 20; n++) await addTool(store, organizationId);
	const fractions = `SELECT count(*)::int AS n FROM tools WHERE updated_at <> date_trunc('milliseconds', updated_at)`;
	assert.deepEqual(await administer(store.database, fractions), [{ n: 0 }]);
	await administer(store.database, `UPDATE tools SET status = 'active'`);
	assert.deepEqual(await administer(store.database, fractions), [{ n: 0 }]);
});

test('a cursor of another order, or an invented one, is refused naming the field', async () => {
	const { organizationId } = await addTenant(store);
	for (const name of ['a', 'b']) await addTool(store, organizationId, { name });
	const list = (page: Page) => store.tools.list(organizationId, page);
	const encoded = (text: string) => Buffer.from(text).toString('base64url');
	const sorts = [undefined, '-createdAt', 'updatedAt', '-updatedAt', 'name', '-name'];
	const made = await Promise.all(sorts.map(async (sort) => (await list({ limit: 1, ...(sort && { sort }) })).nextCursor));
	for (const [n, sort] of sorts.entries()) {
		const forged = ['', ' ', ' x', ' 1 x', ' 0', ' 1e3', ' 1 99999999999999999', ' 1 -1', ' 1 \0', ' 1 2026-01-01'];
		const others = made.filter((_, other) => other !== n).map((cursor) => cursor ?? assert.fail());
		const suffixes = sort?.endsWith('name') ? forged.filter((text) => !/^ 1 [^\0]/.test(text)) : forged;
		for (const cursor of [...others, ...suffixes.map((text) => encoded(`tools${sort ? `:${sort}` : ''}${text}`))])
			await assert.rejects(list({ limit: 1, cursor, ...(sort && { sort }) }), (error: { code: string; details: { path: string }[] }) => {
				assert.deepEqual([error.code, error.details[0]?.path], ['validation_failed', 'query/cursor'], `${sort} ${cursor}`);
				return true;
			});
	}
	assert.deepEqual(
		await list({ limit: 1, sort: 'createdAt', cursor: made[0] ?? '' }),
		await list({ limit: 1, cursor: made[0] ?? '' }),
		'the usual order may be named',
	);
});

test('an unknown order is refused, naming the known ones', async () => {
	const { organizationId } = await addTenant(store);
	const lists: [string[], (page: Page) => Promise<unknown>][] = [
		[['createdAt', '-createdAt', 'updatedAt', '-updatedAt', 'name', '-name'], (page) => store.gateways.list(organizationId, page)],
		[['createdAt', '-createdAt'], (page) => store.organizations.members(organizationId, page)],
		[['createdAt', '-createdAt'], (page) => store.audit.list(organizationId, page)],
	];
	for (const [known, list] of lists) {
		for (const sort of ['', '-', '--name', 'Name', 'seq', 'endpoint', 'constructor', '__proto__', 'name; DROP TABLE tools'])
			await assert.rejects(list({ limit: 1, sort }), {
				code: 'validation_failed',
				message: `"sort" must be one of [${known.join(', ')}]`,
				details: [{ path: 'query/sort', message: `"sort" must be one of [${known.join(', ')}]` }],
			});
		for (const sort of known) await list({ limit: 1, sort });
	}
});

test('every other list is read in order of creation, and in reverse', async () => {
	const tenant = await addTenant(store);
	const { organizationId, userId } = tenant;
	const [api, gateway] = [(await addApi(store, organizationId)).id, (await addGateway(store, organizationId)).id];
	const scope = { plugin: 'p', gatewayId: gateway };
	const inTurn: ((n: number) => Promise<unknown>)[] = [
		(n) =>
			store.gateways.addKey(organizationId, gateway, { name: `${n}`, prefix: 'p', scopes: [], expiresAt: null, hash: randomBytes(32) }),
		() => addMember(store, tenant, 'viewer'),
		(n) => store.as(actor()).organizations.create(userId, { name: `${n}`, slugs: [`x${n}`] }),
		(n) => store.records.put(organizationId, scope, `${n}`, {}, { tags: ['t'] }),
		async (n) => store.gateways.assign(organizationId, gateway, [(await addTool(store, organizationId, { name: `${n}` })).id]),
		async (n) => {
			const sent = { email: `${n}@example.com`, role: 'viewer' as const, invitedBy: userId, expiresAt: new Date(Date.now() + 60_000) };
			await store.organizations.invite(organizationId, { ...sent, hash: randomBytes(32) });
		},
		(n) =>
			store.accessKeys.create(userId, {
				name: `${n}`,
				prefix: 'p',
				reach: { type: 'account' },
				permissions: null,
				hash: randomBytes(32),
			}),
		async (n) => {
			const writer = (await store.apis.beginImport(organizationId, api)) ?? assert.fail();
			await writer.operations(batchOf(...Array.from({ length: 4 }, (_, o) => operation(`o${o}`))));
			await writer.commit({ ...schema, title: `${n}` });
		},
	];
	for (let n = 0; n < 3; n++) for (const add of inTurn) await add(n);
	const lists: Record<string, (page: Page) => Promise<Listed<unknown>>> = {
		keys: (page) => store.gateways.keys(organizationId, gateway, page),
		assignments: (page) => store.gateways.tools(organizationId, gateway, page),
		schemas: (page) => store.apis.schemas(organizationId, api, page),
		operations: (page) => store.apis.operations(organizationId, api, page),
		members: (page) => store.organizations.members(organizationId, page),
		organizations: (page) => store.organizations.list(userId, page),
		invitations: (page) => store.organizations.invitations(organizationId, page),
		accessKeys: (page) => store.accessKeys.list(userId, page),
		records: async (page) => {
			const { items, nextCursor } = await store.records.find(organizationId, scope, 't', page);
			return { items: items.map(({ readAt: _readAt, ...record }) => record), nextCursor };
		},
		audit: (page) => store.audit.list(organizationId, page),
	};
	for (const [name, list] of Object.entries(lists)) {
		const usual = (await list({ limit: 100 })).items;
		assert.ok(usual.length >= 3, name);
		const oldestFirst = ['records', 'audit'].includes(name) ? usual.toReversed() : usual;
		assert.deepEqual([name, await walk(list, { limit: 2, sort: 'createdAt' })], [name, oldestFirst]);
		assert.deepEqual([name, await walk(list, { limit: 2, sort: '-createdAt' })], [name, oldestFirst.toReversed()]);
	}
});
