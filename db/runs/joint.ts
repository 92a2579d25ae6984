// Runs in transactions of others, so that neither the rows of those nor their runs are there alone.

import type pg from 'pg';
import type { Transaction } from 'sequelize';
import type { RunKind, Topic } from '../../core/store/store.ts';
import type { Sql } from './pool.ts';
import type { RunParts } from './queue.ts';
import { type Added, adder, canceller, type Scheduled } from './runs.ts';

export interface JointRuns {
	/** Prepares the queue of a kind, before the transaction. */
	prepare(kind: string): Promise<void>;
	/** Adds a run. The caller rings its topics when the transaction is committed. */
	add(transaction: Transaction, asked: Scheduled, kind: RunKind): Promise<Added | null>;
	/** Cancels a run with its children. @returns the topics to ring when the transaction is committed */
	cancel(transaction: Transaction, place: { organizationId: string; id: string }, message: string): Promise<Topic[]>;
	ring(topics: readonly Topic[]): void;
}

export function createJointRuns(parts: RunParts): JointRuns {
	const [add, cancel] = [adder(parts), canceller(parts)];
	return {
		prepare: (kind) => parts.engine.prepare(kind),
		add: (transaction, asked, kind) => add(sqlOf(transaction), asked, kind),
		cancel: (transaction, place, message) => cancel(sqlOf(transaction), place, message),
		ring: (topics) => parts.bell.ring(...topics),
	};
}

/** The connection of a transaction, which Sequelize does not declare. */
function sqlOf(transaction: Transaction): Sql {
	const { connection } = transaction as Transaction & { connection?: pg.ClientBase };
	if (!connection) throw new Error('The transaction has ended.');
	return { executeSql: (text, values) => connection.query(text, values) };
}
