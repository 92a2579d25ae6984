// Tests of lists of organizations and their members: both orders, pages, and query parameters. Also tests that a repeated request makes one
// organization, but two invitations.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertWhitelisted, type ListOf, readPages } from '../../../test/helpers/lists.ts';
import { addMember } from '../../../test/helpers/members.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let owner: Account;
let lists: ListOf[];

before(async () => {
	service = await sharedService();
	owner = await registerAccount(service.url);
	const people = `/organizations/${owner.organization.id}`;
	for (const name of ['two', 'three']) must(await owner.post('/organizations', { name }), 201);
	for (const role of ['viewer', 'member']) await addMember(owner, role);
	for (const name of ['a', 'b', 'c']) must(await owner.post(`${people}/invitations`, { email: `${name}@example.com` }), 201);
	lists = [
		{ path: '/organizations', key: 'organizations' },
		{ path: `${people}/members`, key: 'members' },
		{ path: `${people}/invitations`, key: 'invitations' },
	];
});
after(() => service.stop());

test('each list comes in order of joining, or of being sent, and the other way round, page by page', async () => {
	for (const list of lists) {
		const forth = await readPages(owner, list, { limit: '2' });
		assert.equal(forth.length, 3, list.key);
		assert.deepEqual(await readPages(owner, list, { limit: '1', sort: 'createdAt' }), forth);
		assert.deepEqual(await readPages(owner, list, { limit: '1', sort: '-createdAt' }), forth.toReversed());
	}
});

test('an invitation between two pages is never listed twice, and none is missed', async () => {
	const list = lists[2] ?? assert.fail();
	const before = await readPages(owner, list, {});
	for (const sort of ['createdAt', '-createdAt']) {
		let made = 0;
		const seen = await readPages(owner, list, { limit: '1', sort }, async () => {
			if (made++ < 3) must(await owner.post(list.path, { email: `${randomUUID()}@example.com` }), 201);
		});
		const ids = seen.map(({ id }) => id);
		assert.equal(new Set(ids).size, ids.length, sort);
		for (const { id } of before) assert.ok(ids.includes(id), sort);
	}
});

test('a cursor of one list or order is invalid for another', async () => {
	const [organizations, members] = lists;
	const { nextCursor } = must(await owner.get(`${organizations?.path}?limit=1`), 200).body.data;
	for (const path of [`${members?.path}?cursor=${nextCursor}`, `${organizations?.path}?sort=-createdAt&cursor=${nextCursor}`]) {
		const { status, body } = await owner.get(path);
		assert.deepEqual([status, body.details[0].path], [400, 'query/cursor'], path);
	}
});

test('an unknown query parameter of these lists is a 400 that names it', async () => {
	for (const { path } of lists) {
		await assertWhitelisted(owner, path, { limit: '5', sort: '-createdAt' });
		for (const query of ['sort=name', 'sort=email', 'q=x', 'role=owner']) {
			const { status, body } = await owner.get(`${path}?${query}`);
			assert.deepEqual([status, body.details[0].path], [400, `query/${query.split('=')[0]}`], `${path}?${query}`);
		}
	}
});

test('a repeated request with the same Idempotency-Key creates one organization', async () => {
	const headers = { 'idempotency-key': randomUUID() };
	const [first, second] = [
		must(await owner.post('/organizations', { name: 'Once' }, headers), 201),
		must(await owner.post('/organizations', { name: 'Once' }, headers), 201),
	];
	assert.deepEqual(second.body, first.body);
	const names = (await readPages(owner, { path: '/organizations', key: 'organizations' }, {})).map(({ name }) => name);
	assert.equal(names.filter((name) => name === 'Once').length, 1);
});

test('an invitation’s answer holds its token, so it is never stored: a repeated request creates another', async () => {
	const headers = { 'idempotency-key': randomUUID() };
	const invite = async () =>
		must(await owner.post(`/organizations/${owner.organization.id}/invitations`, { email: 'twice@example.com' }, headers), 201);
	assert.notEqual((await invite()).body.data.token, (await invite()).body.data.token);
});
