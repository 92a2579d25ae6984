// Assertions about every list of the API, read page by page while others write to it.

import assert from 'node:assert/strict';
import { type Account, must } from './service.ts';

interface Row {
	id: string;
	name: string;
	[field: string]: unknown;
}

export interface ListOf {
	/** The path, with its query if it has one. */
	path: string;
	/** The member of the response that holds the rows, such as `apis`. */
	key: string;
}

const at = (path: string, query: Record<string, string>): string => `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(query)}`;

/** Reads the whole list, `limit` rows at a time; `between` runs before each page but the first. */
export async function readPages(
	account: Account,
	{ path, key }: ListOf,
	query: Record<string, string>,
	between: () => Promise<unknown> = async () => undefined,
): Promise<Row[]> {
	const rows: Row[] = [];
	let cursor: string | null = null;
	do {
		if (cursor !== null) await between();
		const asked: Record<string, string> = cursor === null ? query : { ...query, cursor };
		const { data } = must(await account.get(at(path, asked)), 200).body;
		assert.ok(data[key].length <= Number(query['limit'] ?? 100));
		rows.push(...data[key]);
		cursor = data.nextCursor;
	} while (cursor !== null);
	return rows;
}

const NAMES = ['b', 'A', 'c', 'a', 'B', 'e', 'D', 'd', 'C', 'E', 'a', 'b'];

/**
 * Asserts for every sort, in both directions, with three rows a page and a row added before each page, that no earlier row is missing or
 * repeated and that all are in order. @param change changes a row, so that `updatedAt` orders other than `createdAt`
 */
export async function assertSorted(
	account: Account,
	list: ListOf,
	{ create, change }: { create: (name: string) => Promise<{ id: string }>; change: (id: string) => Promise<unknown> },
): Promise<void> {
	const first: string[] = [];
	for (const name of NAMES) first.push((await create(name)).id);
	for (const id of [first[7], first[0], first[4]]) await change(id ?? '');
	for (const sort of ['createdAt', '-createdAt', 'updatedAt', '-updatedAt', 'name', '-name']) {
		let added = 0;
		const rows = await readPages(account, list, { limit: '3', sort }, () => create(NAMES[added++ % NAMES.length] ?? 'f'));
		const ids = rows.map(({ id }) => id);
		assert.equal(new Set(ids).size, ids.length, `${sort}: a row was told twice`);
		for (const id of first) assert.ok(ids.includes(id), `${sort}: a row was missed`);
		const values = rows.map((row) => String(row[sort.replace('-', '')]).toLowerCase());
		const inOrder = [...values].sort();
		assert.deepEqual(values, sort.startsWith('-') ? inOrder.reverse() : inOrder, sort);
	}
}

const TRICKY = ['100% sure', 'snake_case', 'back\\slash', 'Ärger im ZOO', "it's quoted", 'plain dog and cat'];
const SEARCHES: [q: string, found: string[]][] = [
	['%', ['100% sure']],
	['_', ['snake_case']],
	['\\', ['back\\slash']],
	['0%', ['100% sure']],
	['k_', []],
	['e_c', ['snake_case']],
	["'", ["it's quoted"]],
	['cat dog', ['plain dog and cat']],
	['  CAT   PLAIN ', ['plain dog and cat']],
	['cat zoo', []],
	['zoo ärger', ['Ärger im ZOO']],
	['ÄRGER', ['Ärger im ZOO']],
	["'; DROP TABLE tools; --", []],
	['', TRICKY],
];

/** Asserts that search takes words in any order and case, and nothing that SQL would interpret. @param create makes a row with this name */
export async function assertSearched(account: Account, list: ListOf, create: (name: string) => Promise<unknown>): Promise<void> {
	for (const name of TRICKY) await create(name);
	for (const [q, found] of SEARCHES) {
		const rows = await readPages(account, list, { q });
		assert.deepEqual(
			rows.map(({ name }) => name),
			found,
			JSON.stringify(q),
		);
	}
	const many = await account.get(at(list.path, { q: 'a b c d e f g h i j k' }));
	assert.deepEqual([many.status, many.body.details[0].path], [400, 'query/q']);
}

/** Asserts that unknown parameters and repeated single ones are each 400 and named in the error. */
export async function assertWhitelisted(account: Account, path: string, scalars: Record<string, string>): Promise<void> {
	for (const query of ['bogus=1', '__proto__=1', 'q%5Blike%5D=x', 'offset=1', 'Limit=1']) {
		const { status, body } = await account.get(`${path}?${query}`);
		const name = decodeURIComponent(query.split('=')[0] ?? '');
		assert.deepEqual([status, body.error, body.details?.[0]?.path], [400, 'VALIDATION_FAILED', `query/${name}`], `${path}?${query}`);
	}
	for (const [name, value] of Object.entries(scalars)) {
		must(await account.get(at(path, { [name]: value })), 200);
		const { status, body } = await account.get(`${path}?${name}=${value}&${name}=${value}`);
		assert.deepEqual([status, body.details?.[0]?.path], [400, `query/${name}`], `${name} twice`);
	}
}
