// Tests two replicas on one PostgreSQL: a credential that one replica ends or restricts is ended or restricted on the other within a
// second, for the management API and at a gateway, whatever happens to Redis.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { addMember } from '../helpers/members.ts';
import { startRedis, type TestRedis } from '../helpers/redis.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';

let redis: TestRedis;
let first: TestService;
let second: TestService;
let owner: Account;
let gateway: { id: string; url: string; key: string };

before(async () => {
	redis = await startRedis();
	first = await startTestService({ redis });
	second = await startTestService({ replicaOf: first, redis });
	owner = await registerAccount(first.url);
	const tool = await createHttpTool(owner, { name: 'alive', url: `${first.url}/health/live` });
	gateway = await publishGateway(owner, { toolIds: [tool] });
});
after(async () => {
	await second.stop();
	await first.stop();
});

/** One use of a credential on the second replica, and the status of its answer before and after the change. */
interface Use {
	what: string;
	ask: () => Promise<number>;
	before: number;
	after: number;
}

interface Scenario {
	/** Makes the change on the first replica. */
	change: () => Promise<unknown>;
	uses: Use[];
}

const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

const manage =
	(secret: string, { method = 'GET', path = '/auth/profile', body }: { method?: string; path?: string; body?: object } = {}) =>
	async (): Promise<number> => {
		const headers = { ...bearer(secret), 'x-organization-id': owner.organization.id };
		return (await send(second.url + path, method, { body, headers })).status;
	};

const atGateway = (secret: string, method: string, params: object) => async (): Promise<number> => {
	const headers = { ...bearer(secret), accept: 'application/json, text/event-stream' };
	const body = { jsonrpc: '2.0', id: 1, method, params };
	return (await send(second.url + new URL(gateway.url).pathname, 'POST', { body, headers })).status;
};
const listing = (secret: string) => atGateway(secret, 'tools/list', {});
const calling = (secret: string) => atGateway(secret, 'tools/call', { name: 'alive', arguments: {} });

/** Uses of a credential that succeed before the change, and fail after it. */
const ends = (secret: string): Use[] => [
	{ what: 'management', ask: manage(secret), before: 200, after: 401 },
	{ what: 'tools/list', ask: listing(secret), before: 200, after: 401 },
	{ what: 'tools/call', ask: calling(secret), before: 200, after: 401 },
];

async function logIn({ email, password }: Account): Promise<string> {
	return must(await send(`${first.url}/auth/login`, 'POST', { body: { email, password } }), 200).body.data.token;
}

async function addKey(account: Account, body: object = {}): Promise<{ id: string; key: string }> {
	return must(await account.post('/access-keys', { name: 'k', ...body }), 201).body.data;
}

async function memberPath(member: Account): Promise<string> {
	const { id } = must(await member.get('/auth/profile'), 200).body.data;
	return `/organizations/${owner.organization.id}/members/${id}`;
}

const ofGateway = (permissions: string[]): object => ({ scope: { type: 'gateway', id: gateway.id }, permissions });

