// Tests of how a gateway's owners see and end what its OAuth server keeps, and of the audit log's entries about it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser } from '../../../test/helpers/browser.ts';
import { epochSeconds } from '../../../test/helpers/clock.ts';
import { ask, bearer } from '../../../test/helpers/gateway-auth.ts';
import { readPages } from '../../../test/helpers/lists.ts';
import { addMember } from '../../../test/helpers/members.ts';
import {
	authorizationUrl,
	obtainCode,
	obtainTokens,
	pkce,
	REDIRECT,
	redeem,
	refresh,
	registerClient,
} from '../../../test/helpers/oauth.ts';
import { GRACE_OVER, HOUR, passTime } from '../../../test/helpers/oauth-time.ts';
import { type Account, must, publishGateway, registerAccount, startTestService, type TestService } from '../../../test/helpers/service.ts';

let service: TestService;
let account: Account;
let viewer: Account;
let stranger: Account;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	viewer = await addMember(account, 'viewer');
	stranger = await registerAccount(service.url);
});
after(() => service.stop());

interface Scene {
	id: string;
	url: string;
	list(what: 'clients' | 'grants' | 'consents', query?: string): Promise<Record<string, unknown>[]>;
	end(path: string, status?: number): Promise<Record<string, unknown>>;
}

async function setScene(): Promise<Scene> {
	const { id, url } = await publishGateway(account, { auth: 'oauth2' });
	const at = `/gateways/${id}/oauth`;
	return {
		id,
		url,
		list: async (what, query = '') => must(await account.get(`${at}/${what}${query}`), 200).body.data[what],
		end: async (path, status = 200) => must(await account.del(`${at}/${path}`), status).body.data,
	};
}

const inOurs = () => ({ 'x-organization-id': account.organization.id });
const userId = async (of: Account): Promise<string> => must(await of.get('/auth/profile'), 200).body.data.id;

test('a client, its grant and its consent are shown as they are, without a secret', async () => {
	const { url, list } = await setScene();
	const { access, refresh: token, client } = await obtainTokens(url, account, { scope: 'tools:read' });
	const [shown] = await list('clients');
	assert.deepEqual([shown?.['clientId'], shown?.['name'], shown?.['registration']], [client.id, 'Probe', 'dynamic']);
	assert.deepEqual([shown?.['redirectUris'], shown?.['tokenEndpointAuthMethod']], [[REDIRECT], 'none']);
	const [grant] = await list('grants');
	assert.deepEqual([grant?.['clientId'], grant?.['userId'], grant?.['scopes']], [client.id, await userId(account), ['tools:read']]);
	// These members are typed loosely; the API's document describes them.
	const [issued] = (grant?.['accessTokens'] ?? []) as { scopes: string[]; expiresAt: string }[];
	assert.deepEqual(issued?.scopes, ['tools:read']);
	const left = Date.parse(issued?.expiresAt ?? '') - epochSeconds() * 1000;
	assert.ok(left > HOUR - 60_000 && left < HOUR + 60_000, `${left}`);
	const [consent] = await list('consents');
	assert.deepEqual([consent?.['clientId'], consent?.['email'], consent?.['scopes']], [client.id, account.email, ['tools:read']]);
	const all = JSON.stringify([shown, grant, consent]);
	for (const secret of [access, token].flatMap((one) => one.split('.').slice(1))) assert.ok(!all.includes(secret));
	assert.ok(!/secret|family|heads/i.test(all));
});

test('a confidential client is shown without its secret and the digest of it', async () => {
	const { url, list } = await setScene();
	await registerClient(url, { token_endpoint_auth_method: 'client_secret_post' });
	const [shown] = await list('clients');
	assert.equal(shown?.['tokenEndpointAuthMethod'], 'client_secret_post');
	assert.deepEqual(
		Object.keys(shown ?? {}).sort(),
		['clientId', 'createdAt', 'expiresAt', 'name', 'redirectUris', 'registration', 'tokenEndpointAuthMethod'].sort(),
	);
});

