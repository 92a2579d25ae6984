// The lease for asking a token server, and the use of its tokens, on two replicas that share nothing but PostgreSQL.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { elapsing, until } from '../../test/helpers/clock.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addApi, addTenant } from '../../test/helpers/samples.ts';
import { SECRETS } from '../../test/helpers/service.ts';
import { silent } from '../../test/helpers/silent.ts';
import { openReplica, testStore } from '../../test/helpers/store.ts';
import { GatewayError } from '../contract/errors.ts';
import type { OutboundRequest, OutboundResponse } from '../contract/outbound.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import type { CredentialRow, Store, TokenStore } from '../store/store.ts';
import { createUpstreamTokens, type UpstreamTokens } from './access-tokens.ts';

const FIELDS = { tokenUrl: 'https://auth.example/token', clientId: 'c', clientSecret: 's', scopes: [] };

type Ask = (form: URLSearchParams, count: number) => Promise<object> | object;

/** Sets up one credential, and replicas that would ask the same token server. */
async function setUp(t: TestContext, ask: Ask) {
	const store = await testStore();
	const other = await openReplica(store);
	const { organizationId } = await addTenant(store);
	const { id: apiId } = await addApi(store, organizationId);
	const secrets = createSecrets(SECRETS.ENCRYPTION_KEY);
	const asked: URLSearchParams[] = [];
	const seal = async (secret: string): Promise<CredentialRow> =>
		(await store.apis.putCredential(organizationId, { apiId, type: 'oauth2', origin: 'https://pets.example', secret })) ?? assert.fail();
	const replica = (on: Store, rows: Partial<TokenStore> = {}): UpstreamTokens => {
		const answer = async (_organization: string, { body, url }: OutboundRequest): Promise<OutboundResponse> => {
			const form = new URLSearchParams(String(body));
			asked.push(form);
			return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(await ask(form, asked.length))), url };
		};
		const parts = { store: { ...on.upstreamTokens, ...rows }, changes: on.changes, secrets, log: silent, ask: answer };
		const tokens = createUpstreamTokens(parts);
		t.after(() => tokens.close());
		return tokens;
	};
	t.after(async () => {
		await other[Symbol.asyncDispose]();
		await store.close();
	});
	return { store, other, organizationId, row: await seal('sealed'), seal, asked, replica };
}

const granted = (_form: URLSearchParams, count: number): object => ({ access_token: `t${count}`, token_type: 'Bearer', expires_in: 3600 });

test('a token in memory costs no database query, and one that another replica obtained costs no request', async (t) => {
	const { store, other, organizationId, row, asked, replica } = await setUp(t, granted);
	let turns = 0;
	const counting = replica(store, {
		turn: (...input) => {
			turns += 1;
			return store.upstreamTokens.turn(...input);
		},
	});
	assert.equal((await counting.get(organizationId, row, FIELDS)).accessToken, 't1');
	await sleep(700);
	await counting.get(organizationId, row, FIELDS);
	const before = turns;
	for (let n = 0; n < 100; n++) assert.equal((await counting.get(organizationId, row, FIELDS)).accessToken, 't1');
	assert.equal(turns, before);
	const second = await replica(other).get(organizationId, row, FIELDS);
	assert.deepEqual([second.accessToken, second.isNew, asked.length], ['t1', false, 1]);
});

test('a renewal makes the other replicas drop their tokens', async (t) => {
	const { store, other, organizationId, row, asked, replica } = await setUp(t, granted);
	const [one, two] = [replica(store), replica(other)];
	const held = await one.get(organizationId, row, FIELDS);
	await two.get(organizationId, row, FIELDS);
	await held.renew();
	await until(async () => (await two.get(organizationId, row, FIELDS)).accessToken === 't2', 'the other replica has the new token');
	assert.equal(asked.length, 2);
});

test('when a replica dies while asking, the others wait until its lease ends, and one of them asks', async (t) => {
	const { store, other, organizationId, row, asked, replica } = await setUp(t, granted);
	const dead = { useless: null, lease: '00000000-0000-4000-8000-00000000dead', leaseMs: 700 };
	const isOver = elapsing(dead.leaseMs);
	assert.equal((await store.upstreamTokens.turn(organizationId, row, dead))?.state, 'lease');
	assert.equal((await replica(other).get(organizationId, row, FIELDS)).accessToken, 't1');
	assert.ok(isOver(), 'it did not wait');
	// The first one was not dead, but slow: its token is too late.
	const late = { lease: dead.lease, sealed: 'late', lifetimeMs: 1000 };
	assert.equal(await store.upstreamTokens.keep(organizationId, row, late), null);
	assert.equal(asked.length, 1);
});

test('a token server that fails releases the lease, and is not asked again for a second', async (t) => {
	const { store, other, organizationId, row, asked, replica } = await setUp(t, (_form, count) => {
		if (count === 1) throw new GatewayError('upstream_failed', 'auth.example refused the connection.');
		return granted(_form, count);
	});
	const tokens = replica(store);
	for (let n = 0; n < 5; n++) await assert.rejects(tokens.get(organizationId, row, FIELDS), /refused the connection/);
	assert.equal(asked.length, 1);
	assert.equal((await replica(other).get(organizationId, row, FIELDS)).accessToken, 't2');
	await sleep(1100);
	assert.equal((await tokens.get(organizationId, row, FIELDS)).accessToken, 't2');
});

