// Tests access by every caller to every route, with every id that its path can hold. The routes come from the server itself, so a new one
// joins by itself.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RequestRoute } from '@hapi/hapi';
import Jwt from '@hapi/jwt';
import pg from 'pg';
import { permissionsOf } from '../../core/contract/permissions.ts';
import type { Need } from '../../core/management/access.ts';
import { addMember } from '../helpers/members.ts';
import {
	BODY_IDS,
	bodyOf,
	byRemoval,
	fill,
	ids,
	makeTenant,
	managementRoutes,
	NOTHING_THERE,
	nameOf,
	schemaOf,
	type Tenant,
} from '../helpers/routes.ts';
import { sampled } from '../helpers/sampled.ts';
import { type Account, type Answer, createHttpTool, must, SECRETS, send, startTestService, type TestService } from '../helpers/service.ts';

/** Part of every name that the victim gives: no answer to another caller may contain it. */
const CANARY = 'canary7f3a';

let service: TestService;
let victim: Tenant;
let stranger: Tenant;
let viewer: Account;
let routes: RequestRoute[];

const needOf = (route: RequestRoute): Need => {
	const need = route.settings.plugins?.gatehouse?.need;
	assert.ok(need, nameOf(route));
	return need;
};
const isPublic = (route: RequestRoute): boolean => (route.settings.auth as unknown) === false;
const isOfContext = (route: RequestRoute): boolean =>
	needOf(route).includes(':') && route.settings.plugins?.gatehouse?.organization !== 'path';

interface Cell {
	route: RequestRoute;
	path?: string;
	body?: unknown;
	headers?: Record<string, string>;
}

async function ask({ route, path, body, headers = {} }: Cell): Promise<Answer> {
	const sent = body === undefined || route.method === 'get' ? {} : { body };
	const answer = await send(service.url + (path ?? fill(route.path, ids(victim))), route.method.toUpperCase(), { ...sent, headers });
	assert.ok(answer.status < 500, `${nameOf(route)} answered ${answer.status}`);
	return answer;
}

function assertNoCanary(route: RequestRoute, { body, headers }: Answer): void {
	assert.ok(!JSON.stringify([body, [...headers]]).includes(CANARY), `${nameOf(route)} told a stranger: ${JSON.stringify(body)}`);
}

