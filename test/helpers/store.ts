// A store on a database of its own.

import type { Store } from '../../core/store/store.ts';
import { openStore } from '../../db/index.ts';
import { type Endpoint, silent, testDatabase } from './postgres.ts';

export interface TestStore extends Store, AsyncDisposable {
	/** For a second replica on the same database. */
	database: Endpoint;
}

/** `close` drops the database too. */
export async function testStore(): Promise<TestStore> {
	const { database, drop } = await testDatabase();
	const store = await openStore({ database, dataDir: '', migrate: false, log: silent });
	const close = async (): Promise<void> => {
		await store.close();
		await drop();
	};
	return { ...store, database, close, [Symbol.asyncDispose]: close };
}

/** A second replica's store on the same database. */
export async function openReplica({ database }: TestStore): Promise<Store & AsyncDisposable> {
	const store = await openStore({ database, dataDir: '', migrate: false, log: silent });
	return { ...store, [Symbol.asyncDispose]: () => store.close() };
}
