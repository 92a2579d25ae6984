import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { until } from '../test/helpers/clock.ts';
import { administer } from '../test/helpers/postgres.ts';
import { addTenant } from '../test/helpers/samples.ts';
import { silent } from '../test/helpers/silent.ts';
import { testStore } from '../test/helpers/store.ts';
import { sweepExpired } from './housekeeping.ts';

test('a minute after the start, logins are removed whose last token has expired: 31 days after they began', async (t) => {
	await using store = await testStore();
	const { userId } = await addTenant(store);
	const [old, late] = [randomUUID(), randomUUID()];
	for (const [id, hours] of [
		[old, 31 * 24 + 1],
		[late, 31 * 24 - 1],
	] as const) {
		await store.accounts.startSession({ id, userId, address: '127.0.0.1', userAgent: null, passwordHash: 'hash' });
		await administer(store.database, `UPDATE sessions SET created_at = now() - interval '${hours} hours' WHERE id = '${id}'`);
	}
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const stop = sweepExpired(store, { retentionDays: 90, kinds: () => [] }, silent);
	t.mock.timers.tick(60_000);
	t.mock.timers.reset();
	await until(async () => (await store.accounts.session(old, userId)) === null, 'the old login is gone');
	assert.ok(await store.accounts.session(late, userId));
	stop();
});

test('rows that cannot be removed are no reason to keep others', async (t) => {
	await using store = await testStore();
	const { userId } = await addTenant(store);
	const id = randomUUID();
	await store.accounts.startSession({ id, userId, address: '127.0.0.1', userAgent: null, passwordHash: 'hash' });
	await administer(
		store.database,
		`UPDATE sessions SET created_at = now() - interval '40 days' WHERE id = '${id}'`,
		'ALTER TABLE runs RENAME TO runs_away',
	);
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const stop = sweepExpired(store, { retentionDays: 90, kinds: () => [] }, silent);
	t.mock.timers.tick(60_000);
	t.mock.timers.reset();
	await until(async () => (await store.accounts.session(id, userId)) === null, 'the old login is gone');
	stop();
});
