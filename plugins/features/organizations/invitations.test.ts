// Tests of invitations: one address, one use, seven days, and only while their sender may still invite.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { isAbout } from '../../../test/helpers/clock.ts';
import { addMember, join } from '../../../test/helpers/members.ts';
import {
	type Account,
	type Answer,
	must,
	registerAccount,
	type SharedService,
	send,
	sharedService,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

let service: SharedService;
let replica: TestService;
let owner: Account;
let admin: Account;
let guest: Account;

before(async () => {
	service = await sharedService();
	replica = await startTestService({ replicaOf: service });
	owner = await registerAccount(service.url, 'Hosts');
	admin = await addMember(owner, 'admin');
	guest = await registerAccount(service.url);
});
after(async () => {
	await replica.stop();
	await service.stop();
});

const path = (): string => `/organizations/${owner.organization.id}/invitations`;
const invite = async (by: Account, email: string, role?: string) =>
	must(await by.post(path(), { email, ...(role && { role }) }), 201).body.data;
const accept = (by: Account, token: string, url = service.url): Promise<Answer> =>
	send(`${url}/invitations/accept`, 'POST', { body: { token }, headers: { authorization: `Bearer ${by.token}` } });
const pending = async () => must(await owner.get(path()), 200).body.data.invitations;

async function idOf(account: Account): Promise<string> {
	return must(await account.get('/auth/profile'), 200).body.data.id;
}

/** Removes the guest from the organization. */
async function removeGuest(): Promise<void> {
	const { status } = await owner.del(`/organizations/${owner.organization.id}/members/${await idOf(guest)}`);
	assert.ok(status === 200 || status === 404);
}

test('an invitation shows its token and its link once, and lives seven days', async () => {
	const made = await invite(admin, 'once@example.com');
	const { token, url, mailed, ...shown } = made;
	assert.match(token, /^svc_inv_[A-Za-z0-9_-]{43}$/);
	assert.equal(url, `${service.config.frontendUrl}/invitation#token=${token}`);
	assert.equal(mailed, true);
	assert.deepEqual([shown.email, shown.role, shown.invitedBy], ['once@example.com', 'member', await idOf(admin)]);
	assert.ok(isAbout(shown.expiresAt, 7 * DAY_MS));
	const listed = must(await owner.get(path()), 200);
	assert.deepEqual(
		listed.body.data.invitations.filter(({ id }: { id: string }) => id === shown.id),
		[shown],
	);
	assert.ok(!JSON.stringify(listed.body).includes('svc_inv_'));
});

test('whoever is invited joins with the role, and is told the organization', async () => {
	await removeGuest();
	const { token } = await invite(admin, guest.email.toUpperCase(), 'admin');
	const joined = must(await accept(guest, token), 200).body.data;
	const { id, name, slug, createdAt } = must(await owner.get(`/organizations/${owner.organization.id}`), 200).body.data;
	assert.ok(isAbout(joined.joinedAt));
	assert.deepEqual(joined, { id, name, slug, role: 'admin', createdAt, joinedAt: joined.joinedAt });
	assert.equal(must(await guest.get(`/organizations/${id}`), 200).body.data.role, 'admin');
	assert.deepEqual(
		(await pending()).filter(({ email }: { email: string }) => email.toLowerCase() === guest.email),
		[],
	);
	must(await accept(guest, token), 404);
});

test('of twenty parallel acceptances over two replicas, one is 200', async () => {
	for (let round = 0; round < 5; round++) {
		await removeGuest();
		const { token } = await invite(owner, guest.email);
		const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => accept(guest, token, at % 2 ? service.url : replica.url)));
		const statuses = answers.map(({ status }) => status).sort();
		assert.equal(statuses[0], 200, JSON.stringify(answers[0]?.body));
		assert.ok(
			statuses.slice(1).every((status) => status === 404 || status === 409),
			statuses.join(),
		);
		const { members } = must(await owner.get(`/organizations/${owner.organization.id}/members`), 200).body.data;
		assert.equal(members.filter(({ email }: { email: string }) => email === guest.email).length, 1);
	}
});

test('an invitation for another address is a 403 that does not name it, and stays', async () => {
	await removeGuest();
	const other = await registerAccount(service.url);
	const { token } = await invite(owner, guest.email);
	const refused = must(await accept(other, token), 403).body;
	assert.equal(refused.error, 'FORBIDDEN');
	assert.ok(!JSON.stringify(refused).includes(guest.email) && !JSON.stringify(refused).includes('Hosts'));
	must(await accept(guest, token), 200);
});

