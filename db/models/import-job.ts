// Import jobs. SQL runs their queue (`../imports/queue.ts`); this model serves their readers.

import { DataTypes } from 'sequelize';
import type { Actor, ImportJobRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

interface ImportJobColumns extends Omit<ImportJobRow, 'requestedBy'>, Sequence {
	actor: Actor;
}
export type ImportJob = Entity<ImportJobColumns, 'operations' | 'attempts'>;

const importJob = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		apiId: DataTypes.UUID,
		actor: DataTypes.JSON,
		status: DataTypes.TEXT,
		phase: DataTypes.TEXT,
		operations: DataTypes.INTEGER,
		attempts: DataTypes.INTEGER,
		schemaId: DataTypes.UUID,
		tools: DataTypes.JSON,
		error: DataTypes.JSON,
		createdAt: DataTypes.DATE,
		startedAt: DataTypes.DATE,
		finishedAt: DataTypes.DATE,
	}) satisfies Columns<ImportJobColumns>;

export const IMPORT_JOB = columnsOf(importJob(), 'seq', 'actor');
export const defineImportJob = defineTable<ImportJob>('import_jobs', importJob);
