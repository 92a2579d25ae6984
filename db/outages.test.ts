// Tests a database that is down, does not answer or refuses values, as seen from outside.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { QueryTypes } from 'sequelize';
import { asGatewayError } from '../core/contract/errors.ts';
import type { Store } from '../core/store/store.ts';
import { isBeforeTimer, until } from '../test/helpers/clock.ts';
import { administer, type Endpoint, testDatabase } from '../test/helpers/postgres.ts';
import { addApi, addGateway, addTenant, addTool, batchOf, newTool, operation } from '../test/helpers/samples.ts';
import { silent } from '../test/helpers/silent.ts';
import { testStore } from '../test/helpers/store.ts';
import { connect } from './connection.ts';
import { translated } from './errors.ts';
import { openStore } from './index.ts';

/**
 * The least time that a driver without deadlines would wait. Our own deadlines are two seconds: test/bench/promises.ts measures their
 * effect.
 */
const HANGS_MS = 20_000;

/** @returns the error, which must come by itself and not because a request hangs */
const failure = async (work: Promise<unknown>, id = 'it'): Promise<unknown> => {
	const error = work.then(
		() => assert.fail(`${id} succeeded`),
		(cause: unknown) => cause,
	);
	assert.ok(await isBeforeTimer(HANGS_MS, error), `${id} hangs`);
	return error;
};

function assertUnavailable(error: unknown): void {
	const known = asGatewayError(error);
	assert.equal(known?.code, 'unavailable', String(error));
	assert.equal(known?.headers['retry-after'], '1');
	assert.doesNotMatch(known?.message ?? '', /ECONN|sequelize|select|timeout/i);
}

const assertAway = (error: unknown): void => {
	assertUnavailable(error);
	assert.match(String(error), /cannot be reached/);
};

async function listen(server: Server): Promise<number> {
	await once(server.listen(0, '127.0.0.1'), 'listening');
	// A server on TCP has an address of this form.
	return (server.address() as AddressInfo).port;
}

const opening = (port: number) => {
	const database = { host: '127.0.0.1', port, username: 'root', password: '', name: 'postgres', ssl: false };
	return openStore({ database, dataDir: '', migrate: true, log: silent });
};

test('a port where nothing listens is unavailable', async () => {
	const server = createServer();
	const port = await listen(server);
	await new Promise((resolve) => server.close(resolve));
	assertAway(await failure(opening(port)));
});

test('a server that accepts and stays silent is unavailable', async () => {
	const sockets: Socket[] = [];
	const server = createServer((socket) => sockets.push(socket));
	assertAway(await failure(opening(await listen(server))));
	for (const socket of sockets) socket.destroy();
	server.close();
});

/** Makes a proxy between a store and the real server that can stop forwarding. */
function createProxy({ host, port }: Endpoint): { server: Server; mute(isMute: boolean): void } {
	let isMute = false;
	const server = createServer((inward) => {
		const outward = createConnection(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
		inward.on('data', (chunk) => isMute || outward.write(chunk)).on('close', () => outward.destroy());
		outward.on('data', (chunk) => isMute || inward.write(chunk)).on('close', () => inward.destroy());
		for (const socket of [inward, outward]) socket.on('error', () => socket.destroy());
	});
	return {
		server,
		mute: (now) => {
			isMute = now;
		},
	};
}

test('a store whose connections go silent answers, and recovers by itself', async () => {
	await using real = await testDatabase();
	const proxy = createProxy(real.database);
	const port = await listen(proxy.server);
	const store = await openStore({ database: { ...real.database, host: '127.0.0.1', port }, dataDir: '', migrate: false, log: silent });
	const { organizationId } = await addTenant(store);
	// Fills the pool with connections that were working a moment ago.
	await Promise.all(Array.from({ length: 20 }, () => store.ping()));

	proxy.mute(true);
	const attempts: Record<string, () => Promise<unknown>> = {
		ping: () => store.ping(),
		'a look-up': () => store.accounts.byEmail('ada@example.com'),
		'a snapshot': () => store.gateways.snapshot('acme', '/main'),
		'a change': () => store.tools.update(organizationId, organizationId, { name: 'x' }),
		'a change in two tables': () => store.apis.update(organizationId, organizationId, { name: 'x' }),
		'a change in a transaction': () => store.gateways.assign(organizationId, organizationId, []),
		'waiting for changes': async () => {
			await sleep(200);
			await (store.changes.fresh(100) ?? Promise.reject(new Error('claims to be fresh')));
		},
	};
	try {
		const errors = await Promise.all(Object.entries(attempts).map(([id, attempt]) => failure(attempt(), id)));
		errors.forEach(assertUnavailable);
		// The server has not answered for two seconds by now.
		assertAway(await failure(store.ping()));
		proxy.mute(false);
		await until(() => store.ping().then(() => true, assertUnavailable), 'the database is found again');
		// A connection that began during the silence may end after it.
		const hear = async () => store.changes.fresh(100);
		await until(() => hear().then(() => true, assertUnavailable), 'changes are heard again');
	} finally {
		proxy.mute(false);
		await store.close();
		proxy.server.close();
	}
});

test('a change that exceeds the deadline is unavailable, and is not committed later', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const database = connect(store.database, 1);
	try {
		const slow = database.write(async (transaction) => {
			await database.ordinary.query(`UPDATE organizations SET name = 'late'`, { transaction });
			await sleep(2_400);
		});
		assertUnavailable(await failure(translated(() => slow)));
		// The only connection of the pool is free again when the transaction has ended.
		const [row] = await database.ordinary.query<{ name: string }>('SELECT name FROM organizations', { type: QueryTypes.SELECT });
		assert.notEqual(row?.name, 'late');
		assert.equal((await store.audit.list(organizationId, { limit: 1 })).items[0]?.action, 'create');
	} finally {
		await database.close();
	}
});

