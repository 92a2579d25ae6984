// Tests of the members of an organization: who may do what to whom, and what happens when two do it at once.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { permissionsOf } from '../../../core/contract/permissions.ts';
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
import { soon } from '../../../test/helpers/soon.ts';

interface Person extends Account {
	id: string;
}

let service: SharedService;
let replica: TestService;
let people: Record<'owner' | 'admin' | 'member' | 'viewer', Person>;
/** The member that the others try to change. */
let target: Person;
let org: string;

async function withId(account: Account): Promise<Person> {
	return { ...account, id: must(await account.get('/auth/profile'), 200).body.data.id };
}

before(async () => {
	service = await sharedService();
	replica = await startTestService({ replicaOf: service });
	const owner = await withId(await registerAccount(service.url, 'Crew'));
	org = owner.organization.id;
	const joined = async (role: string) => withId(await addMember(owner, role));
	people = { owner, admin: await joined('admin'), member: await joined('member'), viewer: await joined('viewer') };
	target = await withId(await registerAccount(service.url));
});
after(async () => {
	await replica.stop();
	await service.stop();
});

const path = (person: Person, organization = org): string => `/organizations/${organization}/members/${person.id}`;
const elsewhere = (person: Person, method: string, at: string, body?: unknown): Promise<Answer> =>
	send(replica.url + at, method, { headers: { authorization: `Bearer ${person.token}` }, ...(body !== undefined && { body }) });
const rolesIn = async (reader: Account, organization = org): Promise<Record<string, string>> => {
	const { members } = must(await reader.get(`/organizations/${organization}/members`), 200).body.data;
	return Object.fromEntries(members.map(({ userId, role }: { userId: string; role: string }) => [userId, role]));
};

/** Gives the target this role. */
async function place(role: string): Promise<void> {
	const { status } = await people.owner.patch(path(target), { role });
	if (status === 404) await join(people.owner, target, role, org);
}

test('every member sees the members with their roles, in order of joining', async () => {
	for (const reader of Object.values(people)) {
		const { members } = must(await reader.get(`/organizations/${org}/members`), 200).body.data;
		assert.deepEqual(
			members.slice(0, 4).map(({ email, role }: { email: string; role: string }) => [email, role]),
			Object.entries(people).map(([role, { email }]) => [email, role]),
		);
		assert.deepEqual(Object.keys(members[0]).sort(), ['email', 'firstName', 'joinedAt', 'lastName', 'role', 'userId']);
	}
});

type Outcome = 200 | 201 | 403;
interface Action {
	name: string;
	/** Role of the target beforehand. */
	on: string;
	viewer: Outcome;
	member: Outcome;
	admin: Outcome;
	owner: Outcome;
	/** The permission that an administrator's refusal names. */
	missing?: string;
	run(actor: Person): Promise<Answer>;
}

const invitations = (): string => `/organizations/${org}/invitations`;
const invite = (actor: Account, role: string): Promise<Answer> => actor.post(invitations(), { email: 'table@example.com', role });
const all = { viewer: 200, member: 200, admin: 200, owner: 200 } as const;
const administrators = { viewer: 403, member: 403, admin: 200, owner: 200 } as const;
const owners = { viewer: 403, member: 403, admin: 403, owner: 200, missing: 'owners:write' } as const;

const ACTIONS: Action[] = [
	{ name: 'read the organization', on: 'member', ...all, run: (actor) => actor.get(`/organizations/${org}`) },
	{
		name: 'rename the organization',
		on: 'member',
		...administrators,
		run: (actor) => actor.patch(`/organizations/${org}`, { name: 'Crew' }),
	},
	{ name: 'list members', on: 'member', ...all, run: (actor) => actor.get(`/organizations/${org}/members`) },
	{ name: 'list invitations', on: 'member', ...all, run: (actor) => actor.get(invitations()) },
	{ name: 'invite an administrator', on: 'member', ...administrators, admin: 201, owner: 201, run: (actor) => invite(actor, 'admin') },
	{ name: 'invite an owner', on: 'member', ...owners, owner: 201, run: (actor) => invite(actor, 'owner') },
	{
		name: 'revoke an invitation',
		on: 'member',
		...administrators,
		async run(actor) {
			const { id } = must(await invite(people.owner, 'viewer'), 201).body.data;
			return actor.del(`${invitations()}/${id}`);
		},
	},
	{ name: 'make a viewer an administrator', on: 'viewer', ...administrators, run: (actor) => actor.patch(path(target), { role: 'admin' }) },
	{ name: 'make an administrator a viewer', on: 'admin', ...administrators, run: (actor) => actor.patch(path(target), { role: 'viewer' }) },
	{ name: 'make a member an owner', on: 'member', ...owners, run: (actor) => actor.patch(path(target), { role: 'owner' }) },
	{ name: 'make an owner a member', on: 'owner', ...owners, run: (actor) => actor.patch(path(target), { role: 'member' }) },
	{ name: 'change nothing of an owner', on: 'owner', ...owners, run: (actor) => actor.patch(path(target), { role: 'owner' }) },
	{ name: 'remove a member', on: 'member', ...administrators, run: (actor) => actor.del(path(target)) },
	{ name: 'remove an administrator', on: 'admin', ...administrators, run: (actor) => actor.del(path(target)) },
	{ name: 'remove an owner', on: 'owner', ...owners, run: (actor) => actor.del(path(target)) },
	{
		name: 'read the audit log',
		on: 'member',
		...administrators,
		run: (actor) => actor.get('/audit-log', { 'x-organization-id': org }),
	},
];

