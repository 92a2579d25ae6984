// Turns at an API: one import, or one generation of tools, of it runs at a time. Whoever waits for theirs has no connection, since there are few of
// those, and they are for all organizations.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Sequelize, Transaction } from 'sequelize';
import { busy } from '../errors.ts';

/** The time that work waits which goes on by itself, and that of somebody's request. */
export const WORK_WAIT_MS = 120_000;
export const REQUEST_WAIT_MS = 2_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;

/** Locks an API until the transaction ends. @returns false when another transaction has it */
export async function lockApi(sequelize: Sequelize, apiId: string, transaction: Transaction): Promise<boolean> {
	const lock = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS "isLocked"';
	const [[row]] = (await sequelize.query(lock, { bind: [`api ${apiId}`], transaction })) as [{ isLocked: boolean }[], unknown];
	return row?.isLocked === true;
}

/** Asks for a turn until there is one. @param take begins a transaction, and ends it and returns null where the API is locked. @throws unavailable */
export async function inTurn<T extends object>(mostMs: number, take: () => Promise<T | null>): Promise<T> {
	const startedMs = performance.now();
	for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
		const taken = await take();
		if (taken) return taken;
		if (performance.now() - startedMs + pauseMs > mostMs) throw busy(new Error('Another import, or generation, of the API is under way.'));
		await sleep(pauseMs);
	}
}
