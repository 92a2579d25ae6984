// Requests under an idempotency key.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { IdempotentRequest, RunningRequest, Store } from '../core/store/store.ts';
import { administer } from '../test/helpers/postgres.ts';
import { addTenant } from '../test/helpers/samples.ts';
import { openReplica, type TestStore, testStore } from '../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
const ANSWER = { status: 201, body: '{"success":true,"data":{"name":"ä\\u0000😀"}}', headers: { etag: '"1"', 'x-a': 'b' } };

async function furnish(store: Store) {
	const { userId, organizationId } = await addTenant(store);
	const request: IdempotentRequest = { userId, organizationId, key: 'k', operation: 'POST /tools', fingerprint: sha256('{}') };
	return request;
}

const begin = async ({ idempotency }: Pick<Store, 'idempotency'>, request: IdempotentRequest): Promise<string> =>
	(await idempotency.begin(request)).state;

async function beginAttempt({ idempotency }: Pick<Store, 'idempotency'>, request: IdempotentRequest): Promise<RunningRequest> {
	const begun = await idempotency.begin(request);
	return begun.state === 'run' ? { ...request, attempt: begun.attempt } : assert.fail(begun.state);
}

/** Makes all requests older by the interval. */
const age = ({ database }: TestStore, interval: string) =>
	administer(database, `UPDATE idempotency_keys SET started_at = started_at - interval '${interval}'`);

test('the first request runs, others wait for it, and then get its unchanged answer', async () => {
	const request = await furnish(store);
	const running = await beginAttempt(store, request);
	assert.deepEqual(await store.idempotency.begin(request), { state: 'running' });
	await store.idempotency.keep(running, ANSWER);
	for (let n = 0; n < 3; n++) assert.deepEqual(await store.idempotency.begin(request), { state: 'kept', ...ANSWER });
	// An ended request stays unchanged.
	await store.idempotency.keep(running, { ...ANSWER, status: 500 });
	await store.idempotency.renew(running);
	await store.idempotency.forget(running);
	assert.deepEqual(await store.idempotency.begin(request), { state: 'kept', ...ANSWER });
});

test('one of fifty concurrent requests on two replicas runs', async () => {
	await using replica = await openReplica(store);
	for (const organization of [true, false]) {
		const request = { ...(await furnish(store)), ...(!organization && { organizationId: null }) };
		const race = () => Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? store : replica).idempotency.begin(request)));
		const states = (begun: Awaited<ReturnType<typeof race>>) => begun.map(({ state }) => state).sort();
		assert.deepEqual(states(await race()), ['run', ...Array(49).fill('running')]);
		await age(store, '11 minutes');
		const again = await race();
		assert.deepEqual(states(again), ['run', ...Array(49).fill('running')], 'when one is left behind');
		const winner = again.find((begun) => begun.state === 'run') ?? assert.fail();
		await store.idempotency.keep({ ...request, attempt: winner.attempt }, ANSWER);
		assert.deepEqual(states(await race()), Array(50).fill('kept'));
		await age(store, '25 hours');
		assert.deepEqual(states(await race()), ['run', ...Array(49).fill('running')], 'when one is of yesterday');
	}
});

test('a key that was used for another operation, or with another body, is distinguished from a repetition', async () => {
	const request = await furnish(store);
	const others = [
		{ ...request, operation: 'POST /apis' },
		{ ...request, fingerprint: sha256('{"a":1}') },
	];
	const running = await beginAttempt(store, request);
	for (const other of others) assert.equal(await begin(store, other), 'other', 'while it runs');
	// Neither may end a request that is not theirs.
	for (const other of others) {
		await store.idempotency.keep({ ...running, ...other }, ANSWER);
		await store.idempotency.forget({ ...running, ...other });
	}
	assert.equal(await begin(store, request), 'running');
	await age(store, '11 minutes');
	for (const other of others) assert.equal(await begin(store, other), 'other', 'when it was left behind');
	await store.idempotency.keep(running, ANSWER);
	for (const other of others) assert.equal(await begin(store, other), 'other', 'when it has ended');
	await age(store, '25 hours');
	assert.equal(await begin(store, others[0] ?? request), 'run', 'a day later the key is free');
	assert.equal(await begin(store, request), 'other');
});

