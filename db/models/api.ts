// Connected APIs: their credentials, imported schemas and operations.

import { DataTypes } from 'sequelize';
import type { ApiRow, CredentialRow, OperationRow, PassedHeader, SchemaRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

interface ApiColumns extends Omit<ApiRow, 'passThrough'>, Sequence {
	passThrough: PassedHeader[] | null;
}
export type Api = Entity<ApiColumns, 'strictOutput'>;

const api = () =>
	({
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
		strictOutput: DataTypes.BOOLEAN,
		icon: DataTypes.TEXT,
		watch: DataTypes.TEXT,
		version: DataTypes.INTEGER,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<ApiColumns>;

export const API = columnsOf(api(), 'seq');
export const defineApi = defineTable<Api>('apis', api);

interface ApiCredentialColumns extends Omit<CredentialRow, 'scheme'> {
	organizationId: string;
	/** Empty when the credential has no scheme. */
	scheme: string;
}
export type ApiCredential = Entity<ApiCredentialColumns, 'scheme'>;

const apiCredential = () =>
	({
		organizationId: { type: DataTypes.UUID, primaryKey: true },
		apiId: { type: DataTypes.UUID, primaryKey: true },
		type: { type: DataTypes.TEXT, primaryKey: true },
		scheme: { type: DataTypes.TEXT, primaryKey: true },
		origin: DataTypes.TEXT,
		secret: DataTypes.TEXT,
		place: DataTypes.JSON,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<ApiCredentialColumns>;

export const CREDENTIAL = columnsOf(apiCredential(), 'organizationId');
export const defineApiCredential = defineTable<ApiCredential>('api_credentials', apiCredential);

interface ApiSchemaColumns extends SchemaRow, Sequence {}
export type ApiSchema = Entity<ApiSchemaColumns>;

const apiSchema = () =>
	({
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
	}) satisfies Columns<ApiSchemaColumns>;

export const SCHEMA = columnsOf(apiSchema(), 'seq');
export const defineApiSchema = defineTable<ApiSchema>('api_schemas', apiSchema);

type ApiOperationColumns = OperationRow & Sequence;
export type ApiOperation = Entity<ApiOperationColumns, 'answerCut'>;

const apiOperation = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		apiId: DataTypes.UUID,
		key: DataTypes.TEXT,
		operationId: DataTypes.TEXT,
		name: DataTypes.TEXT,
		title: DataTypes.TEXT,
		description: DataTypes.TEXT,
		method: DataTypes.TEXT,
		path: DataTypes.TEXT,
		tags: DataTypes.ARRAY(DataTypes.TEXT),
		deprecated: DataTypes.BOOLEAN,
		parameters: DataTypes.JSON,
		// `whole_parameters` are left out, since they are read one by one.
		wholeHash: DataTypes.TEXT,
		outputSchema: DataTypes.JSON,
		answerCut: DataTypes.BOOLEAN,
		definition: DataTypes.JSON,
		outcome: DataTypes.TEXT,
		reasons: DataTypes.JSON,
		status: DataTypes.TEXT,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<ApiOperationColumns>;

export const OPERATION = columnsOf(apiOperation(), 'seq');
export const defineApiOperation = defineTable<ApiOperation>('operations', apiOperation);
