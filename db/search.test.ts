// The filters of lists.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Store } from '../core/store/store.ts';
import { addApi, addGateway, addTenant, addTool, batchOf, draft, operation, schema } from '../test/helpers/samples.ts';
import { type TestStore, testStore } from '../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const PAGE = { limit: 100 };

/** Descriptions by name. */
const TEXTS: Record<string, string> = {
	'Pet store': 'Sells animals.',
	pet_clinic: 'Heals 100% of animals.',
	'Wetter für Bären': "ÄRGER mit o'x and C:\\dir $1 :n ?",
	zoo: 'All animals, PETS too. 😀',
};

/** Queries, and the initials of the names found. */
const QUERIES: [q: string, found: string][] = [
	['', 'PpWz'],
	[' \n\t ', 'PpWz'],
	['pet', 'Ppz'],
	['PET', 'Ppz'],
	['pet animals', 'Ppz'],
	['animals pet', 'Ppz'],
	['pet store', 'P'],
	['store pet zoo', ''],
	['\u00a0pet\u3000store ', 'P'],
	['ell', 'P'],
	['_', 'p'],
	['%', 'p'],
	['100%', 'p'],
	['1_0', ''],
	['p%t', ''],
	['pet_', 'p'],
	['\\', 'W'],
	['c:\\DIR', 'W'],
	['\\\\', ''],
	["O'X", 'W'],
	["'", 'W'],
	["' OR 1=1 --", ''],
	['$1 :N ?', 'W'],
	['$2', ''],
	['ärger', 'W'],
	['Ärger BÄREN FÜR', 'W'],
	['😀', 'z'],
	['\ud83d', ''],
	['p e t s o r a l n .', 'P'],
];

/** Makes an organization with one item of each text, and searches it. */
const NOUNS: Record<string, (store: Store, organizationId: string) => Promise<(q: string) => Promise<{ name: string }[]>>> = {
	async apis(store, organizationId) {
		for (const [name, description] of Object.entries(TEXTS)) await addApi(store, organizationId, { name, description });
		return async (q) => (await store.apis.list(organizationId, PAGE, { q })).items;
	},
	async gateways(store, organizationId) {
		for (const [name, description] of Object.entries(TEXTS))
			await addGateway(store, organizationId, `/${randomUUID()}`, { name, description });
		return async (q) => (await store.gateways.list(organizationId, PAGE, { q })).items;
	},
	async tools(store, organizationId) {
		for (const [name, description] of Object.entries(TEXTS)) await addTool(store, organizationId, { name, description });
		return async (q) => (await store.tools.list(organizationId, PAGE, { q })).items;
	},
	async 'tools that a gateway could have'(store, organizationId) {
		for (const [name, description] of Object.entries(TEXTS)) await addTool(store, organizationId, { name, description });
		const gateway = await addGateway(store, organizationId);
		const other = await addTool(store, organizationId, { name: 'pet that it has' });
		await store.gateways.assign(organizationId, gateway.id, [other.id]);
		return async (q) => (await store.gateways.available(organizationId, gateway.id, PAGE, { q })).items;
	},
	async operations(store, organizationId) {
		const { id } = await addApi(store, organizationId);
		const writer = (await store.apis.beginImport(organizationId, id)) ?? assert.fail();
		await writer.operations(
			batchOf(...Object.entries(TEXTS).map(([name, description]) => operation(name, { name, description, path: '/' }))),
		);
		await writer.commit(schema);
		return async (q) => {
			const { items } = await store.apis.operations(organizationId, id, PAGE, { q });
			assert.equal(await store.apis.countOperations(organizationId, id, { q }), items.length);
			return items;
		};
	},
};

for (const [noun, of] of Object.entries(NOUNS))
	test(`${noun} are found by the words of their name and description, each taken literally and ignoring case`, async () => {
		await using store = await testStore();
		const find = await of(store, (await addTenant(store)).organizationId);
		await (await NOUNS[noun]?.(store, (await addTenant(store)).organizationId))?.('');
		for (const [q, found] of QUERIES) {
			const initials = (await find(q)).map(({ name }) => name[0]).join('');
			assert.equal(initials, found, JSON.stringify(q));
		}
		const refused = { code: 'validation_failed', details: [{ path: 'query/q', message: 'q must hold at most 10 words.' }] };
		await assert.rejects(find('a b c d e f g h i j k'), refused);
		await assert.rejects(find('a\0'), { code: 'validation_failed' });
	});

