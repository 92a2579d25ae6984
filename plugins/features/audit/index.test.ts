// Tests of the audit log over the whole service: who changed what, when and from where, and never a secret.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { isAbout } from '../../../test/helpers/clock.ts';
import { addMember } from '../../../test/helpers/members.ts';
import { type Account, type Answer, must, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

interface AuditEntry {
	id: string;
	at: string;
	actor: { userId: string; email: string; accessKeyId: string | null } | null;
	address: string | null;
	userAgent: string | null;
	requestId: string | null;
	action: string;
	resourceType: string;
	resourceId: string;
	resourceName: string | null;
	changes: Record<string, { from?: unknown; to?: unknown }>;
}

let service: SharedService;
let owner: Account;
let stranger: Account;
/** A second organization of `owner`, changed by these tests only. */
let org: string;
let headers: Record<string, string>;

before(async () => {
	service = await sharedService();
	owner = await registerAccount(service.url, 'First');
	stranger = await registerAccount(service.url);
	org = must(await owner.post('/organizations', { name: 'Logged' }), 201).body.data.id;
	headers = { 'x-organization-id': org, 'user-agent': 'auditor/1.0' };
});
after(() => service.stop());

const idOf = async (account: Account): Promise<string> => must(await account.get('/auth/profile'), 200).body.data.id;
const read = async (query = ''): Promise<AuditEntry[]> => must(await owner.get(`/audit-log${query}`, headers), 200).body.data.entries;

/** Reads the entries that one request wrote, the oldest first. */
async function left(answer: Answer): Promise<AuditEntry[]> {
	const requestId = answer.headers.get('x-request-id');
	return (await read()).filter((entry) => entry.requestId === requestId).reverse();
}

test('every change of an organization and its members is logged, with who, what, when and from where', async () => {
	const guest = await registerAccount(service.url);
	const [ownerId, guestId] = [await idOf(owner), await idOf(guest)];
	const people = `/organizations/${org}`;
	const renamed = must(await owner.patch(people, { name: 'Logged well' }, headers), 200);
	const invited = must(await owner.post(`${people}/invitations`, { email: guest.email, role: 'viewer' }, headers), 201);
	const { id: invitationId, token } = invited.body.data;
	const joined = must(await guest.post('/invitations/accept', { token }, headers), 200);
	const promoted = must(await owner.patch(`${people}/members/${guestId}`, { role: 'admin' }, headers), 200);
	const gone = must(await guest.del(`${people}/members/${guestId}`, undefined, headers), 200);
	const expected: [answer: Answer, actor: string, of: [action: string, type: string, id: string, name: string | null][]][] = [
		[renamed, ownerId, [['update', 'organization', org, 'Logged well']]],
		[invited, ownerId, [['create', 'invitation', invitationId, guest.email]]],
		[
			joined,
			guestId,
			[
				['create', 'member', guestId, guest.email],
				['update', 'invitation', invitationId, guest.email],
			],
		],
		[promoted, ownerId, [['update', 'member', guestId, guest.email]]],
		[gone, guestId, [['delete', 'member', guestId, guest.email]]],
	];
	for (const [answer, actor, of] of expected) {
		const entries = await left(answer);
		const seen = entries.map((entry) => [entry.action, entry.resourceType, entry.resourceId, entry.resourceName]);
		assert.deepEqual(seen.sort(), of.sort());
		for (const entry of entries) {
			assert.deepEqual(entry.actor, { userId: actor, email: actor === ownerId ? owner.email : guest.email, accessKeyId: null });
			assert.deepEqual([entry.address, entry.userAgent], ['127.0.0.1', 'auditor/1.0']);
			assert.ok(isAbout(entry.at));
		}
	}
	assert.deepEqual((await left(renamed))[0]?.changes, { name: { from: 'Logged', to: 'Logged well' } });
	assert.deepEqual((await left(promoted))[0]?.changes, { role: { from: 'viewer', to: 'admin' } });
	assert.deepEqual((await left(gone))[0]?.changes['role'], { from: 'admin' });
});

test('the creation of an organization is its first entry', async () => {
	const entries = await read('?resourceType=organization');
	const first = entries.at(-1);
	assert.deepEqual([first?.action, first?.resourceId, first?.actor?.email], ['create', org, owner.email]);
});

test('a refused change, and one that changes nothing, write no entry', async () => {
	const viewer = await registerAccount(service.url);
	const invited = must(await owner.post(`/organizations/${org}/invitations`, { email: viewer.email, role: 'viewer' }), 201);
	must(await viewer.post('/invitations/accept', { token: invited.body.data.token }), 200);
	const before = await read();
	const [ownerId, viewerId] = [await idOf(owner), await idOf(viewer)];
	must(await viewer.patch(`/organizations/${org}`, { name: 'Mine' }), 403);
	must(await owner.del(`/organizations/${org}/members/${ownerId}`), 409);
	must(await owner.patch(`/organizations/${org}/members/${viewerId}`, { role: 'viewer' }), 200);
	must(await owner.patch(`/organizations/${org}`, { name: 'Logged well' }), 200);
	must(await viewer.post('/invitations/accept', { token: invited.body.data.token }), 404);
	assert.deepEqual(await read(), before);
});

test('no entry holds the token of an invitation, or its hash', async () => {
	const { token, id } = must(await owner.post(`/organizations/${org}/invitations`, { email: 'canary@example.com' }, headers), 201).body
		.data;
	must(await owner.del(`/organizations/${org}/invitations/${id}`, undefined, headers), 200);
	const text = JSON.stringify(await read());
	assert.ok(text.includes('canary@example.com'));
	const hash = createHash('sha256').update(token).digest();
	for (const secret of [token, token.slice(8), 'svc_inv_', hash.toString('hex'), hash.toString('base64'), hash.toString('base64url')]) {
		assert.ok(!text.includes(secret), secret);
	}
});

test('entries of changes with an access key name the key', async () => {
	const { id, key } = must(await owner.post('/access-keys', { name: 'robot' }), 201).body.data;
	const renamed = must(await owner.patch(`/organizations/${org}`, { name: 'By a robot' }, { authorization: `Bearer ${key}` }), 200);
	const [entry] = await left(renamed);
	assert.deepEqual(entry?.actor, { userId: await idOf(owner), email: owner.email, accessKeyId: id });
	assert.ok(!JSON.stringify(await read()).includes(key));
});

test('another organization does not see the log, and reading it requires the permission', async () => {
	const own = must(await stranger.get('/audit-log'), 200).body.data.entries;
	assert.ok(own.length > 0);
	assert.ok(!JSON.stringify(own).includes(org) && !JSON.stringify(own).includes(owner.email));
	must(await stranger.get('/audit-log', headers), 400);
	const found = must(await stranger.get(`/audit-log?resourceId=${org}`), 200).body.data.entries;
	assert.deepEqual(found, []);
	const first = { 'x-organization-id': owner.organization.id };
	assert.ok(!JSON.stringify(must(await owner.get('/audit-log', first), 200).body).includes(org));
	for (const [role, status] of [
		['viewer', 403],
		['member', 403],
		['admin', 200],
	] as const) {
		must(await (await addMember(owner, role)).get('/audit-log', first), status);
	}
});

test('the newest come first, in pages without repetitions or gaps', async () => {
	const whole = await read();
	assert.deepEqual(
		whole.map(({ at }) => at),
		whole.map(({ at }) => at).toSorted((a, b) => b.localeCompare(a)),
	);
	const seen: string[] = [];
	for (let cursor: string | null = ''; cursor !== null; ) {
		const page: Answer = must(await owner.get(`/audit-log?limit=3${cursor && `&cursor=${cursor}`}`, headers), 200);
		seen.push(...page.body.data.entries.map(({ id }: AuditEntry) => id));
		cursor = page.body.data.nextCursor;
	}
	assert.deepEqual(
		seen,
		whole.map(({ id }) => id),
	);
});

test('each filter keeps all entries that match it, and no others', async () => {
	const whole = await read();
	const middle = whole[Math.floor(whole.length / 2)] ?? assert.fail('nothing was written');
	const actorId = middle.actor?.userId;
	const filters: [query: string, keeps: (entry: AuditEntry) => boolean][] = [
		['resourceType=member', (entry) => entry.resourceType === 'member'],
		[`resourceId=${middle.resourceId}`, (entry) => entry.resourceId === middle.resourceId],
		[`resourceId=${middle.resourceId.toUpperCase()}`, (entry) => entry.resourceId === middle.resourceId],
		[`actorId=${actorId}`, (entry) => entry.actor?.userId === actorId],
		['action=delete', (entry) => entry.action === 'delete'],
		[`since=${middle.at}`, (entry) => entry.at >= middle.at],
		[`until=${middle.at}`, (entry) => entry.at < middle.at],
		[`since=${middle.at}&until=${middle.at}`, () => false],
		[`since=${encodeURIComponent(inZone(middle.at, 14))}`, (entry) => entry.at >= middle.at],
		[`until=${inZone(middle.at, -12)}`, (entry) => entry.at < middle.at],
		['since=2001-01-01', () => true],
		['until=2001-01-01', () => false],
		['resourceType=member&action=update', (entry) => entry.resourceType === 'member' && entry.action === 'update'],
		['resourceType=nothing', () => false],
	];
	for (const [query, keeps] of filters) assert.deepEqual(await read(`?${query}`), whole.filter(keeps), query);
});

/** Writes the same instant in another time zone. */
function inZone(at: string, hours: number): string {
	const shown = new Date(Date.parse(at) + hours * 3_600_000).toISOString().slice(0, -1);
	return `${shown}${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`;
}

test('the oldest come first when asked for, page by page while more is written', async () => {
	const newest = await read();
	const oldest: AuditEntry[] = [];
	let cursor: string | null = null;
	do {
		const query: string = `?limit=3&sort=createdAt${cursor === null ? '' : `&cursor=${cursor}`}`;
		const { data } = must(await owner.get(`/audit-log${query}`, headers), 200).body;
		oldest.push(...data.entries);
		cursor = data.nextCursor;
		assert.ok(oldest.length <= newest.length + 6, 'the pages do not end');
		if (oldest.length < 6) must(await owner.patch(`/organizations/${org}`, { name: `Logged ${oldest.length}` }, headers), 200);
	} while (cursor !== null);
	assert.deepEqual(oldest.slice(0, newest.length), newest.toReversed());
	assert.equal(new Set(oldest.map(({ id }) => id)).size, oldest.length);
});

test('a time without a zone is a 400 that says how to write one: it would be another time on each server', async () => {
	for (const name of ['since', 'until']) {
		for (const value of ['2026-03-01T12:00:00', '2026-03-01T12:00', '2026-03-01T12:00:00+01:00', '2026-02-30', '2026-W10']) {
			// A + that is not encoded is read as a space.
			const { status, body } = await owner.get(`/audit-log?${name}=${value}`, headers);
			assert.deepEqual([status, body.details[0].path], [400, `query/${name}`], value);
			assert.match(body.message, /zone.*2026-03-01T12:00:00Z.*%2B/, value);
		}
	}
});

const BAD_QUERIES: [query: string, path: string][] = [
	['user=me', 'query/user'],
	['organizationId=00000000-0000-4000-8000-000000000000', 'query/organizationId'],
	['resourceId=nonsense', 'query/resourceId'],
	['actorId=*', 'query/actorId'],
	['action=read', 'query/action'],
	['action=create&action=delete', 'query/action'],
	['since=yesterday', 'query/since'],
	['since=-002023-01-01', 'query/since'],
	['until=%2B275760-09-13T00:00:00Z', 'query/until'],
	['until=1700000000000', 'query/until'],
	['since=2026-01-01&since=2026-01-02', 'query/since'],
	['sort=at', 'query/sort'],
	['sort=-name', 'query/sort'],
	['limit=0', 'query/limit'],
	['limit=101', 'query/limit'],
	['cursor=zz', 'query/cursor'],
	[`resourceType=${'t'.repeat(65)}`, 'query/resourceType'],
	['resourceType=%00', 'query/resourceType'],
];
for (const [query, path] of BAD_QUERIES) {
	test(`GET /audit-log?${query.slice(0, 60)} is a 400 that names ${path}`, async () => {
		const answer = must(await owner.get(`/audit-log?${query}`, headers), 400).body;
		assert.equal(answer.details[0].path, path);
	});
}

test('the log is exported by its filters, as CSV and as NDJSON, and never that of others', async () => {
	must(await owner.patch(`/organizations/${org}`, { name: '=HYPERLINK("x")' }, headers), 200);
	const [latest] = await read('?limit=1');
	const asked = { authorization: `Bearer ${owner.token}`, ...headers };
	const ndjson = await fetch(`${service.url}/audit-log/export?format=ndjson&resourceType=organization`, { headers: asked });
	const rows = (await ndjson.text())
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
	assert.equal(rows[0].id, latest?.id);
	assert.deepEqual([rows[0].resourceName, rows[0].email, rows[0].userAgent], ['=HYPERLINK("x")', owner.email, 'auditor/1.0']);
	assert.ok(rows.every(({ resourceType }) => resourceType === 'organization'));
	const csv = must(await owner.get('/audit-log/export', headers), 200);
	const [columns, first] = String(csv.body).split('\r\n');
	assert.equal(columns?.split(',').slice(0, 5).join(), 'at,action,resourceType,resourceId,resourceName');
	assert.ok(first?.includes(`"'=HYPERLINK(""x"")"`), first);
	assert.match(csv.headers.get('content-disposition') ?? '', /filename="audit-log\.csv"/);
	assert.ok(!String(must(await stranger.get('/audit-log/export'), 200).body).includes(String(latest?.id)));
});

test('the end of the hash chain is shown to whoever may read the log', async () => {
	const { head } = must(await owner.get('/audit-log/head', headers), 200).body.data;
	assert.ok(head === null || (head.position >= 1 && /^[0-9a-f]{64}$/.test(head.hash)));
	const viewer = await addMember(owner, 'viewer');
	assert.equal((await viewer.get('/audit-log/head', { 'x-organization-id': owner.organization.id })).status, 403);
});
