// Tests of the scope `gateway:read` of a gateway's key (specification 5.2.6): it shows that gateway, as a member sees it, and opens nothing else.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Judge, readDocument } from '../../../test/helpers/document.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	send,
	startTestService,
	type TestService,
} from '../../../test/helpers/service.ts';

let service: TestService;
let account: Account;
let judge: Judge;
before(async () => {
	service = await startTestService({ env: { TRUST_PROXY: '127.0.0.1' } });
	account = await registerAccount(service.url);
	judge = await readDocument(service.url);
});
after(() => service.stop());

interface Reader {
	id: string;
	path: string;
	keyId: string;
	key: string;
}

async function newKey(id: string, more: object = { scopes: ['gateway:read'] }): Promise<Reader> {
	const { data } = must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'reader', ...more }), 201).body;
	return { id, path: `/gateways/${id}`, keyId: data.id, key: data.key };
}

const addReader = async (more?: object, auth?: string): Promise<Reader> =>
	newKey((await publishGateway(account, auth === undefined ? {} : { auth })).id, more);

const ask = (path: string, headers: Record<string, string>, method = 'GET'): Promise<Answer> =>
	send(service.url + path, method, { headers });
const asKey = (key: string): Record<string, string> => ({ 'x-api-key': key });
const asBearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

test('it shows what a member sees, whether it comes as X-API-Key or as a Bearer token', async () => {
	const { path, key } = await addReader();
	const member = must(await account.get(path), 200);
	const tags = new Set<string>();
	for (const headers of [asKey(key), asBearer(key), { authorization: `bearer  ${key}` }]) {
		const answer = must(await ask(path, headers), 200);
		// Tokens tell about tools, which this key may not read.
		assert.deepEqual(answer.body.data, { ...member.body.data, tokens: null });
		assert.equal(judge.fault('GET /gateways/{id}', answer), null);
		tags.add(answer.headers.get('etag') ?? '');
	}
	const [tag = '', ...others] = tags;
	const told = member.headers.get('etag') ?? '';
	// One version, in two bodies.
	assert.deepEqual([others, tag.split('.')[0], tag === told], [[], told.split('.')[0], false]);
	for (const [known, status] of [
		[tag, 304],
		[told, 200],
	] as const)
		assert.equal((await ask(path, { ...asKey(key), 'if-none-match': known })).status, status);
	const { security } = judge.pages.get('GET /gateways/{id}') ?? assert.fail();
	assert.deepEqual(security, [{ bearer: [] }, { cookie: [] }, { gatewayKey: [] }]);
});

test('a key without the scope is a 403 that names it', async () => {
	for (const scopes of [undefined, ['tools:read'], ['tools:read', 'tools:execute']]) {
		const { path, key } = await addReader(scopes ? { scopes } : {});
		const { body } = must(await ask(path, asKey(key)), 403);
		assert.deepEqual([body.error, /gateway:read/.test(body.message)], ['INSUFFICIENT_SCOPE', true]);
	}
});

test('a key opens its own gateway only, and of the management API nothing else', async () => {
	const own = await addReader({ scopes: ['tools:read', 'tools:execute', 'gateway:read'] });
	const [other, foreign] = [await addReader(), await publishGateway(await registerAccount(service.url))];
	const nobodys = '/gateways/00000000-0000-4000-8000-000000000000';
	for (const path of [other.path, `/gateways/${foreign.id}`, nobodys, '/gateways/nonsense']) {
		for (const headers of [asKey(own.key), asBearer(own.key)]) {
			const answer = must(await ask(path, headers), 401);
			assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
		}
	}
	const closed = [
		'/gateways',
		`${own.path}/tools`,
		`${own.path}/auth`,
		`${own.path}/auth/api-keys`,
		'/apis',
		'/organizations',
		'/auth/profile',
	];
	for (const path of closed) for (const headers of [asKey(own.key), asBearer(own.key)]) must(await ask(path, headers), 401);
	for (const method of ['PATCH', 'DELETE']) must(await ask(own.path, asBearer(own.key), method), 401);
	must(await ask(own.path, asKey(own.key)), 200);
});

test('a key that is revoked, expired or nobody’s is a 401, and so is each at a gateway that is not active', async () => {
	const revoked = await addReader();
	must(await account.del(`${revoked.path}/auth/api-keys/${revoked.keyId}`), 200);
	must(await ask(revoked.path, asKey(revoked.key)), 401);
	const expired = await addReader({ scopes: ['gateway:read'], expiresAt: new Date(Date.now() + 3000).toISOString() });
	for (let status = 200; status !== 401; ) ({ status } = await ask(expired.path, asKey(expired.key)));
	const resting = await addReader();
	for (const key of [`${resting.key}x`, `svc_gw_${'x'.repeat(300)}`, 'svc_gw_']) must(await ask(resting.path, asKey(key)), 401);
	must(await ask(resting.path, asKey(resting.key)), 200);
	must(await account.patch(resting.path, { status: 'inactive' }), 200);
	must(await ask(resting.path, asKey(resting.key)), 401);
});

test('the key is accepted where the rules of one of the gateway’s admitting methods accept it', async () => {
	const { id, path, key } = await addReader();
	const near = { ...asKey(key), 'x-forwarded-for': '10.1.2.3' };
	must(await ask(path, near), 200);
	const ranges = { allowedIpRanges: ['10.9.0.0/16'], requiredHeaders: ['X-Team'] };
	must(await account.post(`/gateways/${id}/auth`, { type: 'api_key', isRequired: true, validationRules: ranges }), 201);
	must(await ask(path, near), 200);
	const guarded = await addReader({ scopes: ['gateway:read'] }, 'none');
	for (const { id: authId } of must(await account.get(`${guarded.path}/auth`), 200).body.data.authMethods)
		must(await account.del(`${guarded.path}/auth/${authId}`), 200);
	must(await ask(guarded.path, asKey(guarded.key)), 200);
	must(await account.post(`${guarded.path}/auth`, { type: 'api_key', validationRules: ranges }), 201);
	must(await account.post(`${guarded.path}/auth`, { type: 'bearer_token', isRequired: false }), 201);
	must(await ask(guarded.path, { ...asKey(guarded.key), 'x-forwarded-for': '10.1.2.3', 'x-team': 'a' }), 403);
	must(await ask(guarded.path, { ...asKey(guarded.key), 'x-forwarded-for': '10.9.2.3' }), 403);
	must(await ask(guarded.path, { ...asKey(guarded.key), 'x-forwarded-for': '10.9.2.3', 'x-team': 'a' }), 200);
});

test('another organization in the header is a 400, its own is not', async () => {
	const { path, key } = await addReader();
	const named = (id: string): Promise<Answer> => ask(path, { ...asKey(key), 'x-organization-id': id });
	must(await named(account.organization.id.toUpperCase()), 200);
	const { body } = must(await named((await registerAccount(service.url)).organization.id), 400);
	assert.equal(body.error, 'NO_ORGANIZATION');
});

test('beside a login’s token a key counts for nothing, and its use is told', async () => {
	const { path, key, keyId } = await addReader();
	must(await ask(path, { ...asKey('svc_gw_nobody'), authorization: `Bearer ${account.token}` }), 200);
	must(await ask(path, { ...asKey(key), ...asBearer('ak_live_nobody') }), 401);
	must(await ask(path, asKey(key)), 200);
	const used = async (): Promise<string | null> =>
		must(await account.get(`${path}/auth/api-keys`), 200).body.data.apiKeys.find(({ id }: { id: string }) => id === keyId).lastUsedAt;
	while ((await used()) === null);
});