const SCENARIOS: Record<string, () => Promise<Scenario>> = {
	'a logout, for every token of that login and no other': async () => {
		const token = await logIn(owner);
		const renewed = must(await send(`${first.url}/auth/refresh`, 'POST', { headers: bearer(token) }), 200).body.data.token;
		const other = { what: 'another login', ask: listing(owner.token), before: 200, after: 200 };
		return {
			change: async () => must(await send(`${first.url}/auth/logout`, 'POST', { headers: bearer(token) }), 200),
			uses: [...ends(token), ...ends(renewed), other],
		};
	},
	'the revocation of an access key': async () => {
		const { id, key } = await addKey(owner);
		return { change: async () => must(await owner.del(`/access-keys/${id}`), 200), uses: ends(key) };
	},
	'the revocation of an access key for one gateway': async () => {
		const { id, key } = await addKey(owner, ofGateway(['gateway:read', 'tools:read']));
		const path = `/gateways/${gateway.id}`;
		return {
			change: async () => must(await owner.del(`/access-keys/${id}`), 200),
			uses: [
				{ what: 'management', ask: manage(key, { path }), before: 200, after: 401 },
				{ what: 'tools/list', ask: listing(key), before: 200, after: 401 },
				{ what: 'tools/call', ask: calling(key), before: 403, after: 401 },
			],
		};
	},
	'the revocation of a gateway’s key': async () => {
		const path = `/gateways/${gateway.id}/auth/api-keys`;
		const { id, key } = must(await owner.post(path, { name: 'short' }), 201).body.data;
		return {
			change: async () => must(await owner.del(`${path}/${id}`), 200),
			uses: [
				{ what: 'tools/list', ask: listing(key), before: 200, after: 401 },
				{ what: 'another key', ask: listing(gateway.key), before: 200, after: 200 },
			],
		};
	},
	'a change of the password, for every other login': async () => {
		const member = await addMember(owner, 'member');
		const token = await logIn(member);
		const { key } = await addKey(member);
		const body = { currentPassword: member.password, newPassword: 'Correct2Horse' };
		return {
			change: async () => must(await member.patch('/auth/change-password', body), 200),
			uses: [
				...ends(token),
				{ what: 'the login that changed it', ask: listing(member.token), before: 200, after: 200 },
				{ what: 'an access key', ask: listing(key), before: 200, after: 200 },
			],
		};
	},
	'a lesser role, for logins and access keys': async () => {
		const member = await addMember(owner, 'member');
		const path = await memberPath(member);
		const writing = { method: 'POST', path: `/organizations/${owner.organization.id}/tools/none/execute`, body: {} };
		const uses = (secret: string): Use[] => [
			{ what: 'reading', ask: manage(secret, { path: '/gateways' }), before: 200, after: 200 },
			{ what: 'executing', ask: manage(secret, writing), before: 404, after: 403 },
			{ what: 'tools/list', ask: listing(secret), before: 200, after: 200 },
			{ what: 'tools/call', ask: calling(secret), before: 200, after: 403 },
		];
		const one = await addKey(member, ofGateway(['tools:execute']));
		return {
			change: async () => must(await owner.patch(path, { role: 'viewer' }), 200),
			uses: [
				...uses(member.token),
				...uses((await addKey(member)).key),
				{ what: 'tools/call with a key for the gateway', ask: calling(one.key), before: 200, after: 403 },
			],
		};
	},
	'the removal of a member, for logins and access keys': async () => {
		const member = await addMember(owner, 'member');
		const path = await memberPath(member);
		const uses = (secret: string): Use[] => [
			{ what: 'management', ask: manage(secret, { path: '/gateways' }), before: 200, after: 400 },
			{ what: 'their account', ask: manage(secret), before: 200, after: 200 },
			{ what: 'tools/list', ask: listing(secret), before: 200, after: 403 },
			{ what: 'tools/call', ask: calling(secret), before: 200, after: 403 },
		];
		const one = await addKey(member, ofGateway(['tools:read', 'gateway:read']));
		return {
			change: async () => must(await owner.del(path), 200),
			uses: [
				...uses(member.token),
				...uses((await addKey(member)).key),
				{ what: 'tools/list with a key for the gateway', ask: listing(one.key), before: 200, after: 401 },
				{ what: 'its gateway', ask: manage(one.key, { path: `/gateways/${gateway.id}` }), before: 200, after: 401 },
			],
		};
	},
};

async function play(scenario: Scenario): Promise<void> {
	for (const { what, ask, before } of scenario.uses) assert.equal(await ask(), before, `${what}, before`);
	await scenario.change();
	await Promise.all(scenario.uses.map(({ what, ask, after }) => soon(async () => (await ask()) === after, what)));
	for (const { what, ask, after } of scenario.uses) assert.equal(await ask(), after, `${what}, after`);
}

function playAll(): void {
	for (const [name, prepare] of Object.entries(SCENARIOS)) {
		test(`${name}, is effective on the other replica within a second`, async () => play(await prepare()));
	}
}

describe('with Redis', playAll);

describe('after Redis lost everything', () => {
	let ended: string;
	before(async () => {
		ended = await logIn(owner);
		must(await send(`${first.url}/auth/logout`, 'POST', { headers: bearer(ended) }), 200);
		const client = new Redis({ host: redis.host, port: redis.port });
		await client.flushall();
		client.disconnect();
	});
	test('what was ended before stays so', async () => {
		for (const { ask, after: status } of ends(ended)) assert.equal(await ask(), status);
	});
	playAll();
});

describe('while Redis is stopped', () => {
	before(() => redis.stop());
	playAll();
});