test('a token that arrives during a database outage is stored afterwards: the next refresh token is not lost', async (t) => {
	const ask: Ask = (form, count) => ({ ...granted(form, count), expires_in: 0, refresh_token: `r${count + 1}` });
	const { store, other, organizationId, row, asked, replica } = await setUp(t, ask);
	let failures = 2;
	const shaky = replica(store, {
		keep: (...input) => {
			failures -= 1;
			return failures >= 0 ? Promise.reject(new GatewayError('unavailable', 'gone')) : store.upstreamTokens.keep(...input);
		},
	});
	const fields = { ...FIELDS, refreshToken: 'r1' };
	assert.equal((await shaky.get(organizationId, row, fields)).accessToken, 't1');
	assert.equal((await replica(other).get(organizationId, row, fields)).accessToken, 't2');
	assert.deepEqual(
		asked.map((form) => form.get('refresh_token')),
		['r1', 'r2'],
	);
});

test('a token that was stored although the database’s answer was lost is found there', async (t) => {
	const { store, organizationId, row, asked, replica } = await setUp(t, granted);
	let isLost = true;
	const shaky = replica(store, {
		keep: async (...input) => {
			const revision = await store.upstreamTokens.keep(...input);
			if (!isLost) return revision;
			isLost = false;
			throw new GatewayError('unavailable', 'The answer was lost.');
		},
	});
	assert.equal((await shaky.get(organizationId, row, FIELDS)).accessToken, 't1');
	assert.equal(asked.length, 1);
});

test('changing a credential while its token is requested discards the token', async (t) => {
	const begun = Promise.withResolvers<void>();
	const changed = Promise.withResolvers<void>();
	const { store, organizationId, row, seal, asked, replica } = await setUp(t, async (form, count) => {
		begun.resolve();
		if (count === 1) await changed.promise;
		return granted(form, count);
	});
	const tokens = replica(store);
	const getting = tokens.get(organizationId, row, FIELDS);
	getting.catch(() => undefined);
	await begun.promise;
	const next = await seal('sealed again');
	changed.resolve();
	await assert.rejects(getting, { code: 'upstream_failed', message: /has just been changed/ });
	await assert.rejects(tokens.get(organizationId, row, FIELDS), /has just been changed/);
	assert.equal((await tokens.get(organizationId, next, FIELDS)).accessToken, 't2');
	assert.equal(asked.length, 2);
	const [{ count } = assert.fail()] = await administer(store.database, 'SELECT count(*)::integer FROM upstream_tokens');
	assert.equal(count, 1);
});

test('nobody gets a lease for a credential that was changed, whichever came first', async (t) => {
	const { store, other, organizationId, row, seal } = await setUp(t, granted);
	let current = row;
	for (let n = 0; n < 20; n++) {
		const asked = { useless: null, lease: '00000000-0000-4000-8000-000000000001', leaseMs: 60_000 };
		const [next, turn] = await Promise.all([seal(`sealed ${n}`), other.upstreamTokens.turn(organizationId, current, asked)]);
		// A query between the two finds nothing, and is repeated.
		assert.ok(turn === null || turn.state !== 'found', JSON.stringify(turn));
		// If it came first, its lease was removed with the credential.
		const fresh = await store.upstreamTokens.turn(organizationId, next, { ...asked, lease: '00000000-0000-4000-8000-000000000002' });
		assert.equal(fresh?.state, 'lease', String(n));
		await store.upstreamTokens.giveUp(organizationId, next, '00000000-0000-4000-8000-000000000002');
		current = next;
	}
});

test('a credential of another organization gives no lease, and its owner loses nothing', async (t) => {
	const { store, organizationId, row } = await setUp(t, granted);
	const stranger = (await addTenant(store)).organizationId;
	const lease = '00000000-0000-4000-8000-000000000001';
	const asked = { useless: null, lease, leaseMs: 60_000 };
	assert.equal(await store.upstreamTokens.turn(stranger, row, asked), null);
	assert.equal((await store.upstreamTokens.turn(organizationId, row, asked))?.state, 'lease');
	assert.equal(await store.upstreamTokens.keep(stranger, row, { lease, sealed: 's', lifetimeMs: 1000 }), null);
	await store.upstreamTokens.giveUp(stranger, row, lease);
	assert.equal(await store.upstreamTokens.keep(organizationId, row, { lease, sealed: 's', lifetimeMs: 1000 }), 1);
});

test('one of fifty concurrent requests for a lease on two replicas gets it', async (t) => {
	const { store, other, organizationId, row } = await setUp(t, granted);
	const turns = await Promise.all(
		Array.from({ length: 50 }, (_, n) => {
			const lease = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
			return (n % 2 ? store : other).upstreamTokens.turn(organizationId, row, { useless: null, lease, leaseMs: 60_000 });
		}),
	);
	assert.deepEqual(turns.map((turn) => turn?.state).toSorted(), ['lease', ...Array(49).fill('wait')]);
});