test('lists are paged and ordered like every other, and each gateway has its own', async () => {
	const { id, url, list } = await setScene();
	const other = await setScene();
	const browser = openBrowser();
	const ids: string[] = [];
	for (let turn = 0; turn < 5; turn++) {
		const client = await registerClient(url, { client_name: `Client ${turn}` });
		must(await redeem(url, client, await obtainCode(url, client, account, { browser })), 200);
		ids.push(client.id);
	}
	for (const key of ['clients', 'grants', 'consents'] as const) {
		const rows = await readPages(account, { path: `/gateways/${id}/oauth/${key}`, key }, { limit: '2' });
		assert.deepEqual(
			rows.map(({ clientId }) => clientId),
			ids,
			key,
		);
		const newest = await list(key, '?sort=-createdAt');
		assert.deepEqual(
			newest.map(({ clientId }) => clientId),
			ids.toReversed(),
			key,
		);
		assert.deepEqual(await other.list(key), []);
		for (const bad of ['?limit=0', '?cursor=x', '?sort=name', '?x=1']) must(await account.get(`/gateways/${id}/oauth/${key}${bad}`), 400);
	}
});

test('a removed client is gone with its grants and consents, whoever’s they are, and may not come back', async () => {
	const { url, list, end } = await setScene();
	const { access, refresh: token, client } = await obtainTokens(url, account);
	const member = await addMember(account, 'member');
	const { body } = must(await redeem(url, client, await obtainCode(url, client, member)), 200);
	const kept = await obtainTokens(url, account);
	const ended = await end(`clients/${client.id}`);
	assert.equal(ended['clientId'], client.id);
	for (const it of [access, body.access_token]) must(await ask(url, bearer(it)), 401);
	assert.equal(must(await refresh(url, client, token), 401).body.error, 'invalid_client');
	assert.equal((await fetch(authorizationUrl(url, client, { code_challenge: pkce().challenge }))).status, 400);
	must(await ask(url, bearer(kept.access)), 200);
	for (const what of ['clients', 'grants', 'consents'] as const) {
		const left = await list(what);
		assert.deepEqual(
			left.map(({ clientId }) => clientId),
			[kept.client.id],
		);
	}
	await end(`clients/${client.id}`, 404);
});

test('a grant ends with all its tokens, and the client may get another without asking again', async () => {
	const { url, list, end } = await setScene();
	const { access, refresh: token, client } = await obtainTokens(url, account);
	const next = must(await refresh(url, client, token), 200).body;
	const [grant] = await list('grants');
	assert.equal((await end(`grants/${grant?.['grantId']}`))['grantId'], grant?.['grantId']);
	for (const it of [access, next.access_token]) must(await ask(url, bearer(it)), 401);
	assert.equal(must(await refresh(url, client, next.refresh_token), 400).body.error, 'invalid_grant');
	await end(`grants/${grant?.['grantId']}`, 404);
	assert.equal((await list('consents')).length, 1);
});

test('an access token ends alone', async () => {
	const { url, list, end } = await setScene();
	const { access, refresh: token, client } = await obtainTokens(url, account);
	const next = must(await refresh(url, client, token), 200).body;
	const [grant] = await list('grants');
	const [first, second] = (grant?.['accessTokens'] ?? []) as { id: string }[];
	assert.ok(first && second);
	assert.equal((await end(`grants/${grant?.['grantId']}/tokens/${first.id}`))['id'], first.id);
	must(await ask(url, bearer(access)), 401);
	must(await ask(url, bearer(next.access_token)), 200);
	must(await refresh(url, client, next.refresh_token), 200);
	await end(`grants/${grant?.['grantId']}/tokens/${first.id}`, 404);
	await end(`grants/nothing/tokens/${second.id}`, 404);
});

