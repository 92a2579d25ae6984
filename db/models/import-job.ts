// Imports as jobs. Their queue is worked off in SQL (`../imports/queue.ts`); the model is for those who look at them.

import { type CreationOptional, DataTypes, type InferAttributes, type InferCreationAttributes, Model, type Sequelize } from 'sequelize';
import type { Actor, GeneratedTools, ImportFault, ImportPhase, ImportStatus } from '../../core/store/store.ts';
import { ID, table } from './table.ts';

export class ImportJob extends Model<InferAttributes<ImportJob>, InferCreationAttributes<ImportJob>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare apiId: string;
	declare actor: Actor;
	declare status: CreationOptional<ImportStatus>;
	declare phase: CreationOptional<ImportPhase | null>;
	declare operations: CreationOptional<number>;
	declare attempts: CreationOptional<number>;
	declare schemaId: CreationOptional<string | null>;
	declare tools: CreationOptional<GeneratedTools | null>;
	declare error: CreationOptional<ImportFault | null>;
	declare createdAt: CreationOptional<Date>;
	declare startedAt: CreationOptional<Date | null>;
	declare finishedAt: CreationOptional<Date | null>;
}

export const defineImportJob = (sequelize: Sequelize): typeof ImportJob =>
	class extends ImportJob {}.init(
		{
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
		},
		table(sequelize, 'import_jobs'),
	);
