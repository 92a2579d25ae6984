// Tests a busy database in contrast to one that is away: another connection holds the lock until the answers have come.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { asGatewayError } from '../core/contract/errors.ts';
import { runWith } from '../core/process/around.ts';
import type { Store } from '../core/store/store.ts';
import { administer, type Endpoint } from '../test/helpers/postgres.ts';
import { addGateway, addTenant, addTool } from '../test/helpers/samples.ts';
import { openReplica, testStore } from '../test/helpers/store.ts';
import { beginTime } from './deadline.ts';

interface Lock extends AsyncDisposable {
	release(): Promise<void>;
}

async function lock({ host, port, username, password, name }: Endpoint, table: string): Promise<Lock> {
	const client = new pg.Client({ host, port, user: username, password, database: name });
	await client.connect();
	await client.query('BEGIN');
	await client.query(`SELECT FROM ${table} FOR UPDATE`);
	return {
		// A connection that lost its transaction cannot make a savepoint, and has lost the lock as well.
		release: async () => {
			await client.query('SAVEPOINT held');
			await client.query('COMMIT');
		},
		[Symbol.asyncDispose]: () => client.end(),
	};
}

/** Returns the answer that a client gets for a failure. */
async function toldOf(work: Promise<unknown>): Promise<unknown[]> {
	const error = await work.then(() => null, asGatewayError);
	return [error?.code, error?.message, error?.headers['retry-after']];
}

/** Does the work of a request. */
const inRequest = <T>(store: Pick<Store, 'deadline'>, work: () => T): T => runWith({ deadline: store.deadline() }, work);

const BUSY = ['unavailable', 'The database is busy at the moment. Try again shortly.', '1'];

test('a change of a row that is held for long hears that the database is busy, while the row is held, and is not made later', async () => {
	await using store = await testStore({ waits: {} });
	const { organizationId } = await addTenant(store);
	const { id } = await addTool(store, organizationId);
	await using held = await lock(store.database, 'tools');
	assert.deepEqual(await toldOf(store.tools.update(organizationId, id, { name: 'late' })), BUSY);
	assert.deepEqual(await toldOf(inRequest(store, () => store.tools.update(organizationId, id, { name: 'late' }))), BUSY);
	await held.release();
	assert.equal((await store.tools.get(organizationId, id))?.name, 'getPet');
	assert.equal((await store.tools.update(organizationId, id, { name: 'done' }))?.name, 'done');
});

test('fifty writers of a row that is held hear that the database is busy, and so does whoever else finds no connection; then all are in', async () => {
	await using store = await testStore({ waits: {} });
	await using replica = await openReplica(store);
	const { organizationId } = await addTenant(store);
	const { id, version } = await addGateway(store, organizationId);
	const write = (n: number) =>
		inRequest(n % 2 ? store : replica, () => (n % 2 ? store : replica).gateways.update(organizationId, id, { name: `n${n}` }));
	const all = Array.from({ length: 50 }, (_none, n) => n);
	await using held = await lock(store.database, 'gateways');
	const writers = all.map((n) => toldOf(write(n)));
	const reader = toldOf(inRequest(store, () => store.accounts.byEmail('ada@example.com')));
	assert.deepEqual(await Promise.all(writers), Array(50).fill(BUSY));
	// A writer that got the lock when the first ones gave up has a result, which is no failure.
	const [code, ...told] = await reader;
	if (code !== undefined) assert.deepEqual([code, ...told], BUSY);
	await held.release();
	let todo = all;
	while (todo.length > 0) {
		const ended = await Promise.all(todo.map(async (n) => ({ n, told: await toldOf(write(n)) })));
		const refused = ended.filter(({ told: [failure] }) => failure !== undefined);
		for (const { told: refusal } of refused) assert.deepEqual(refusal, BUSY);
		todo = refused.map(({ n }) => n);
	}
	assert.equal((await store.gateways.get(organizationId, id))?.version, version + 50);
});

test('a change whose commit has begun in time is reported as made, however long the commit takes', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const { id } = await addGateway(store, organizationId);
	await administer(
		store.database,
		'CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2.5); RETURN NULL; END $$',
		'CREATE CONSTRAINT TRIGGER rest AFTER UPDATE ON gateways DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION rest()',
	);
	const changed = await runWith({ deadline: beginTime(2_000) }, () => store.gateways.update(organizationId, id, { name: 'late' }));
	assert.equal(changed?.name, 'late');
});
