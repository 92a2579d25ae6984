// The models of one connection. Sequelize ties a class to a connection, so each store gets classes of its own.

import type { Sequelize } from 'sequelize';
import { defineAccessKey, defineOrganization, defineUser } from './account.ts';
import { defineAgent, defineAgentWebhook } from './agent.ts';
import { defineAlertRule } from './alert.ts';
import { defineApi, defineApiCredential, defineApiOperation, defineApiSchema } from './api.ts';
import { defineGateway, defineGatewayAuth, defineGatewayKey, defineGatewayTool } from './gateway.ts';
import { defineImportJob } from './import-job.ts';
import { defineLlmProvider } from './llm-provider.ts';
import { defineGatewaySkill, defineSkill, defineSkillFile } from './skill.ts';
import { defineTool } from './tool.ts';

export type Models = ReturnType<typeof defineModels>;

export const defineModels = (sequelize: Sequelize) => ({
	User: defineUser(sequelize),
	Organization: defineOrganization(sequelize),
	AccessKey: defineAccessKey(sequelize),
	Api: defineApi(sequelize),
	ApiCredential: defineApiCredential(sequelize),
	ApiSchema: defineApiSchema(sequelize),
	ApiOperation: defineApiOperation(sequelize),
	ImportJob: defineImportJob(sequelize),
	Tool: defineTool(sequelize),
	Gateway: defineGateway(sequelize),
	GatewayTool: defineGatewayTool(sequelize),
	GatewayAuth: defineGatewayAuth(sequelize),
	GatewayKey: defineGatewayKey(sequelize),
	LlmProvider: defineLlmProvider(sequelize),
	Skill: defineSkill(sequelize),
	Agent: defineAgent(sequelize),
	AlertRule: defineAlertRule(sequelize),
	AgentWebhook: defineAgentWebhook(sequelize),
	SkillFile: defineSkillFile(sequelize),
	GatewaySkill: defineGatewaySkill(sequelize),
});
