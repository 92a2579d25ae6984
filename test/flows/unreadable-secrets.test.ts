// Tests stored secrets that cannot be opened, because they were swapped, altered or sealed with a lost key: the error asks to enter them
// again, is never an internal error, they are never passed on, and never grant access.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { until } from '../helpers/clock.ts';
import { connectApi, get } from '../helpers/connected.ts';
import { recorder } from '../helpers/executor.ts';
import { ask, bearer, guardedGateway, hs256, MCP } from '../helpers/gateway-auth.ts';
import { CLIENT, grantServer } from '../helpers/grants.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { isSampled } from '../helpers/sampled.ts';
import { type Account, must, registerAccount, SECRETS, send, startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let account: Account;
let database: Endpoint;
const lines: string[] = [];

before(async () => {
	service = await startTestService({ onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url);
	database = service.config.database ?? assert.fail();
});
after(() => service.stop());

const flipped = (sealed: string): string => `${sealed.slice(0, -4)}${sealed.at(-4) === 'A' ? 'B' : 'A'}${sealed.slice(-3)}`;
const lost = createSecrets('cd'.repeat(32)).seal('canary', { organizationId: 'o', table: 't', row: 'r' });

/** The id of the service's key. */
const keyId = createSecrets(SECRETS.ENCRYPTION_KEY).seal('x', { organizationId: '', table: '', row: '' }).split('.')[1] ?? assert.fail();

/** Checks that an answer contains neither a key's id nor anything sealed. */
function assertPlain(answer: unknown): void {
	const text = JSON.stringify(answer);
	for (const hidden of ['v1.', keyId, lost.split('.')[1] ?? '', 'ENCRYPTION_KEY']) assert.ok(!text.includes(hidden), text);
}

const CREDENTIALS: Record<string, object> = {
	api_key: { key: 'canary-key-1', name: 'X-Pet-Key', in: 'header' },
	bearer_token: { token: 'canary-bearer-1' },
	basic_auth: { username: 'ada', password: 'canary-basic-1' },
	oauth2: { ...CLIENT, tokenUrl: 'http://127.0.0.1:65534/token' },
};

/** Creates an API with a credential and a tool, and a gateway with that tool. */
async function furnish(t: TestContext, type: string, owner = account) {
	const upstream = await recorder(t);
	const api = await connectApi(owner, upstream.origin, { paths: { '/a': get('a') } });
	await api.store(type, CREDENTIALS[type] ?? {});
	const gateway = await guardedGateway(owner, [{ type: 'none' }], [api.toolIds['a'] ?? '']);
	const [row] = await administer(database, `SELECT secret FROM api_credentials WHERE api_id = '${api.apiId}'`);
	return { upstream, api, gateway, sealed: String(row?.['secret']) };
}

const ALTERED: Record<string, (t: TestContext, type: string, sealed: string) => Promise<string> | string> = {
	'of another organization': async (t, type) => (await furnish(t, type, await registerAccount(service.url))).sealed,
	'of another API': async (t, type) => (await furnish(t, type)).sealed,
	'with another bit': (_t, _type, sealed) => flipped(sealed),
	'of a key that is lost': () => lost,
	'said to be of another key': (_t, _type, sealed) => sealed.replace(keyId, '00000000'),
	'cut off': (_t, _type, sealed) => sealed.slice(0, 20),
	'no envelope at all': () => 'canary',
};

// Every third alteration of all types but the first, other ones for each: how a secret is opened does not depend on its type.
for (const [kind, type] of Object.keys(CREDENTIALS).entries())
	describe(`the credential ${type}`, () => {
		const message = `The credential "${type}" of the API “Upstream” could not be read: enter it again.`;
		for (const [what, alter] of Object.entries(ALTERED).filter((_each, at) => kind === 0 || isSampled(at + kind, 3)))
			test(`that is ${what} is a 409 that names it, and a failed run to agents`, async (t) => {
				const { upstream, api, gateway, sealed } = await furnish(t, type);
				const secret = await alter(t, type, sealed);
				await administer(database, `UPDATE api_credentials SET secret = '${secret}' WHERE api_id = '${api.apiId}'`);
				for (const answer of [await account.post(`/apis/${api.apiId}/credentials/test`, {}), await api.run('a')]) {
					assert.deepEqual([answer.status, answer.body.error, answer.body.message], [409, 'SECRET_UNREADABLE', message]);
					assertPlain(answer.body);
				}
				const client = await mcpClient(gateway.url, {}, t);
				const [data, texts, isError] = await callTool(client, 'a');
				assert.deepEqual([data, texts, isError], [undefined, [message], true]);
				assert.equal(upstream.connections(), 0);
				// Lists and single objects do not open the secret.
				assertPlain([must(await account.get(`/apis/${api.apiId}`), 200).body, must(await account.get('/apis'), 200).body]);
				must(await api.run('a', {}, '?dryRun=true'), 200);
				if (type === 'oauth2') return;
				await api.store(type, CREDENTIALS[type] ?? {});
				assert.equal(must(await api.run('a'), 200).body.data.status, 'success');
			});
	});

test('an access token that cannot be read is fetched anew without an error', async (t) => {
	const upstream = await recorder(t);
	const tokens = await grantServer(t);
	const api = await connectApi(account, upstream.origin, { paths: { '/a': get('a') } });
	await api.store('oauth2', { ...CLIENT, tokenUrl: tokens.tokenUrl });
	for (const sealed of [null, lost, 'v1.']) {
		if (sealed !== null) await administer(database, `UPDATE upstream_tokens SET sealed = '${sealed}' WHERE api_id = '${api.apiId}'`);
		// A replica has nothing in memory, as after a restart.
		const replica = sealed === null ? service : await startTestService({ replicaOf: service, onLog: (line) => lines.push(line) });
		const path = `/organizations/${account.organization.id}/tools/${api.toolIds['a']}/execute`;
		const answer = must(await send(replica.url + path, 'POST', { body: {}, headers: bearer(account.token) }), 200);
		if (sealed !== null) await replica.stop();
		assert.equal(answer.body.data.status, 'success', JSON.stringify(answer.body));
	}
	assert.equal(tokens.asked.length, 3);
});

describe('an authentication method whose secret cannot be read', () => {
	const TOKEN = 'the-owners-own-token';
	const SECRET = 'm'.repeat(40);
	const spoil = async (id: string, field: string): Promise<void> => {
		const sealed = JSON.stringify({ [field]: lost });
		await administer(database, `UPDATE gateway_auth SET configuration = '${sealed}' WHERE id = '${id}'`);
	};
	const refusal = (type: string, field: string) =>
		`The secret "${field}" of the authentication method "${type}" of this gateway could not be read: enter it again.`;

	test('admits nobody, also not those whom it admits without that secret', async () => {
		const bearerToken = await guardedGateway(account, [{ type: 'bearer_token', configuration: { token: TOKEN } }]);
		const jwt = await guardedGateway(account, [{ type: 'jwt', configuration: { secret: SECRET } }]);
		const key = must(await account.post(`/gateways/${bearerToken.id}/auth/api-keys`, { name: 'k' }), 201).body.data.key;
		for (const token of [TOKEN, key]) must(await ask(bearerToken.url, bearer(token)), 200);
		must(await ask(jwt.url, bearer(hs256({ sub: 'ada' }, SECRET))), 200);
		await spoil(bearerToken.authIds[0] ?? '', 'token');
		await spoil(jwt.authIds[0] ?? '', 'secret');
		// The service hears of the changes from the database.
		for (const [{ url }, token] of [
			[bearerToken, TOKEN],
			[jwt, hs256({ sub: 'ada' }, SECRET)],
		] as const)
			await until(async () => (await ask(url, bearer(token))).status !== 200, 'the change is heard');
		for (const token of [TOKEN, key, account.token, lost]) {
			const { body } = must(await ask(bearerToken.url, bearer(token)), 403);
			assert.equal(body.message, refusal('bearer_token', 'token'));
			assertPlain(body);
		}
		// Without its own secret the method uses the service's.
		for (const secret of [SECRET, SECRETS.JWT_SECRET]) {
			const { body } = must(await ask(jwt.url, bearer(hs256({ sub: 'ada' }, secret))), 403);
			assert.equal(body.message, refusal('jwt', 'secret'));
		}
		for (const { id } of [bearerToken, jwt]) {
			assertPlain(must(await account.get(`/gateways/${id}/auth`), 200).body);
			must(await account.get(`/gateways/${id}`), 200);
		}
	});

	test('leaves the others their work', async () => {
		const gateway = await guardedGateway(account, [{ type: 'bearer_token', configuration: { token: TOKEN } }, { type: 'api_key' }]);
		await spoil(gateway.authIds[0] ?? '', 'token');
		const key = must(await account.post(`/gateways/${gateway.id}/auth/api-keys`, { name: 'k' }), 201).body.data.key;
		must(await ask(gateway.url, { 'x-api-key': key }), 200);
		must(await ask(gateway.url, bearer(TOKEN)), 401);
		const asked = must(await ask(gateway.url), 401);
		assert.match(asked.body.message, /^Send a key /);
		assert.match(asked.headers.get('www-authenticate') ?? '', /^Bearer /);
	});

	test('opens no door to optional ones where it is required', async () => {
		const gateway = await guardedGateway(account, [
			{ type: 'bearer_token', configuration: { token: TOKEN } },
			{ type: 'none', isRequired: false },
		]);
		await spoil(gateway.authIds[0] ?? '', 'token');
		must(await ask(gateway.url), 403);
		assert.equal((await send(gateway.url, 'POST', { body: {}, headers: MCP })).status, 403);
	});
});

test('the log tells the operator where each lies and why, and reveals no secret', () => {
	const told = lines.filter((line) => line.includes('a stored secret cannot be opened'));
	for (const table of ['api_credentials', 'upstream_tokens', 'gateway_auth']) {
		const one = told.find((line) => line.includes(`"table":"${table}"`)) ?? assert.fail(table);
		assert.match(one, /"organizationId":"[0-9a-f-]{36}","table":"\w+","row":"[^"]+","reason":"it was/);
	}
	assert.deepEqual(
		lines.filter((line) => line.includes('canary') || line.includes('INTERNAL')),
		[],
	);
});
