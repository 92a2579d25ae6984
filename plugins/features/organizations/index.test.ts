// Tests of organizations, and of which organization a request is about (specification 5.1 rule 5, decisions 9), over the whole service.

import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, test } from 'node:test';
import { addMember, join } from '../../../test/helpers/members.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let owner: Account;
/** An account with an organization of its own that is also a viewer in that of `owner`. */
let guest: Account;
let stranger: Account;

before(async () => {
	service = await sharedService();
	owner = await registerAccount(service.url, 'Acme');
	guest = await addMember(owner, 'viewer');
	stranger = await registerAccount(service.url);
});
after(() => service.stop());

test('GET /organizations lists those of the user with the role, in order of joining, and nobody else’s', async () => {
	const { organizations, nextCursor } = must(await guest.get('/organizations'), 200).body.data;
	assert.equal(nextCursor, null);
	assert.deepEqual(
		organizations.map(({ id, role }: { id: string; role: string }) => [id, role]),
		[
			[guest.organization.id, 'owner'],
			[owner.organization.id, 'viewer'],
		],
	);
	assert.deepEqual(Object.keys(organizations[0]).sort(), ['createdAt', 'id', 'joinedAt', 'name', 'role', 'slug']);
});

test('GET /organizations comes in pages', async () => {
	const first = must(await guest.get('/organizations?limit=1'), 200).body.data;
	const second = must(await guest.get(`/organizations?limit=1&cursor=${first.nextCursor}`), 200).body.data;
	assert.deepEqual([first.organizations[0].id, second.organizations[0].id], [guest.organization.id, owner.organization.id]);
	assert.equal(second.nextCursor, null);
	const refused = must(await guest.get('/organizations?cursor=zz'), 400);
	assert.equal(refused.body.details[0].path, 'query/cursor');
});

test('POST /organizations makes one with a free slug, of which the user is the owner', async () => {
	const account = await registerAccount(service.url);
	const made = must(await account.post('/organizations', { name: 'Acme' }), 201).body.data;
	assert.equal(made.name, 'Acme');
	assert.match(made.slug, /^acme-\d+$/);
	assert.equal(made.role, 'owner');
	const found = must(await account.get(`/organizations/${made.id}`), 200).body.data;
	assert.deepEqual(found, made);
	const [person] = must(await account.get(`/organizations/${made.id}/members`), 200).body.data.members;
	assert.deepEqual([person.email, person.role], [account.email, 'owner']);
});

test('parallel creations of one name get different slugs', async () => {
	const answers = await Promise.all(Array.from({ length: 10 }, () => stranger.post('/organizations', { name: 'Race Ltd' })));
	const slugs = answers.map((answer) => must(answer, 201).body.data.slug);
	assert.equal(new Set(slugs).size, 10);
});

test('a rename keeps the slug', async () => {
	const made = must(await owner.post('/organizations', { name: 'Before' }), 201).body.data;
	const renamed = must(await owner.patch(`/organizations/${made.id}`, { name: 'After' }), 200).body.data;
	assert.deepEqual(renamed, { ...made, name: 'After' });
	assert.deepEqual(must(await owner.get(`/organizations/${made.id}`), 200).body.data, renamed);
});

/** Names that are refused. `changed` is the path of the fault in a change, where it differs from that in a new one. */
const BAD_NAMES: [id: string, body: unknown, path: string, changed?: string][] = [
	['no body', undefined, ''],
	['no name', {}, '/name', ''],
	['a blank name', { name: ' \t ' }, '/name'],
	['a name of 201 characters', { name: 'n'.repeat(201) }, '/name'],
	['a number', { name: 7 }, '/name'],
	['an object', { name: { like: '%' } }, '/name'],
	['NUL in the name', { name: 'a\0b' }, '/name'],
	['a slug', { name: 'a', slug: 'mine' }, '/slug'],
	['a role', { name: 'a', role: 'owner' }, '/role'],
	['an id', { name: 'a', id: '00000000-0000-4000-8000-000000000000' }, '/id'],
];
for (const [id, body, path, changed = path] of BAD_NAMES) {
	test(`an organization is neither made nor renamed by ${id}`, async () => {
		const answers = [await owner.post('/organizations', body), await owner.patch(`/organizations/${owner.organization.id}`, body)];
		assert.deepEqual(
			answers.map((answer) => must(answer, 400).body.details[0].path),
			[path, changed],
		);
	});
}