test('equal keys of other users and organizations, or without one, are different keys', async () => {
	const [mine, theirs] = [await furnish(store), await furnish(store)];
	const requests = [
		mine,
		{ ...mine, organizationId: null },
		{ ...mine, organizationId: theirs.organizationId },
		theirs,
		{ ...theirs, organizationId: null },
		{ ...mine, key: 'K' },
		{ ...mine, key: 'k ' },
	];
	const running: RunningRequest[] = [];
	for (const request of requests) running.push(await beginAttempt(store, request));
	const [kept, , , forgotten] = running;
	assert.ok(kept && forgotten);
	await store.idempotency.keep(kept, ANSWER);
	await store.idempotency.forget(forgotten);
	const states = [];
	for (const request of requests) states.push(await begin(store, request));
	assert.deepEqual(states, ['kept', 'running', 'running', 'run', 'running', 'running', 'running']);
});

test('after a failure of ours the next one runs', async () => {
	const request = await furnish(store);
	for (const organizationId of [request.organizationId, null])
		for (let n = 0; n < 3; n++) {
			await store.idempotency.forget(await beginAttempt(store, { ...request, organizationId }));
		}
});

test('a running request is taken over ten minutes after it was renewed, and an ended one kept for a day', async () => {
	const request = await furnish(store);
	const left = await beginAttempt(store, request);
	await age(store, '9 minutes 50 seconds');
	assert.equal(await begin(store, request), 'running');
	await store.idempotency.renew(left);
	await age(store, '9 minutes 50 seconds');
	assert.equal(await begin(store, request), 'running');
	await age(store, '20 seconds');
	const next = await beginAttempt(store, request);
	assert.equal(await begin(store, request), 'running', 'anew');
	// The attempt that was taken over ends nothing, and renews nothing.
	await age(store, '9 minutes 50 seconds');
	await store.idempotency.renew(left);
	await store.idempotency.keep(left, { ...ANSWER, status: 500 });
	await store.idempotency.forget(left);
	assert.equal(await begin(store, request), 'running');
	await age(store, '20 seconds');
	await store.idempotency.renew(next);
	await store.idempotency.keep(next, ANSWER);
	assert.deepEqual(await store.idempotency.begin(request), { state: 'kept', ...ANSWER });
	await age(store, '23 hours 59 minutes');
	assert.equal(await begin(store, request), 'kept');
	await age(store, '2 minutes');
	assert.equal(await begin(store, request), 'run');
	assert.equal(await begin(store, request), 'running', 'nothing is left of the former answer');
});

test('requests older than a day are removed, and so are those of a removed organization', async () => {
	// It looks at whole tables.
	await using store = await testStore();
	const [old, fresh, gone] = [await furnish(store), await furnish(store), await furnish(store)];
	await store.idempotency.keep(await beginAttempt(store, old), ANSWER);
	await age(store, '25 hours');
	for (const request of [fresh, gone]) await begin(store, request);
	assert.deepEqual([await store.idempotency.prune(), await store.idempotency.prune()], [1, 0]);
	await administer(store.database, `DELETE FROM organizations WHERE id = '${gone.organizationId}'`);
	assert.deepEqual(await administer(store.database, 'SELECT user_id FROM idempotency_keys'), [{ user_id: fresh.userId }]);
	assert.equal(await begin(store, fresh), 'running');
});

test('a removed user begins nothing, and a key that cannot be stored is the caller’s fault', async () => {
	const request = await furnish(store);
	for (const userId of [randomUUID(), 'x', '\0'])
		await assert.rejects(store.idempotency.begin({ ...request, userId }), { code: 'not_found' });
	for (const key of ['\0', 'a'.repeat(20_000)]) {
		const state = await begin(store, { ...request, key }).catch((error: { code?: string }) => error.code);
		assert.ok(state === 'validation_failed' || state === 'run', state);
	}
});
