// Runs in transactions of others, so that neither the rows of those nor their runs are there alone.

import type pg from 'pg';
import type { Transaction } from 'sequelize';
import type { Run, RunKind } from '../../core/store/store.ts';
import { uuid } from '../pages.ts';
import type { Sql } from './pool.ts';
import type { RunParts } from './queue.ts';
import type { News } from './rows.ts';
import { type Added, adder, canceller, type Forked, forker, type Scheduled } from './runs.ts';

export interface JointRuns {
	/** Prepares the queue of a kind, before the transaction. */
	prepare(kind: string): Promise<void>;
	/** Adds a run. The caller rings its topics when the transaction is committed. */
	add(transaction: Transaction, asked: Scheduled, kind: RunKind): Promise<Added | null>;
	/** Cancels a run with its children. @returns the news to ring when the transaction is committed, once */
	cancel(transaction: Transaction, place: { organizationId: string; id: string }, message: string): Promise<News[]>;
	/** Starts a run anew, of a kind that is prepared. The caller rings `run:queued:<kind>` when the transaction is committed. */
	fork(transaction: Transaction, place: { organizationId: string; id: string }, forked: Forked): Promise<Run | null>;
	ring(news: readonly News[]): void;
}

export function createJointRuns(parts: RunParts): JointRuns {
	const [add, cancel, fork] = [adder(parts), canceller(parts), forker(parts)];
	return {
		prepare: (kind) => parts.engine.prepare(kind),
		add: (transaction, asked, kind) => add(sqlOf(transaction), asked, kind),
		cancel: (transaction, place, message) => cancel(sqlOf(transaction), place, message),
		fork: (transaction, { organizationId, id }, forked) => fork(sqlOf(transaction), [uuid(organizationId), uuid(id)], forked),
		ring: (news) => parts.bell.ring(...news),
	};
}

/** The connection of a transaction, which Sequelize does not declare. */
function sqlOf(transaction: Transaction): Sql {
	const { connection } = transaction as Transaction & { connection?: pg.ClientBase };
	if (!connection) throw new Error('The transaction has ended.');
	return { executeSql: (text, values) => connection.query(text, values) };
}