for (const action of ACTIONS) {
	test(`who may ${action.name}: viewer ${action.viewer}, member ${action.member}, admin ${action.admin}, owner ${action.owner}`, async () => {
		for (const role of ['viewer', 'member', 'admin', 'owner'] as const) {
			await place(action.on);
			const roles = await rolesIn(people.owner);
			const answer = await action.run(people[role]);
			assert.equal(answer.status, action[role], `${role}: ${JSON.stringify(answer.body)}`);
			if (answer.status !== 403) continue;
			assert.equal(answer.body.error, 'FORBIDDEN');
			assert.match(answer.body.message, /permission \w+:\w+/);
			if (role === 'admin' && action.missing) assert.match(answer.body.message, new RegExp(action.missing));
			assert.deepEqual(await rolesIn(people.owner), roles, 'a refusal changes nothing');
		}
	});
}

test('anybody may leave, and is out with the next request on the replica, and on the other within a second', async () => {
	for (const role of ['viewer', 'member', 'admin', 'owner']) {
		await place(role);
		const left = must(await target.del(path(target).replace(target.id, target.id.toUpperCase())), 200).body.data;
		assert.deepEqual([left.userId, left.email, left.role], [target.id, target.email, role]);
		const headers = { authorization: `Bearer ${target.token}` };
		const statuses = async (url: string): Promise<number[]> => [
			(await send(`${url}/organizations/${org}`, 'GET', { headers })).status,
			(await send(`${url}/gateways`, 'GET', { headers: { ...headers, 'x-organization-id': org } })).status,
		];
		assert.deepEqual(await statuses(service.url), [404, 400]);
		await soon(async () => String(await statuses(replica.url)) === '404,400', 'leaving');
	}
});

/** The same person with an access key of these permissions; null: without restrictions. */
async function byKey(person: Person, permissions: string[] | null): Promise<Person> {
	const body = { name: 'robot', ...(permissions && { permissions }) };
	const { key } = must(await person.post('/access-keys', body), 201).body.data;
	const request = (method: string) => (at: string, more?: unknown) =>
		send(service.url + at, method, { headers: { authorization: `Bearer ${key}` }, ...(more !== undefined && { body: more }) });
	return { ...person, token: key, get: request('GET'), post: request('POST'), patch: request('PATCH'), del: request('DELETE') };
}

test('an access key does not make its owner leave unless it may remove members', async () => {
	await place('member');
	must(await (await byKey(target, null)).del(path(target)), 403);
	await place('admin');
	must(await (await byKey(target, ['organization:read', 'members:read'])).del(path(target)), 403);
	assert.equal((await rolesIn(people.owner))[target.id], 'admin');
	must(await (await byKey(target, ['organization:read', 'members:write'])).del(path(target)), 200);
	await place('owner');
	const refused = must(await (await byKey(target, ['organization:read', 'members:write'])).del(path(target)), 403);
	assert.match(refused.body.message, /owners:write/);
	must(await (await byKey(target, null)).del(path(target)), 200);
});

test('an owner’s access key makes and unmakes owners only with owners:write', async () => {
	await place('member');
	const robot = await byKey(people.owner, [...permissionsOf('admin')]);
	must(await robot.patch(path(target), { role: 'admin' }), 200);
	must(await invite(robot, 'viewer'), 201);
	await place('owner');
	for (const refused of [
		await robot.patch(path(people.viewer), { role: 'owner' }),
		await robot.patch(path(target), { role: 'admin' }),
		await robot.del(path(target)),
		await invite(robot, 'owner'),
	]) {
		assert.match(must(refused, 403).body.message, /owners:write/);
	}
	const full = await byKey(people.owner, null);
	must(await full.patch(path(target), { role: 'member' }), 200);
});

