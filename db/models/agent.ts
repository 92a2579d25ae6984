// Agents, and the webhooks that start them.

import { DataTypes } from 'sequelize';
import type { AgentRow, AgentWebhookRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

interface AgentColumns extends AgentRow, Sequence {}
export type Agent = Entity<AgentColumns, 'totalExecutions'>;

const agent = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		name: DataTypes.TEXT,
		description: DataTypes.TEXT,
		status: DataTypes.TEXT,
		pipeline: DataTypes.JSON,
		settings: DataTypes.JSON,
		version: DataTypes.INTEGER,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
		// Counted in `agent_usage`, so that an execution is no change of the agent.
		totalExecutions: DataTypes.VIRTUAL,
	}) satisfies Columns<AgentColumns>;

export const AGENT = columnsOf(agent(), 'seq');
export const defineAgent = defineTable<Agent>('agents', agent);

interface AgentWebhookColumns extends AgentWebhookRow, Sequence {}
export type AgentWebhook = Entity<AgentWebhookColumns>;

const agentWebhook = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		agentId: DataTypes.UUID,
		name: DataTypes.TEXT,
		scheme: DataTypes.TEXT,
		secret: DataTypes.TEXT,
		status: DataTypes.TEXT,
		version: DataTypes.INTEGER,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<AgentWebhookColumns>;

export const AGENT_WEBHOOK = columnsOf(agentWebhook(), 'seq');
export const defineAgentWebhook = defineTable<AgentWebhook>('agent_webhooks', agentWebhook);
