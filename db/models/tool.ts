// Tools, with the two layers of their name and description.

import { DataTypes } from 'sequelize';
import type { ToolRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

interface ToolColumns extends Omit<ToolRow, 'name' | 'description' | 'imported'>, Sequence {
	importedName: string | null;
	importedDescription: string | null;
	ownName: string | null;
	ownDescription: string | null;
	removed: boolean;
}
export type Tool = Entity<ToolColumns, 'bodies' | 'removed' | 'configVersion' | 'followsAgent'>;

const tool = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		apiId: DataTypes.UUID,
		operationId: DataTypes.UUID,
		type: DataTypes.TEXT,
		executor: DataTypes.TEXT,
		importedName: DataTypes.TEXT,
		importedDescription: DataTypes.TEXT,
		ownName: DataTypes.TEXT,
		ownDescription: DataTypes.TEXT,
		parameters: DataTypes.JSON,
		outputSchema: DataTypes.JSON,
		followsAgent: DataTypes.UUID,
		annotations: DataTypes.JSON,
		code: DataTypes.TEXT,
		executionConfig: DataTypes.JSON,
		configVersion: DataTypes.INTEGER,
		wholeHash: DataTypes.TEXT,
		bodies: DataTypes.TEXT,
		flattened: DataTypes.JSON,
		fillable: DataTypes.JSON,
		status: DataTypes.TEXT,
		removed: DataTypes.BOOLEAN,
		version: DataTypes.INTEGER,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<ToolColumns>;

export const TOOL = columnsOf(tool(), 'seq', 'importedName', 'importedDescription', 'ownName', 'ownDescription', 'removed');
export const defineTool = defineTable<Tool>('tools', tool);
