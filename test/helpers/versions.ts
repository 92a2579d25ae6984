// Assertions about every row with an `ETag`, whatever the row is.

import assert from 'node:assert/strict';
import { type Account, must } from './service.ts';

/** Builds the ETag of an answer of this version. */
export const tagOf = (version: number): string => `"${version}.${'d'.repeat(22)}"`;

const NO_TAGS = ['1', '"x"', 'W/"1"', '""', '"', '"-1"', '"1"', "'1'", tagOf(9_999_999_999), ','];

export const etagOf = ({ headers }: { headers: Headers }): string => headers.get('etag') ?? assert.fail('no ETag');

/** Asserts the use of versions. @param path of the row, which takes PATCH of `name` @param created the response to its creation */
export async function assertVersioned(account: Account, path: string, created: { headers: Headers }): Promise<void> {
	const first = etagOf(created);
	assert.match(first, /^"\d+\.[\w-]{22}"$/);
	const named = async (): Promise<string> => must(await account.get(path), 200).body.data.name;
	const change = (name: string, tag: string) => account.patch(path, { name }, { 'if-match': tag });

	const read = etagOf(must(await account.get(path), 200));
	const answers = await Promise.all(Array.from({ length: 50 }, (_none, at) => change(`writer ${at}`, read)));
	const won = answers.filter(({ status }) => status === 200);
	assert.equal(won.length, 1, `${won.length} of fifty won`);
	assert.equal(await named(), won[0]?.body.data.name);
	for (const { status, body } of answers.filter((answer) => answer !== won[0]))
		assert.deepEqual([status, body.error, body.statusCode], [412, 'PRECONDITION_FAILED', 412]);

	for (const tag of [first, ...NO_TAGS]) {
		assert.equal((await change('lost', tag)).status, 412, `PATCH with ${tag}`);
		assert.equal((await account.del(path, undefined, { 'if-match': tag })).status, 412, `DELETE with ${tag}`);
	}
	assert.equal(await named(), won[0]?.body.data.name);

	const current = etagOf(won[0] ?? assert.fail());
	for (const tags of [`W/${current}, ${first}`, `"x",, "a,${current.slice(1)}`, `${first} ${current}x`])
		assert.equal((await change('lost', tags)).status, 412, `PATCH with ${tags}`);
	const many = Array.from({ length: 11 }, (_none, at) => tagOf(at + 100)).join();
	assert.equal((await change('lost', many)).body.details[0].path, 'header/if-match');
	const next = etagOf(must(await change('next', `${tagOf(99_999)}, ${current} ,W/"1","a,b",${first}`), 200));
	assert.equal(etagOf(must(await change('any', '*'), 200)) === next, false);
	const last = etagOf(must(await account.patch(path, { name: 'without' }), 200));
	must(await account.del(path, undefined, { 'if-match': last }), 200);
	assert.equal((await change('gone', last)).status, 404);
	assert.equal((await account.del(path, undefined, { 'if-match': last })).status, 404);
}

/** Asserts for each change by itself that the response and the row show it, and that nothing else of the row changed. */
export async function assertChangesOnly(account: Account, path: string, changes: object[]): Promise<void> {
	for (const change of changes) {
		const before = must(await account.get(path), 200).body.data;
		const answer = must(await account.patch(path, change), 200).body.data;
		const after = must(await account.get(path), 200).body.data;
		assert.deepEqual(after, { ...before, ...change, updatedAt: after.updatedAt }, JSON.stringify(change));
		assert.deepEqual({ ...after, ...answer }, after, 'the answer is the row');
	}
}