test('an access key gives nobody a role with permissions that it lacks, and takes any role that it may', async () => {
	const robot = await byKey(people.owner, [...permissionsOf('viewer'), 'members:write']);
	await place('viewer');
	for (const refused of [await robot.patch(path(target), { role: 'member' }), await invite(robot, 'member')]) {
		assert.equal(must(refused, 403).body.error, 'INSUFFICIENT_SCOPE');
		assert.match(refused.body.message, /apis:write/);
	}
	assert.equal((await rolesIn(people.owner))[target.id], 'viewer');
	must(await invite(robot, 'viewer'), 201);
	await place('admin');
	const narrow = await byKey(people.owner, ['organization:read', 'members:write']);
	must(await narrow.patch(path(target), { role: 'viewer' }), 200);
	must(await narrow.del(path(target)), 200);
});

test('removing a member twice is a 404, like removing somebody who never was one', async () => {
	await place('member');
	must(await people.admin.del(path(target)), 200);
	const nobody = { ...target, id: '00000000-0000-4000-8000-000000000000' };
	for (const person of [target, nobody, { ...target, id: 'nonsense' }]) {
		must(await people.admin.del(path(person)), 404);
		must(await people.admin.patch(path(person), { role: 'viewer' }), 404);
		// Users who may not remove members do not learn who is one.
		must(await people.viewer.del(path(person)), 403);
	}
});

test('unknown roles and fields are refused by name', async () => {
	for (const [body, at] of [
		[{ role: 'root' }, '/role'],
		[{ role: 'OWNER' }, '/role'],
		[{ role: ['admin'] }, '/role'],
		[{}, '/role'],
		[{ role: 'viewer', userId: people.owner.id }, '/userId'],
	] as const) {
		assert.equal(must(await people.owner.patch(path(people.viewer), body), 400).body.details[0].path, at);
	}
});

test('the last owner can neither leave nor step down', async () => {
	for (const answer of [await people.owner.del(path(people.owner)), await people.owner.patch(path(people.owner), { role: 'admin' })]) {
		assert.equal(must(answer, 409).body.error, 'CONFLICT');
		assert.match(answer.body.message, /owner/);
	}
	assert.equal((await rolesIn(people.viewer))[people.owner.id], 'owner');
});

test('a greater role counts at once on every replica, a lesser one within a second', async () => {
	await place('viewer');
	const create = () => elsewhere(target, 'PATCH', `/organizations/${org}`, { name: 'Crew' });
	must(await create(), 403);
	must(await people.owner.patch(path(target), { role: 'admin' }), 200);
	must(await create(), 200);
	must(await people.owner.patch(path(target), { role: 'member' }), 200);
	await soon(async () => (await create()).status === 403, 'the lesser role');
});

/** Creates an organization with two owners. */
async function pair(): Promise<{ id: string; one: Person; two: Person }> {
	const [one, two] = [people.owner, target];
	const { id } = must(await one.post('/organizations', { name: 'Pair' }), 201).body.data;
	await join(one, two, 'owner', id);
	return { id, one, two };
}

const ownersOf = async (id: string): Promise<string[]> => {
	const seen = await Promise.all([people.owner, target].map((person) => person.get(`/organizations/${id}/members`)));
	const { members } = seen.find(({ status }) => status === 200)?.body.data ?? assert.fail('nobody is left');
	return members.map(({ role }: { role: string }) => role);
};

test('two owners who remove each other at once over two replicas: one stays, in 20 rounds', async () => {
	for (let round = 0; round < 20; round++) {
		const { id, one, two } = await pair();
		const answers = await Promise.all([one.del(path(two, id)), elsewhere(two, 'DELETE', path(one, id))]);
		const [first, second] = answers.map(({ status }) => status).sort();
		assert.equal(first, 200, JSON.stringify(answers));
		assert.ok(second === 403 || second === 404 || second === 409, `the second got ${second}`);
		assert.deepEqual(await ownersOf(id), ['owner']);
	}
});

test('two owners who leave at once, or demote each other: one owner stays', async () => {
	for (let round = 0; round < 10; round++) {
		const { id, one, two } = await pair();
		const left = await Promise.all([one.del(path(one, id)), elsewhere(two, 'DELETE', path(two, id))]);
		assert.deepEqual(left.map(({ status }) => status).sort(), [200, 409]);
		assert.deepEqual(await ownersOf(id), ['owner']);
		const again = await pair();
		const demote = { role: 'viewer' };
		const demoted = await Promise.all([one.patch(path(two, again.id), demote), elsewhere(two, 'PATCH', path(one, again.id), demote)]);
		assert.deepEqual(demoted.map(({ status }) => status).sort(), [200, 403]);
		assert.deepEqual((await ownersOf(again.id)).sort(), ['owner', 'viewer']);
	}
});

test('of parallel removals of one member, one is 200 and the rest are 404', async () => {
	await place('member');
	const answers = await Promise.all(
		Array.from({ length: 10 }, (_, at) => (at % 2 ? people.admin.del(path(target)) : elsewhere(people.owner, 'DELETE', path(target)))),
	);
	assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(404)]);
});