test('only A–Z are folded: É is not é', async () => {
	const { token } = await invite(owner, guest.email.replace(/^.+@/, 'émile@'));
	const body = { email: 'Émile@example.com', password: 'Correct1Horse', firstName: 'K', lastName: 'K', organizationName: 'K' };
	const made = must(await send(`${service.url}/auth/register`, 'POST', { body }), 201).body.data;
	must(await accept({ ...guest, token: made.token }, token), 403);
});

test('a member cannot be invited, nor accept what was sent before joining', async () => {
	await removeGuest();
	const first = await invite(owner, guest.email);
	assert.equal(must(await owner.post(path(), { email: admin.email.toUpperCase() }), 409).body.error, 'CONFLICT');
	await insertMember();
	assert.equal(must(await accept(guest, first.token), 409).body.error, 'CONFLICT');
});

/** Inserts the member by SQL, since a new invitation would replace the pending one. */
async function insertMember(): Promise<void> {
	await query(`INSERT INTO memberships (organization_id, user_id, role) VALUES ($1, $2, 'viewer')`, [
		owner.organization.id,
		await idOf(guest),
	]);
}

async function query(sql: string, values: unknown[]): Promise<void> {
	assert.ok(service.config.database);
	const { host, port, username: user, password, name: database } = service.config.database;
	const client = new pg.Client({ host, port, user, password, database });
	await client.connect();
	await client.query(sql, values);
	await client.end();
}

test('a second invitation of one address replaces the first', async () => {
	await removeGuest();
	const first = await invite(owner, guest.email, 'admin');
	const second = await invite(owner, guest.email.toUpperCase(), 'viewer');
	assert.equal((await pending()).filter(({ email }: { email: string }) => email.toLowerCase() === guest.email).length, 1);
	must(await accept(guest, first.token), 404);
	assert.equal(must(await accept(guest, second.token), 200).body.data.role, 'viewer');
});

test('unknown, revoked and expired invitations are the same 404', async () => {
	await removeGuest();
	const revoked = await invite(owner, guest.email);
	const shown = must(await admin.del(`${path()}/${revoked.id}`), 200).body.data;
	assert.deepEqual([shown.id, shown.email, shown.token], [revoked.id, guest.email, undefined]);
	must(await admin.del(`${path()}/${revoked.id}`), 404);
	must(await admin.del(`${path()}/nonsense`), 404);
	const expired = await invite(owner, guest.email);
	await query(`UPDATE invitations SET expires_at = now() - interval '1 second' WHERE id = $1`, [expired.id]);
	assert.ok(!(await pending()).some(({ id }: { id: string }) => id === expired.id));
	must(await admin.del(`${path()}/${expired.id}`), 404);
	const bodies = [];
	for (const token of [revoked.token, expired.token, 'svc_inv_unknown', 'x']) bodies.push(must(await accept(guest, token), 404).body);
	assert.equal(new Set(bodies.map((body) => JSON.stringify({ ...body, requestId: '' }))).size, 1);
});

test('of parallel revocations, one is 200', async () => {
	const { id } = await invite(owner, 'parallel@example.com');
	const answers = await Promise.all(Array.from({ length: 8 }, () => owner.del(`${path()}/${id}`)));
	assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(404)]);
});

test('an invitation is void when its sender was demoted, or left, meanwhile', async () => {
	await removeGuest();
	const sender = await addMember(owner, 'admin');
	const at = `/organizations/${owner.organization.id}/members/${await idOf(sender)}`;
	const demoted = await invite(sender, guest.email);
	must(await owner.patch(at, { role: 'member' }), 200);
	must(await accept(guest, demoted.token), 404);
	must(await owner.patch(at, { role: 'owner' }), 200);
	const asOwner = await invite(sender, guest.email, 'owner');
	must(await owner.patch(at, { role: 'admin' }), 200);
	must(await accept(guest, asOwner.token), 404);
	const left = await invite(sender, guest.email);
	must(await sender.del(at), 200);
	must(await accept(guest, left.token), 404);
	must(await guest.get(`/organizations/${owner.organization.id}`), 404);
});