test('without the header, somebody of several organizations gets 400 NO_ORGANIZATION (5.1 rule 5)', async () => {
	const answer = must(await guest.get('/gateways'), 400).body;
	assert.equal(answer.error, 'NO_ORGANIZATION');
	assert.match(answer.message, /X-Organization-Id/);
});

test('the header chooses among the organizations of the user, in either case of its letters (5.1 rule 5)', async () => {
	const gateway = { name: 'Main', type: 'mcp', endpoint: '/chosen' };
	must(await owner.post('/gateways', gateway, { 'x-organization-id': owner.organization.id }), 201);
	for (const id of [owner.organization.id, owner.organization.id.toUpperCase()]) {
		const { gateways } = must(await guest.get('/gateways', { 'x-organization-id': id }), 200).body.data;
		assert.deepEqual([gateways.length, gateways[0].endpoint], [1, '/chosen']);
	}
	assert.deepEqual(must(await guest.get('/gateways', { 'x-organization-id': guest.organization.id }), 200).body.data.gateways, []);
});

test('a header that names no membership is 400 NO_ORGANIZATION, with one membership too (decisions 9)', async () => {
	for (const id of [owner.organization.id, '00000000-0000-4000-8000-000000000000', 'acme', '*']) {
		const answer = must(await stranger.get('/gateways', { 'x-organization-id': id }), 400).body;
		assert.equal(answer.error, 'NO_ORGANIZATION');
	}
});

test('the header twice is 400, also when both are good', async () => {
	const { id } = guest.organization;
	const status = await new Promise((resolve, reject) => {
		const headers = ['Authorization', `Bearer ${guest.token}`, 'Host', 'x', 'X-Organization-Id', id, 'X-Organization-Id', id];
		httpRequest(`${service.url}/gateways`, { headers }, (response) => resolve(response.resume().statusCode))
			.on('error', reject)
			.end();
	});
	assert.equal(status, 400);
});

test('the path wins, and the header is ignored (5.1 rule 5)', async () => {
	const path = `/organizations/${owner.organization.id}`;
	for (const header of [guest.organization.id, '00000000-0000-4000-8000-000000000000', 'nonsense']) {
		assert.equal(must(await guest.get(path, { 'x-organization-id': header }), 200).body.data.id, owner.organization.id);
	}
	assert.equal(must(await guest.get(path.toUpperCase().replace('/ORGANIZATIONS', '/organizations')), 200).body.data.name, 'Acme');
});

test('a foreign organization in the path is a 404, whatever the header says', async () => {
	const { id } = owner.organization;
	const unknown = must(await stranger.get('/organizations/00000000-0000-4000-8000-000000000000'), 404).body;
	for (const headers of [{}, { 'x-organization-id': id }, { 'x-organization-id': stranger.organization.id }] as Record<string, string>[]) {
		for (const path of ['', '/members', '/invitations', '/tools']) {
			const answer = must(await stranger.get(`/organizations/${id}${path}`, headers), 404).body;
			assert.deepEqual({ ...answer, requestId: '' }, { ...unknown, requestId: '' });
		}
		must(await stranger.patch(`/organizations/${id}`, { name: 'Mine' }, headers), 404);
		must(await stranger.post(`/organizations/${id}/invitations`, { email: stranger.email, role: 'owner' }, headers), 404);
	}
});

test('somebody without any membership gets 400 NO_ORGANIZATION, and may make an organization', async () => {
	const account = await registerAccount(service.url);
	const { id: userId } = must(await account.get('/auth/profile'), 200).body.data;
	await join(account, stranger, 'owner');
	must(await account.del(`/organizations/${account.organization.id}/members/${userId}`), 200);
	assert.deepEqual(must(await account.get('/organizations'), 200).body.data.organizations, []);
	assert.equal(must(await account.get('/gateways'), 400).body.error, 'NO_ORGANIZATION');
	const made = must(await account.post('/organizations', { name: 'Afresh' }), 201).body.data;
	must(await account.get('/gateways', { 'x-organization-id': made.id }), 200);
	must(await account.get('/gateways'), 200);
});