test('a tool is found by the texts that users see, not by the imported ones', async () => {
	const { organizationId } = await addTenant(store);
	const { id } = await addApi(store, organizationId);
	const writer = (await store.apis.beginImport(organizationId, id)) ?? assert.fail();
	await writer.operations(batchOf(operation('a')));
	await writer.commit(schema);
	const [row = assert.fail()] = (await store.apis.operations(organizationId, id, PAGE)).items;
	await store.tools.generate(organizationId, id, [{ operationId: row.id, tool: draft({ ...row, name: 'first', description: 'one' }) }]);
	const [tool = assert.fail()] = (await store.tools.list(organizationId, PAGE, { q: 'FIRST one' })).items;
	await store.tools.update(organizationId, tool.id, { name: 'second' });
	const count = async (q: string): Promise<number> => (await store.tools.list(organizationId, PAGE, { q, apiId: id })).items.length;
	assert.deepEqual([await count('first'), await count('second'), await count('second one')], [0, 1, 1]);
});

test('an operation is found by its path, too', async () => {
	const { organizationId } = await addTenant(store);
	const { id } = await addApi(store, organizationId);
	const writer = (await store.apis.beginImport(organizationId, id)) ?? assert.fail();
	await writer.operations(batchOf(operation('a', { path: '/Pets/{petId}' }), operation('b', { path: '/zoo' })));
	await writer.commit(schema);
	const find = async (q: string) => (await store.apis.operations(organizationId, id, PAGE, { q })).items.map(({ key }) => key);
	assert.deepEqual(
		[await find('pets/{'), await find('pets a'), await find('does'), await find('pets zoo')],
		[['a'], ['a'], ['a', 'b'], []],
	);
});

test('apis and gateways are narrowed to a type, a status, and words, all at once', async () => {
	const { organizationId } = await addTenant(store);
	const nouns = [
		{ ...store.apis, add: (name: string, type: string) => addApi(store, organizationId, { name, type }) },
		{ ...store.gateways, add: (name: string, type: string) => addGateway(store, organizationId, `/${name}`, { name, type }) },
	];
	for (const { add, update, list } of nouns) {
		for (const [name, type] of [
			['a1', 'x'],
			['a2', 'y'],
			['b3', 'x'],
		] as const)
			await add(name, type);
		const [off = assert.fail()] = (await list(organizationId, PAGE, { q: 'a1' })).items;
		await update(organizationId, off.id, { status: 'inactive' });
		const find = async (filter: object) => (await list(organizationId, PAGE, filter)).items.map(({ name }) => name).join(' ');
		assert.equal(await find({ type: 'x' }), 'a1 b3');
		assert.equal(await find({ status: 'active' }), 'a2 b3');
		assert.equal(await find({ type: 'x', status: 'inactive', q: 'A' }), 'a1');
		assert.equal(await find({ type: 'x', status: 'active', q: 'a' }), '');
		for (const type of ['X', '', '\0', "' OR 1=1 --"]) assert.equal(await find({ type }), '', JSON.stringify(type));
	}
});

test('pages of a search hold only matches, in any order', async () => {
	const { organizationId } = await addTenant(store);
	for (let n = 0; n < 12; n++) await addTool(store, organizationId, { name: `${n % 2 ? 'odd' : 'even'} ${n}` });
	const filter = { q: 'odd', status: 'active' };
	const first = await store.tools.list(organizationId, { limit: 4, sort: '-name' }, filter);
	const rest = await store.tools.list(organizationId, { limit: 4, sort: '-name', cursor: first.nextCursor ?? assert.fail() }, filter);
	assert.deepEqual(
		[...first.items, ...rest.items].map(({ name }) => name),
		['odd 9', 'odd 7', 'odd 5', 'odd 3', 'odd 11', 'odd 1'],
	);
	assert.equal(rest.nextCursor, null);
});
