// A store on a database of its own.

import type { Store } from '../../core/store/store.ts';
import { openStore, type StoreOptions } from '../../db/index.ts';
import { type Endpoint, testDatabase } from './postgres.ts';
import { silent } from './silent.ts';
import './leftovers.ts';

/** Waits so long that no test fails because others keep the database busy. */
export const PATIENT: StoreOptions['waits'] = { ordinaryMs: 60_000, connectMs: 60_000 };

export interface TestStore extends Store, AsyncDisposable {
	/** The database, for a second replica on it. */
	database: Endpoint;
	waits: StoreOptions['waits'];
}

/** Connections of a store of a test: each costs PostgreSQL CPU time. */
const POOL_SIZE = 4;

/** Makes a store, whose `close` drops the database too. @param options.waits also for replicas; `{}` for those of the product */
export async function testStore({ waits = PATIENT }: Pick<StoreOptions, 'waits'> = {}): Promise<TestStore> {
	const { database, drop } = await testDatabase();
	const store = await openStore({ database, dataDir: '', migrate: false, log: silent, waits, poolSize: POOL_SIZE });
	const close = async (): Promise<void> => {
		await store.close();
		await drop();
	};
	return { ...store, database, waits, close, [Symbol.asyncDispose]: close };
}

/** Opens a second replica's store on the same database. */
export async function openReplica({ database, waits }: Pick<TestStore, 'database' | 'waits'>): Promise<Store & AsyncDisposable> {
	const store = await openStore({ database, dataDir: '', migrate: false, log: silent, waits });
	return { ...store, [Symbol.asyncDispose]: () => store.close() };
}