test('connections that the server ends are replaced', async () => {
	await using store = await testStore();
	await store.ping();
	await administer(
		store.database,
		'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
	);
	// The pool hears of an end when it reads from the connection, which it may hand out before.
	await until(() => store.ping().then(() => true, assertUnavailable), 'they are replaced');
});

const REFUSED: { id: string; change: object; message: RegExp }[] = [
	{ id: 'NUL in a name', change: { name: 'a\0b' }, message: /^name must not contain the NUL character/ },
	{ id: 'NUL in code', change: { code: 'a\0b' }, message: /^code must not contain the NUL character/ },
	{ id: 'half a surrogate pair', change: { description: 'a\ud800b' }, message: /^description must be well-formed Unicode/ },
];

for (const { id, change, message } of REFUSED)
	test(`${id} is refused on creation and on change, naming the field`, async () => {
		await using store = await testStore();
		const { organizationId } = await addTenant(store);
		const tool = await addTool(store, organizationId);
		for (const attempt of [addTool(store, organizationId, change), store.tools.update(organizationId, tool.id, change)]) {
			const error = asGatewayError(await failure(attempt, id));
			assert.equal(error?.code, 'validation_failed');
			assert.match(error?.message ?? '', message);
		}
	});

test('neither messages nor causes carry the values of a statement', async () => {
	await using store = await testStore();
	const user = { email: 'canary-mail@example.com', passwordHash: 'canary-hash', firstName: 'canary-first', lastName: 'canary-last' };
	await store.accounts.register(user, { name: 'Acme', slugs: ['acme'] });
	const taken = await failure(store.accounts.register(user, { name: 'Acme', slugs: ['acme-2'] }));
	assert.equal(asGatewayError(taken)?.code, 'conflict');
	assert.doesNotMatch(inspect(taken, { depth: 10, showHidden: true }), /canary/);
});

test('values that the database cannot hold are the client’s fault, never a 500', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const gateway = await addGateway(store, organizationId);
	const tool = await addTool(store, organizationId);
	await store.gateways.assign(organizationId, gateway.id, [tool.id]);
	const attempts: Record<string, () => Promise<unknown>> = {
		'22003, a number out of range': () => store.gateways.updateAssignment(organizationId, gateway.id, tool.id, { rateLimit: 2 ** 31 }),
		'22P02, an invalid number': () => store.gateways.updateAssignment(organizationId, gateway.id, tool.id, { rateLimit: 1.5 }),
		'22P05, NUL in imported text': () => importNul(store, organizationId),
		'23514, an invalid status': () => store.tools.update(organizationId, tool.id, { status: 'sleeping' }),
		'54000, an index entry too long': () => addGateway(store, organizationId, randomText()),
		'2201W, a negative page': () => store.tools.list(organizationId, { limit: -2 }),
	};
	for (const [id, attempt] of Object.entries(attempts))
		assert.equal(asGatewayError(await failure(attempt(), id))?.code, 'validation_failed', id);
});

async function importNul(store: Store, organizationId: string): Promise<void> {
	const writer = await store.apis.beginImport(organizationId, (await addApi(store, organizationId)).id);
	try {
		await writer?.operations(batchOf(operation('a', { description: 'a\0b' })));
	} finally {
		await writer?.abort();
	}
}

/** Returns incompressible text, so that it stays longer than an index entry may be. */
const randomText = (): string => Array.from({ length: 9_000 }, () => String.fromCharCode(97 + Math.floor(Math.random() * 26))).join('');

test('JSON is returned as it was written: order of keys, numbers, half surrogates and NUL', async () => {
	await using store = await testStore();
	const { organizationId } = await addTenant(store);
	const parameters = { z: 1, a: { '10': 'x', '9': 'y', b: [1.5e300, -0.1] }, text: 'a\ud800b\0c', nothing: null };
	const { id } = await addTool(store, organizationId, newTool({ parameters }));
	const stored = await store.tools.get(organizationId, id);
	assert.equal(JSON.stringify(stored?.parameters), JSON.stringify(parameters));
});