test('a consent that is taken back takes the grants and codes of that user and client with it, and the user is asked again', async () => {
	const { url, list, end } = await setScene();
	const client = await registerClient(url);
	const browser = openBrowser();
	const mine = must(await redeem(url, client, await obtainCode(url, client, account, { browser })), 200).body;
	const pending = await obtainCode(url, client, account, { browser });
	const member = await addMember(account, 'member');
	const others = must(await redeem(url, client, await obtainCode(url, client, member)), 200).body;
	const other = await obtainTokens(url, account);
	const consents = await list('consents');
	const own = consents.find(({ clientId, email }) => clientId === client.id && email === account.email);
	assert.equal((await end(`consents/${own?.['consentId']}`))['consentId'], own?.['consentId']);
	must(await ask(url, bearer(mine.access_token)), 401);
	assert.equal(must(await redeem(url, client, pending), 400).body.error, 'invalid_grant');
	for (const it of [others.access_token, other.access]) must(await ask(url, bearer(it)), 200);
	const again = await browser.open(authorizationUrl(url, client, { code_challenge: pkce().challenge }));
	assert.match(again.html, /value="allow"/);
	await end(`consents/${own?.['consentId']}`, 404);
});

test('viewers may see but not end; others get a 404; names of another gateway are not found', async () => {
	const { id, url, list } = await setScene();
	const other = await setScene();
	const { access, client } = await obtainTokens(url, account);
	const [grant, consent] = [(await list('grants'))[0], (await list('consents'))[0]];
	const paths = [
		`clients/${client.id}`,
		`grants/${grant?.['grantId']}`,
		`grants/${grant?.['grantId']}/tokens/a`,
		`consents/${consent?.['consentId']}`,
	];
	for (const what of ['clients', 'grants', 'consents']) {
		must(await viewer.get(`/gateways/${id}/oauth/${what}`, inOurs()), 200);
		must(await stranger.get(`/gateways/${id}/oauth/${what}`), 404);
	}
	for (const path of paths) {
		must(await viewer.del(`/gateways/${id}/oauth/${path}`, undefined, inOurs()), 403);
		must(await stranger.del(`/gateways/${id}/oauth/${path}`), 404);
		await other.end(path, 404);
	}
	must(await ask(url, bearer(access)), 200);
});

test('unknown names are not found, however they are written', async () => {
	const { end } = await setScene();
	for (const kind of ['clients', 'grants', 'consents'])
		for (const name of ['nothing', 'x'.repeat(5000), '%2F', 'grant%3Aa', 'https%3A%2F%2Fclient.example%2Fclient.json', '%F0%9F%90%99'])
			await end(`${kind}/${name}`, 404);
});

interface AuditEntry {
	action: string;
	resourceType: string;
	actor: { email: string } | null;
	changes: { gatewayId?: { from?: string; to?: string } };
}

/** Reads the audit entries of this gateway, the oldest first. */
async function told({ id }: Scene): Promise<[action: string, resourceType: string, by: string | null][]> {
	const entries: AuditEntry[] = must(await account.get('/audit-log?sort=-createdAt'), 200).body.data.entries;
	return entries
		.toReversed()
		.filter(({ resourceType, changes: { gatewayId } }) => resourceType.startsWith('oauth_') && (gatewayId?.to ?? gatewayId?.from) === id)
		.map(({ action, resourceType, actor }) => [action, resourceType, actor?.email ?? null]);
}

test('the audit log says who ended what, and has no refreshes', async () => {
	const scene = await setScene();
	const { refresh: token, client } = await obtainTokens(scene.url, account);
	must(await refresh(scene.url, client, token), 200);
	const before = await told(scene);
	assert.deepEqual(
		before.map(([action, type]) => `${action} ${type}`),
		['create oauth_client', 'create oauth_consent', 'create oauth_grant'],
	);
	await scene.end(`clients/${client.id}`);
	const ended = (await told(scene)).slice(before.length);
	assert.deepEqual(ended.map(([action, type]) => `${action} ${type}`).sort(), [
		'delete oauth_client',
		'delete oauth_consent',
		'delete oauth_grant',
	]);
	for (const [, , by] of ended) assert.equal(by, account.email);
});

test('the audit log says that a grant was ended because a former token was reused (catalog, 46)', async () => {
	const scene = await setScene();
	const { refresh: token, client } = await obtainTokens(scene.url, account);
	must(await refresh(scene.url, client, token), 200);
	await passTime(service, GRACE_OVER);
	must(await refresh(scene.url, client, token), 400);
	assert.deepEqual((await told(scene)).at(-1)?.slice(0, 2), ['delete', 'oauth_grant']);
});
