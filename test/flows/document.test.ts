// Tests that the document of the management API is valid and complete, and that real answers of every operation, successes and errors,
// match their pages. The routes come from the server, so a new one joins by itself.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RequestRoute } from '@hapi/hapi';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { permissionsOf } from '../../core/contract/permissions.ts';
import { type Judge, readDocument } from '../helpers/document.ts';
import { addMember } from '../helpers/members.ts';
import {
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
import { type Account, type Answer, createHttpTool, must, send, startTestService, type TestService } from '../helpers/service.ts';
import { tagOf } from '../helpers/versions.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';

let service: TestService;
let judge: Judge;
let tenant: Tenant;
let viewer: Account;
/** Id of the tenant's owner. */
let userId: string;
let routes: RequestRoute[];
/** Statuses that were seen and checked, by operation. */
const seen = new Map<string, Set<number>>();

before(async () => {
	service = await startTestService({ env: { FRONTEND_URL: 'https://app.example' } });
	judge = await readDocument(service.url);
	tenant = await makeTenant(service, 'documented');
	viewer = await addMember(tenant.account, 'viewer');
	routes = managementRoutes(service).filter((route) => !NOTHING_THERE.includes(nameOf(route)));
});
after(() => service.stop());

/** Some operations create organizations, after which their creator has several. */
const ofTenant = () => ({ 'x-organization-id': tenant.ids['organization'] ?? '' });

const isPublic = (route: RequestRoute): boolean => (route.settings.auth as unknown) === false;
const needOf = (route: RequestRoute): string => route.settings.plugins?.gatehouse?.need ?? 'public';
const promised = (route: RequestRoute): number[] => Object.keys(judge.pages.get(nameOf(route))?.responses ?? {}).map(Number);

/** Whether the page of an operation has the header `Idempotency-Key`. */
const takesKey = (route: RequestRoute): boolean =>
	JSON.stringify(judge.pages.get(nameOf(route))?.parameters ?? []).includes('IdempotencyKey');

interface Ask {
	path?: string;
	query?: string;
	token?: string | null;
	body?: unknown;
	headers?: Record<string, string>;
}

async function ask(route: RequestRoute, { path, query = '', token = tenant.account.token, body, headers = {} }: Ask = {}): Promise<Answer> {
	const sent = body === undefined || route.method === 'get' ? {} : { body };
	const answer = await send(service.url + (path ?? fill(route.path, ids(tenant))) + query, route.method.toUpperCase(), {
		...sent,
		headers: { ...(token !== null && { authorization: `Bearer ${token}`, ...ofTenant() }), ...headers },
	});
	const name = nameOf(route);
	assert.equal(judge.fault(name, answer), null, `${name} ${answer.status}: ${JSON.stringify(answer.body)?.slice(0, 500)}`);
	seen.set(name, (seen.get(name) ?? new Set()).add(answer.status));
	return answer;
}

async function freshLogin({ email, password }: Account): Promise<string> {
	return must(await send(`${service.url}/auth/login`, 'POST', { body: { email, password } }), 200).body.data.token;
}

test('it is valid OpenAPI 3.1, and says the same in JSON and YAML', async () => {
	const { valid, errors } = await new Validator().validate(structuredClone(judge.document));
	assert.deepEqual(errors ?? [], []);
	assert.ok(valid);
	assert.match(judge.document.openapi, /^3\.1\./);
	const yaml = await send(`${service.url}/openapi.yaml`, 'GET');
	assert.deepEqual(parse(yaml.body), judge.document);
});

test('every route is in it, with a sentence and a name of its own', () => {
	assert.deepEqual(
		routes.map(nameOf).filter((name) => !judge.pages.has(name)),
		[],
	);
	assert.equal(judge.pages.size, routes.length);
	const names = [...judge.pages.values()].map(({ operationId }) => operationId);
	assert.equal(new Set(names).size, names.length);
	for (const [name, page] of judge.pages) assert.match(String((page as unknown as { summary: string }).summary), /^[A-Z].*\.$/, name);
});

test('every plugin’s configuration is in it, and so are the types that a client may name', () => {
	const { schemas } = judge.document.components;
	for (const name of ['auth.api_key', 'transport.mcp', 'importer.openapi', 'executor.http']) assert.ok(schemas[name], name);
	const types = JSON.stringify(judge.document.paths['/gateways'].post.requestBody);
	assert.match(types, /"enum":\["a2a","mcp","skills","utcp"\]/);
});

test('the example of every body is one that the operation takes', () => {
	let examples = 0;
	for (const route of routes) {
		const schema = schemaOf(route);
		for (const example of (schema?.describe().examples ?? []) as unknown[]) {
			examples++;
			assert.equal(schema?.validate(example, { convert: false }).error, undefined, nameOf(route));
			assert.equal(judge.bodyFault(nameOf(route), example), null, nameOf(route));
		}
	}
	assert.ok(examples >= 15, `only ${examples}`);
});

test('real answers of every operation are what its page promises: unauthenticated, forbidden, invalid, not found', async () => {
	const scope = { type: 'gateway', id: tenant.ids['gateway'] };
	const narrow = must(await tenant.account.post('/access-keys', { name: 'n', scope, permissions: ['tools:execute'] }), 201).body.data.key;
	const role = permissionsOf('viewer') as readonly string[];
	for (const route of routes) {
		const statuses = promised(route);
		const body = bodyOf(route, ids(tenant));
		if (!isPublic(route)) {
			assert.equal((await ask(route, { token: null, body })).status, 401, nameOf(route));
			assert.equal((await ask(route, { token: narrow, body })).status, 403, nameOf(route));
		}
		if (route.path.startsWith('/webhooks/')) assert.equal((await ask(route, { token: null, body })).status, 401, nameOf(route));
		const need = needOf(route);
		if (need.includes(':') && !role.includes(need)) {
			assert.equal((await ask(route, { token: viewer.token, body })).status, 403, nameOf(route));
		}
		if (need.includes(':') && !route.path.includes('{orgId}')) {
			assert.equal((await ask(route, { headers: { 'x-organization-id': NOBODY }, body })).status, 400, nameOf(route));
		}
		if (route.path.includes('{')) {
			assert.equal((await ask(route, { path: fill(route.path, () => NOBODY), body })).status, 404, nameOf(route));
		}
		if (statuses.includes(400)) {
			const answer = await ask(route, { query: '?unknownField=1', body });
			assert.equal(answer.status, 400, nameOf(route));
			assert.match(JSON.stringify(answer.body), /unknownField/, nameOf(route));
		}
		if (schemaOf(route)) assert.equal((await ask(route, { body: { unknownField: 1 } })).status, 400, nameOf(route));
		if (statuses.includes(413)) {
			const large = `{"a":"${'x'.repeat(1_100_000)}"}`;
			if (!route.path.endsWith('/import-schema')) assert.equal((await ask(route, { body: large })).status, 413, nameOf(route));
			assert.equal((await ask(route, { body: 'x', headers: { 'content-type': 'text/plain' } })).status, 415, nameOf(route));
		}
		if (statuses.includes(412))
			assert.equal((await ask(route, { body, headers: { 'if-match': tagOf(999_999) } })).status, 412, nameOf(route));
		if (statuses.includes(422) && takesKey(route)) {
			const headers = { 'idempotency-key': `key-${nameOf(route)}`.replaceAll(/[^a-zA-Z-]/g, '') };
			await ask(route, { body, headers });
			const other = await ask(route, { body: { ...(body as object), ...otherThan(route) }, headers });
			assert.equal(other.status, 422, nameOf(route));
		}
	}
});

/** Returns members that make a different but equally valid body for the route. */
function otherThan(route: RequestRoute): object {
	const fields = Object.keys((schemaOf(route)?.describe()['keys'] as object | undefined) ?? {});
	if (fields.includes('input')) return { input: { name: 'another' } };
	if (fields.includes('description')) return { description: 'another' };
	if (fields.includes('name')) return { name: 'another' };
	if (fields.includes('toolIds')) return { toolIds: [NOBODY] };
	if (fields.includes('toolId')) return { toolId: NOBODY };
	if (fields.includes('skillId')) return { skillId: NOBODY };
	if (fields.includes('changelog')) return { changelog: 'another' };
	if (fields.includes('message')) return { message: 'another' };
	if (fields.includes('cases')) return { cases: [{ input: { name: 'another' } }] };
	if (fields.includes('schemaContent')) return { generateTools: true };
	if (fields.includes('isRequired')) return { isRequired: false };
	if (fields.includes('operationIds')) return { operationIds: ['another'] };
	return { parameters: { another: 1 } };
}

/** Requests for errors that pages declare beyond those common to operations of their kind. */
const DECLARED: Record<string, () => Ask & { status: number; error: string }> = {
	'POST /access-keys': () => ({ body: { name: 'k', scope: { type: 'gateway', id: NOBODY } }, status: 404, error: 'NOT_FOUND' }),
	'POST /apis': () => ({ body: { name: 'a', type: 'openapi', baseUrl: 'http://10.0.0.1' }, status: 400, error: 'EGRESS_REFUSED' }),
	'POST /alerts': () => ({ body: { name: 'a', kind: 'credential', url: 'http://10.0.0.1/' }, status: 400, error: 'EGRESS_REFUSED' }),
	'PATCH /alerts/{alertId}': () => ({ body: { url: 'http://10.0.0.1/' }, status: 400, error: 'EGRESS_REFUSED' }),
	'PATCH /apis/{id}': () => ({ body: { baseUrl: 'http://10.0.0.1' }, status: 400, error: 'EGRESS_REFUSED' }),
	'POST /apis/{id}/import-schema': () => ({ body: { schemaContent: 'nothing' }, status: 400, error: 'SCHEMA_INVALID' }),
	'DELETE /tools/{id}': () => ({ query: '?ifUnused=true', status: 409, error: 'CONFLICT' }),
	'DELETE /gateways/{id}': () => ({ query: '?ifUnused=true', status: 409, error: 'CONFLICT' }),
	'POST /gateways': () => ({ body: { name: 'g', type: 'mcp', endpoint: '/documented' }, status: 409, error: 'CONFLICT' }),
	'PATCH /organizations/{orgId}/members/{userId}': () => ({ path: self(), body: { role: 'viewer' }, status: 409, error: 'CONFLICT' }),
	'DELETE /organizations/{orgId}/members/{userId}': () => ({ path: self(), status: 409, error: 'CONFLICT' }),
	'POST /organizations/{orgId}/invitations': () => ({ body: { email: tenant.account.email }, status: 409, error: 'CONFLICT' }),
	'POST /invitations/accept': () => ({ body: { token: 'svc_inv_x' }, status: 404, error: 'NOT_FOUND' }),
	'POST /auth/register': () => ({
		body: { email: tenant.account.email, password: 'Correct1Horse', firstName: 'A', lastName: 'B', organizationName: 'C' },
		status: 409,
		error: 'CONFLICT',
	}),
	'POST /agents/{id}/v1/chat/completions': () => ({
		path: `/agents/${tenant.ids['agent']}/v1/chat/completions`,
		body: { model: 'm', messages: [{ role: 'user', content: 'x' }] },
		status: 400,
		error: 'waiting_approval',
	}),
	'POST /auth/login': () => ({ body: { email: tenant.account.email, password: 'Wrong1Horse' }, status: 401, error: 'UNAUTHORIZED' }),
	'POST /auth/reset-password': () => ({ body: { token: 'x', newPassword: 'Correct3Horse' }, status: 400, error: 'VALIDATION_FAILED' }),
};

const self = (): string => `/organizations/${tenant.ids['organization']}/members/${userId}`;

test('real answers of every operation are what its page promises: its own ways to fail', async () => {
	userId = must(await tenant.account.get('/auth/profile'), 200).body.data.id;
	for (const [name, make] of Object.entries(DECLARED)) {
		const route = routes.find((one) => nameOf(one) === name);
		assert.ok(route, name);
		const { status, error, ...given } = make();
		const answer = await ask(route, { ...given, ...(isPublic(route) && { token: null }) });
		assert.deepEqual([answer.status, answer.body.error.code ?? answer.body.error], [status, error], name);
	}
});

/** Operations whose success needs a value that no test here can know; their own tests see it. */
const ELSEWHERE: Record<string, string> = {
	'POST /invitations/accept': 'a token that was mailed',
	'POST /auth/reset-password': 'a token that was mailed',
	'POST /device/token': 'a code that a user has allowed',
	'POST /approvals/look': 'a token that was mailed',
	'POST /approvals/answer': 'a token that was mailed',
	'POST /webhooks/{webhookId}': 'a signature',
};

test('real answers of every operation are what its page promises: left for later', async () => {
	for (const route of routes.filter((each) => promised(each).includes(202) && !ELSEWHERE[nameOf(each)])) {
		const answer = await ask(route, { body: bodyOf(route, ids(tenant)), headers: { prefer: 'respond-async' } });
		assert.equal(answer.status, 202, nameOf(route));
	}
});

test('real answers of every operation are what its page promises: not changed since', async () => {
	for (const route of routes.filter((each) => promised(each).includes(304))) {
		const etag = (await ask(route)).headers.get('etag') ?? '';
		assert.equal((await ask(route, { headers: { 'if-none-match': etag } })).status, 304, nameOf(route));
	}
});

test('real answers of every operation are what its page promises: known already', async () => {
	for (const route of routes.filter((each) => promised(each).includes(204))) {
		const [, id = ''] = /^id: (.+)$/m.exec((await ask(route)).body) ?? [];
		const answer = await ask(route, { headers: { 'last-event-id': id } });
		assert.equal(answer.status, 204, nameOf(route));
	}
});

test('real answers of every operation are what its page promises: done', async () => {
	const { account } = tenant;
	const spare = await Promise.all(['one', 'two'].map((name) => createHttpTool(account, { name, url: 'https://example.com/' })));
	let live = account.token;
	const tidy = routes.toSorted(byRemoval);
	for (const route of tidy) {
		const name = nameOf(route);
		if (ELSEWHERE[name]) continue;
		const token = isPublic(route) ? null : needOf(route) === 'login' ? await freshLogin(account) : live;
		const body = bodyOf(route, (meaning) => (meaning === 'skill' ? (tenant.ids['skill'] ?? '') : (spare.pop() ?? '')));
		const query = name.endsWith('check-organization-name') ? '?name=Acme' : '';
		const unique =
			typeof body === 'object' && body !== null && 'email' in body && name.includes('register') ? { email: 'fresh@example.com' } : {};
		const given =
			name === 'POST /auth/login'
				? { email: account.email, password: account.password }
				: body === undefined
					? undefined
					: { ...body, ...unique };
		const endpoint = name === 'POST /gateways' ? { endpoint: '/done' } : name === 'POST /skills' ? { name: 'done' } : {};
		const answer = await ask(route, { query, token, body: given === undefined ? undefined : { ...given, ...endpoint } });
		assert.ok(answer.status < 300, `${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
		if (name !== 'PATCH /auth/change-password') continue;
		account.password = 'Correct2Horse';
		// The request ended every other login.
		live = await freshLogin(account);
	}
});

/** Operations that refuse a body as too large only above 64 MiB. */
const IMMENSE = ['POST /apis/{id}/import-schema'];

test('every status that a page promises was seen, but for those that take an outage or a race', () => {
	const RARE = new Set([409, 429, 500, 501, 502, 503, 504]);
	for (const route of routes) {
		const name = nameOf(route);
		const missing = promised(route).filter(
			(status) => !RARE.has(status) && !(IMMENSE.includes(name) && status === 413) && !seen.get(name)?.has(status),
		);
		assert.deepEqual(
			missing.filter((status) => !(ELSEWHERE[name] && status < 300)),
			[],
			name,
		);
	}
});

test('a 429 is what every page promises of it', async () => {
	const one = { max: 1, seconds: 60 };
	const strict = await startTestService({
		replicaOf: service,
		limits: { global: one, categories: { health: null }, invoke: one, gateways: one, routes: {} },
	});
	try {
		const path = '/auth/check-organization-name?name=x';
		await send(strict.url + path, 'GET');
		const answer = await send(strict.url + path, 'GET');
		assert.equal(answer.status, 429);
		assert.equal(judge.fault('GET /auth/check-organization-name', answer), null);
	} finally {
		await strict.stop();
	}
});
