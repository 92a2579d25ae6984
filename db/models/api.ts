// Connected APIs: their credentials, imported schemas and operations.

import { type CreationOptional, DataTypes, type InferAttributes, type InferCreationAttributes, Model, type Sequelize } from 'sequelize';
import type { JsonObject, JsonSchema } from '../../core/contract/nouns.ts';
import type { ImportChanges, KeyPlace, OutboundLimits, PassedHeader } from '../../core/store/store.ts';
import { ID, table } from './table.ts';

export class Api extends Model<InferAttributes<Api>, InferCreationAttributes<Api>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare name: string;
	declare type: string;
	declare baseUrl: string;
	declare description: string | null;
	declare status: CreationOptional<string>;
	declare outbound: CreationOptional<OutboundLimits | null>;
	declare passThrough: CreationOptional<PassedHeader[] | null>;
	declare version: CreationOptional<number>;
	declare createdAt: CreationOptional<Date>;
	declare updatedAt: CreationOptional<Date>;
}

export const defineApi = (sequelize: Sequelize): typeof Api =>
	class extends Api {}.init(
		{
			id: ID(),
			seq: DataTypes.BIGINT,
			organizationId: DataTypes.UUID,
			name: DataTypes.TEXT,
			type: DataTypes.TEXT,
			baseUrl: DataTypes.TEXT,
			description: DataTypes.TEXT,
			status: DataTypes.TEXT,
			outbound: DataTypes.JSON,
			passThrough: DataTypes.JSON,
			version: DataTypes.INTEGER,
			createdAt: DataTypes.DATE,
			updatedAt: DataTypes.DATE,
		},
		table(sequelize, 'apis'),
	);

export class ApiCredential extends Model<InferAttributes<ApiCredential>, InferCreationAttributes<ApiCredential>> {
	declare organizationId: string;
	declare apiId: string;
	declare type: string;
	/** Empty: none. */
	declare scheme: CreationOptional<string>;
	declare origin: string;
	declare secret: string;
	declare place: CreationOptional<KeyPlace | null>;
	declare updatedAt: CreationOptional<Date>;
}

export const defineApiCredential = (sequelize: Sequelize): typeof ApiCredential =>
	class extends ApiCredential {}.init(
		{
			organizationId: { type: DataTypes.UUID, primaryKey: true },
			apiId: { type: DataTypes.UUID, primaryKey: true },
			type: { type: DataTypes.TEXT, primaryKey: true },
			scheme: { type: DataTypes.TEXT, primaryKey: true },
			origin: DataTypes.TEXT,
			secret: DataTypes.TEXT,
			place: DataTypes.JSON,
			updatedAt: DataTypes.DATE,
		},
		table(sequelize, 'api_credentials'),
	);

export class ApiSchema extends Model<InferAttributes<ApiSchema>, InferCreationAttributes<ApiSchema>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare apiId: string;
	declare format: string;
	declare title: string | null;
	declare version: string | null;
	declare servers: string[];
	declare sourceUrl: string | null;
	declare sizeBytes: number;
	declare sha256: string;
	declare report: JsonObject;
	declare changes: CreationOptional<ImportChanges | null>;
	declare createdAt: CreationOptional<Date>;
	declare updatedAt: CreationOptional<Date>;
}

export const defineApiSchema = (sequelize: Sequelize): typeof ApiSchema =>
	class extends ApiSchema {}.init(
		{
			id: ID(),
			seq: DataTypes.BIGINT,
			organizationId: DataTypes.UUID,
			apiId: DataTypes.UUID,
			format: DataTypes.TEXT,
			title: DataTypes.TEXT,
			version: DataTypes.TEXT,
			servers: DataTypes.JSON,
			sourceUrl: DataTypes.TEXT,
			sizeBytes: DataTypes.INTEGER,
			sha256: { type: DataTypes.TEXT, field: 'sha256' },
			report: DataTypes.JSON,
			changes: DataTypes.JSON,
			createdAt: DataTypes.DATE,
			updatedAt: DataTypes.DATE,
		},
		table(sequelize, 'api_schemas'),
	);

export class ApiOperation extends Model<InferAttributes<ApiOperation>, InferCreationAttributes<ApiOperation>> {
	declare id: CreationOptional<string>;
	declare seq: CreationOptional<string>;
	declare organizationId: string;
	declare apiId: string;
	declare key: string;
	declare operationId: string | null;
	declare name: string;
	declare description: string;
	declare method: string;
	declare path: string;
	declare tags: string[];
	declare deprecated: boolean;
	declare parameters: JsonSchema;
	declare wholeHash: CreationOptional<string | null>;
	declare outputSchema: JsonSchema | null;
	declare answerCut: CreationOptional<boolean>;
	declare definition: JsonObject;
	declare outcome: 'converted' | 'degraded';
	declare reasons: string[];
	declare status: CreationOptional<'active' | 'removed'>;
	declare createdAt: CreationOptional<Date>;
	declare updatedAt: CreationOptional<Date>;
}

export const defineApiOperation = (sequelize: Sequelize): typeof ApiOperation =>
	class extends ApiOperation {}.init(
		{
			id: ID(),
			seq: DataTypes.BIGINT,
			organizationId: DataTypes.UUID,
			apiId: DataTypes.UUID,
			key: DataTypes.TEXT,
			operationId: DataTypes.TEXT,
			name: DataTypes.TEXT,
			description: DataTypes.TEXT,
			method: DataTypes.TEXT,
			path: DataTypes.TEXT,
			tags: DataTypes.ARRAY(DataTypes.TEXT),
			deprecated: DataTypes.BOOLEAN,
			parameters: DataTypes.JSON,
			// Without `whole_parameters`, which are read one by one.
			wholeHash: DataTypes.TEXT,
			outputSchema: DataTypes.JSON,
			answerCut: DataTypes.BOOLEAN,
			definition: DataTypes.JSON,
			outcome: DataTypes.TEXT,
			reasons: DataTypes.JSON,
			status: DataTypes.TEXT,
			createdAt: DataTypes.DATE,
			updatedAt: DataTypes.DATE,
		},
		table(sequelize, 'operations'),
	);
