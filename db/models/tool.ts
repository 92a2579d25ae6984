// Tools, with the two layers of their name and description.

import { type CreationOptional, DataTypes, type InferAttributes, type InferCreationAttributes, Model, type Sequelize } from 'sequelize';
import type { BodyLayout, Fillable, Flattened, JsonObject, JsonSchema, ToolAnnotations } from '../../core/contract/nouns.ts';
import { ID, table } from './table.ts';

export class Tool extends Model<InferAttributes<Tool>, InferCreationAttributes<Tool>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare apiId: CreationOptional<string | null>;
	declare operationId: CreationOptional<string | null>;
	declare type: string;
	declare executor: string;
	declare importedName: CreationOptional<string | null>;
	declare importedDescription: CreationOptional<string | null>;
	declare ownName: string | null;
	declare ownDescription: string | null;
	declare parameters: JsonSchema;
	declare outputSchema: JsonSchema | null;
	declare annotations: ToolAnnotations;
	declare code: string | null;
	declare executionConfig: JsonObject;
	declare wholeHash: CreationOptional<string | null>;
	declare bodies: CreationOptional<BodyLayout>;
	declare flattened: CreationOptional<Flattened | null>;
	declare fillable: CreationOptional<Fillable | null>;
	declare status: CreationOptional<string>;
	declare removed: CreationOptional<boolean>;
	declare version: CreationOptional<number>;
	declare createdAt: CreationOptional<Date>;
	declare updatedAt: CreationOptional<Date>;
}

export const defineTool = (sequelize: Sequelize): typeof Tool =>
	class extends Tool {}.init(
		{
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
			annotations: DataTypes.JSON,
			code: DataTypes.TEXT,
			executionConfig: DataTypes.JSON,
			wholeHash: DataTypes.TEXT,
			bodies: DataTypes.TEXT,
			flattened: DataTypes.JSON,
			fillable: DataTypes.JSON,
			status: DataTypes.TEXT,
			removed: DataTypes.BOOLEAN,
			version: DataTypes.INTEGER,
			createdAt: DataTypes.DATE,
			updatedAt: DataTypes.DATE,
		},
		table(sequelize, 'tools'),
	);