/** Logs in anew, for a route that ends the login with which it is called. */
async function freshToken(account: Account): Promise<string> {
	const login = await send(`${service.url}/auth/login`, 'POST', { body: { email: account.email, password: account.password } });
	return must(login, 200).body.data.token;
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** Returns all rows that belong to the victim, except those that reading leaves behind, and the links of the audit log, which follow its entries later. */
async function stateOf(organizationId: string): Promise<string> {
	const { database } = service.config;
	assert.ok(database);
	const { host, port, username: user, password, name } = database;
	const client = new pg.Client({ host, port, user, password, database: name });
	await client.connect();
	const tables = await client.query(
		"SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'organization_id' ORDER BY 1",
	);
	let state = '';
	for (const { name: table } of tables.rows.filter(
		(row) => !/^(?:audit_(?:un)?chain|gateway_key_uses$|metrics|request_log)/.test(row.name),
	)) {
		const { rows } = await client.query(`SELECT to_jsonb(t) AS row FROM "${table}" t WHERE organization_id = $1 ORDER BY 1::text`, [
			organizationId,
		]);
		state += `${table}: ${JSON.stringify(rows)}\n`;
	}
	await client.end();
	return state;
}

before(async () => {
	service = await startTestService({ env: { FRONTEND_URL: 'https://app.example' } });
	victim = await makeTenant(service, CANARY);
	stranger = await makeTenant(service, 'stranger');
	viewer = await addMember(victim.account, 'viewer');
	routes = managementRoutes(service);
});
after(() => service.stop());

const guarded = (): RequestRoute[] => routes.filter((route) => !isPublic(route));

test('the matrix sees the routes', () => {
	assert.ok(guarded().length >= 40, `only ${guarded().length}`);
});

test('nobody without a live login gets past any route: none, garbage, expired, logged out, a foreign signature', async () => {
	const login = await freshToken(victim.account);
	const { payload } = Jwt.token.decode(login).decoded;
	const expired = Jwt.token.generate(
		{ ...payload, exp: Math.floor(Date.now() / 1000) - 1 },
		{ key: SECRETS.JWT_SECRET, algorithm: 'HS256' },
	);
	const foreign = Jwt.token.generate({ ...payload }, { key: 'x'.repeat(64), algorithm: 'HS256' });
	const ended = await freshToken(victim.account);
	must(await send(`${service.url}/auth/logout`, 'POST', { headers: bearer(ended) }), 200);
	const callers = [
		bearer('garbage'),
		bearer(expired),
		bearer(foreign),
		bearer(ended),
		bearer(`ak_live_${'x'.repeat(43)}`),
		{ authorization: 'Basic eDp5' },
	];
	for (const [at, route] of guarded().entries()) {
		for (const headers of [{}, ...sampled(callers, 3, at % 3)]) {
			const answer = await ask({ route, headers, body: bodyOf(route, ids(victim)) });
			assert.equal(answer.status, 401, `${nameOf(route)} with ${JSON.stringify(headers).slice(0, 40)}`);
			assert.ok(answer.headers.get('www-authenticate'), nameOf(route));
			assertNoCanary(route, answer);
		}
	}
});

/** Statuses of routes that check more than their permission. */
const BY_HANDLER: Record<string, number> = {
	// Any member may leave; the path names another member.
	'DELETE /organizations/{orgId}/members/{userId}': 403,
};

test('a viewer reads, and changes nothing: 403 wherever the role lacks the permission', async () => {
	const role = permissionsOf('viewer') as readonly string[];
	const before = await stateOf(victim.ids['organization'] ?? '');
	for (const route of guarded()) {
		const need = needOf(route);
		if (!need.includes(':')) continue;
		const headers = { ...bearer(viewer.token), 'x-organization-id': victim.ids['organization'] ?? '' };
		const { status } = await ask({ route, headers, body: bodyOf(route, ids(victim)) });
		const expected = BY_HANDLER[nameOf(route)] ?? (role.includes(need) ? 200 : 403);
		assert.equal(status, expected, `${nameOf(route)} needs ${need}`);
	}
	assert.equal(await stateOf(victim.ids['organization'] ?? ''), before, 'a viewer changed something');
});

test('to another organization, what is in the path does not exist', async () => {
	const before = await stateOf(victim.ids['organization'] ?? '');
	// The code that a program shows belongs to nobody before somebody decides.
	for (const route of guarded().filter(({ path }) => path.includes('{') && !path.startsWith('/device/logins/'))) {
		const answer = await ask({ route, headers: bearer(stranger.account.token), body: bodyOf(route, ids(stranger)) });
		assert.equal(answer.status, 404, nameOf(route));
		assertNoCanary(route, answer);
	}
	assert.equal(await stateOf(victim.ids['organization'] ?? ''), before, 'a stranger changed something');
});

test('nor does what hangs below one’s own organization or gateway but belongs to another', async () => {
	const before = await stateOf(victim.ids['organization'] ?? '');
	// A plugin type belongs to no organization, and the number of a version counts within its agent.
	for (const route of guarded().filter(({ path }) => (path.replace('{type}', '').replace('{idx}', '').match(/\{/g) ?? []).length > 1)) {
		let seen = 0;
		// The first id is the stranger's own, the others are the victim's.
		const path = fill(route.path, (meaning) => ids(seen++ === 0 ? stranger : victim)(meaning));
		const answer = await ask({ route, path, headers: bearer(stranger.account.token), body: bodyOf(route, ids(stranger)) });
		assert.equal(answer.status, 404, nameOf(route));
		assertNoCanary(route, answer);
	}
	assert.equal(await stateOf(victim.ids['organization'] ?? ''), before, 'a stranger changed something');
});

/** The code of an error, which OpenAI's clients expect within an object. */
const codeIn = ({ body: { error } }: Answer): string => (typeof error === 'string' ? error : error.code.toUpperCase());

test('another organization in the header is a 400 NO_ORGANIZATION where the header counts, and ignored where it does not', async () => {
	const before = await stateOf(victim.ids['organization'] ?? '');
	for (const route of guarded()) {
		const own = fill(route.path, ids(stranger));
		const token = needOf(route) === 'login' ? await freshToken(stranger.account) : stranger.account.token;
		const headers = { ...bearer(token), 'x-organization-id': victim.ids['organization'] ?? '' };
		if (isOfContext(route)) {
			const answer = await ask({ route, path: own, headers, body: bodyOf(route, ids(stranger)) });
			assert.deepEqual([answer.status, codeIn(answer)], [400, 'NO_ORGANIZATION'], nameOf(route));
			assertNoCanary(route, answer);
			continue;
		}
		if (route.method !== 'get') continue;
		const answer = await ask({ route, path: own, headers });
		assert.equal(answer.status, 200, nameOf(route));
		assertNoCanary(route, answer);
	}
	assert.equal(await stateOf(victim.ids['organization'] ?? ''), before, 'a stranger changed something');
});

test('ids of another organization in a body are not found', async () => {
	let seen = 0;
	for (const route of guarded()) {
		const schema = schemaOf(route);
		const fields = Object.keys((schema?.describe()['keys'] as object | undefined) ?? {});
		const body = bodyOf(route, ids(victim));
		// A field that may be absent is left to the tests of its feature.
		if (!fields.some((field) => BODY_IDS[field] && Object.hasOwn(Object(body), field))) continue;
		seen++;
		const path = fill(route.path, ids(stranger));
		const answer = await ask({ route, path, headers: bearer(stranger.account.token), body });
		assert.equal(answer.status, 404, nameOf(route));
		assertNoCanary(route, answer);
	}
	assert.ok(seen >= 2);
	const scope = { type: 'gateway', id: victim.ids['gateway'] };
	assert.equal((await stranger.account.post('/access-keys', { name: 'k', scope })).status, 404);
});

/** OpenAI's clients send members that nobody here reads. */
const TAKES_MORE = ['POST /agents/{id}/v1/chat/completions'];

test('no body takes a field that is not its own: no mass assignment', async () => {
	for (const [at, route] of routes.filter((one) => schemaOf(one) && !TAKES_MORE.includes(nameOf(one))).entries()) {
		const path = fill(route.path, ids(stranger));
		const token = isPublic(route) ? null : await (needOf(route) === 'login' ? freshToken(stranger.account) : stranger.account.token);
		for (const field of sampled(['organizationId', 'id', 'keyHash', 'version', '__proto__'], 5, at % 5)) {
			const body = JSON.stringify(bodyOf(route, ids(stranger)))
				.replace(/^\{/, `{"${field}":"x"${schemaOf(route) ? ',' : ''}`)
				.replace(',}', '}');
			const answer = await ask({ route, path, headers: token === null ? {} : bearer(token), body });
			assert.equal(answer.status, 400, `${nameOf(route)} took ${field}`);
			assert.match(JSON.stringify(answer.body), new RegExp(field), nameOf(route));
		}
	}
});

test('a list, an object or a number where a text is expected is a 400 that names the field', async () => {
	// `npm test` sends one of the values to each field, and one of the foreign fields to each route above; `npm run sweep` all.
	let fields = 0;
	for (const route of routes.filter((one) => schemaOf(one))) {
		const path = fill(route.path, ids(stranger));
		const token = isPublic(route) ? null : await (needOf(route) === 'login' ? freshToken(stranger.account) : stranger.account.token);
		const keys = Object.entries((schemaOf(route)?.describe()['keys'] as Record<string, { type?: string }> | undefined) ?? {});
		for (const [field] of keys.filter(([, { type }]) => type === 'string')) {
			for (const value of sampled([{ like: '%' }, ['x'], 7, true], 4, fields++ % 4)) {
				const body = { ...(bodyOf(route, ids(stranger)) as object), [field]: value };
				const answer = await ask({ route, path, headers: token === null ? {} : bearer(token), body });
				assert.equal(answer.status, 400, `${nameOf(route)} took ${field}: ${JSON.stringify(value)}`);
				assert.match(JSON.stringify(answer.body.details), new RegExp(field), nameOf(route));
			}
		}
	}
});

/** Routes that change nothing of an organization, or nothing here, where there are no operations to generate tools from. */
const LEAVES_NO_ENTRY = [
	'POST /organizations/{orgId}/tools/{id}/execute',
	'POST /apis/{id}/credentials/test',
	'POST /apis/{id}/generate-tools',
	'POST /agents/{id}/invoke',
	'POST /agents/{id}/v1/chat/completions',
	'POST /agents/{id}/test',
	'POST /gateways/{id}/explain',
	'POST /alerts/{alertId}/test',
	'POST /agents/{id}/executions/{execId}/cancel',
	'POST /agents/{id}/executions/{execId}/retry',
	'POST /llm-providers/{id}/test',
	'POST /llm-providers/{id}/chat',
	'POST /llm-providers/{id}/chat/stream',
	'DELETE /llm-providers/{id}/sessions/{sessionId}',
];

test('every route that changes something of an organization leaves an entry that names who asked, and by which request', async () => {
	const { account } = stranger;
	// Assigning what is assigned again changes nothing.
	const spareSkill = must(await account.post('/skills', { name: 'spare', description: 'x', body: '' }), 201).body.data.id;
	const spare = await Promise.all(['one', 'two'].map((name) => createHttpTool(account, { name, url: 'https://example.com/' })));
	const userId = must(await account.get('/auth/profile'), 200).body.data.id;
	const changing = guarded().filter(
		(route) => route.method !== 'get' && needOf(route).includes(':') && !NOTHING_THERE.includes(nameOf(route)),
	);
	for (const route of changing.toSorted(byRemoval)) {
		const requestId = `audited-${route.method}-${route.path.replaceAll(/[^a-zA-Z]/g, '')}`;
		const headers = { ...bearer(account.token), 'x-request-id': requestId };
		const answer = await ask({
			route,
			path: fill(route.path, ids(stranger)),
			headers,
			body: bodyOf(route, (meaning) => (meaning === 'skill' ? spareSkill : (spare.pop() ?? ''))),
		});
		assert.ok(answer.status < 300, `${nameOf(route)}: ${JSON.stringify(answer.body)}`);
		if (LEAVES_NO_ENTRY.includes(nameOf(route))) continue;
		const { entries } = must(await account.get('/audit-log?limit=10'), 200).body.data;
		const entry = entries.find((one: { requestId: string }) => one.requestId === requestId);
		assert.ok(entry, `${nameOf(route)} left no entry`);
		assert.equal(entry.actor?.userId, userId, nameOf(route));
	}
	const { entries } = must(await account.get('/audit-log'), 200).body.data;
	assert.deepEqual(
		entries
			.filter((entry: { actor: unknown }) => entry.actor === null)
			.map(({ resourceType, action }: Record<string, string>) => [resourceType, action]),
		// A client registers before any user is known.
		[['oauth_client', 'create']],
	);
});