const BAD_INVITATIONS: [id: string, body: unknown, at: string][] = [
	['a line break and a header', { email: 'a@x.example\r\nBcc: evil@x.example' }, '/email'],
	['a line break at its end', { email: 'a@x.example\n' }, '/email'],
	['two addresses', { email: 'a@x.example, b@x.example' }, '/email'],
	['two addresses without a blank', { email: 'a@x.example,b@x.example' }, '/email'],
	['two addresses with a semicolon', { email: 'a@x.example;b@x.example' }, '/email'],
	['a display name', { email: 'Ada <a@x.example>' }, '/email'],
	['angle brackets', { email: '<a@x.example>' }, '/email'],
	['a group', { email: 'all:a@x.example;' }, '/email'],
	['a comment', { email: 'a(b)@x.example' }, '/email'],
	['a quoted local part', { email: '"a b"@x.example' }, '/email'],
	['a blank before it', { email: ' a@x.example' }, '/email'],
	['a no-break space', { email: 'a\u00a0b@x.example' }, '/email'],
	['a character that turns the text around', { email: 'a\u202eb@x.example' }, '/email'],
	['a zero-width space', { email: 'a\u200bb@x.example' }, '/email'],
	['NUL', { email: 'a\0@x.example' }, '/email'],
	['no domain', { email: 'a' }, '/email'],
	['255 characters', { email: `${'a'.repeat(60)}@${`${'b'.repeat(60)}.`.repeat(3)}${'c'.repeat(6)}.example` }, '/email'],
	['an array', { email: ['a@x.example'] }, '/email'],
	['no address', {}, '/email'],
	['an unknown role', { email: 'a@x.example', role: 'root' }, '/role'],
	['a role that is null', { email: 'a@x.example', role: null }, '/role'],
	['an expiry', { email: 'a@x.example', expiresAt: '2100-01-01T00:00:00Z' }, '/expiresAt'],
	['a token', { email: 'a@x.example', token: 'svc_inv_mine' }, '/token'],
];
for (const [id, body, at] of BAD_INVITATIONS) {
	test(`an invitation with ${id} is a 400 that names ${at}`, async () => {
		const before = await pending();
		assert.equal(must(await owner.post(path(), body), 400).body.details[0].path, at);
		assert.deepEqual(await pending(), before);
	});
}

test('accepting takes a token and nothing else', async () => {
	for (const [body, at] of [
		[{}, '/token'],
		[{ token: 7 }, '/token'],
		[{ token: '' }, '/token'],
		[{ token: 't'.repeat(201) }, '/token'],
		[{ token: 'x', role: 'owner' }, '/role'],
		[{ token: 'x', organizationId: owner.organization.id }, '/organizationId'],
	] as const) {
		assert.equal(must(await guest.post('/invitations/accept', body), 400).body.details[0].path, at);
	}
	must(await send(`${service.url}/invitations/accept`, 'POST', { body: { token: 'x' } }), 401);
});

test('invitations of one organization cannot be seen or revoked through another', async () => {
	const stranger = await registerAccount(service.url);
	const { id } = await invite(owner, 'hidden@example.com');
	const theirs = `/organizations/${stranger.organization.id}/invitations`;
	assert.deepEqual(must(await stranger.get(theirs), 200).body.data.invitations, []);
	must(await stranger.del(`${theirs}/${id}`), 404);
	must(await stranger.del(`${path()}/${id}`), 404);
	await join(stranger, owner, 'admin');
	must(await owner.del(`${theirs}/${id}`), 404);
	must(await owner.del(`${path()}/${id}`), 200);
});

test('pending invitations come in pages, in order of creation', async () => {
	const host = await registerAccount(service.url);
	const at = `/organizations/${host.organization.id}/invitations`;
	for (let number = 0; number < 5; number++) must(await host.post(at, { email: `p${number}@example.com` }), 201);
	const seen: string[] = [];
	for (let cursor: string | null = ''; cursor !== null; ) {
		const page: Answer = must(await host.get(`${at}?limit=2${cursor && `&cursor=${cursor}`}`), 200);
		seen.push(...page.body.data.invitations.map(({ email }: { email: string }) => email));
		cursor = page.body.data.nextCursor;
	}
	assert.deepEqual(
		seen,
		[0, 1, 2, 3, 4].map((number) => `p${number}@example.com`),
	);
});
