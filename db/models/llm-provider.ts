// Model connections.

import { DataTypes } from 'sequelize';
import type { LlmProviderRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

interface LlmProviderColumns extends LlmProviderRow, Sequence {}
export type LlmProvider = Entity<LlmProviderColumns>;

const llmProvider = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		name: DataTypes.TEXT,
		provider: DataTypes.TEXT,
		connection: DataTypes.JSON,
		configVersion: DataTypes.INTEGER,
		model: DataTypes.TEXT,
		configuration: DataTypes.JSON,
		prices: DataTypes.JSON,
		budget: DataTypes.JSON,
		outbound: DataTypes.JSON,
		status: DataTypes.TEXT,
		version: DataTypes.INTEGER,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<LlmProviderColumns>;

export const LLM_PROVIDER = columnsOf(llmProvider(), 'seq');
export const defineLlmProvider = defineTable<LlmProvider>('llm_providers', llmProvider);
