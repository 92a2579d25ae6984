// Skills, and the gateways that they are assigned to.

import { DataTypes } from 'sequelize';
import type { SkillAssignmentRow, SkillRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

interface SkillColumns extends SkillRow, Sequence {}
export type Skill = Entity<SkillColumns>;

const skill = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		name: DataTypes.TEXT,
		description: DataTypes.TEXT,
		frontmatter: DataTypes.JSON,
		arguments: DataTypes.JSON,
		files: DataTypes.JSON,
		bytes: DataTypes.INTEGER,
		version: DataTypes.INTEGER,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<SkillColumns>;

export const SKILL = columnsOf(skill(), 'seq');
export const defineSkill = defineTable<Skill>('skills', skill);

interface SkillFileColumns {
	organizationId: string;
	skillId: string;
	path: string;
	content: Buffer;
}
export type StoredSkillFile = Entity<SkillFileColumns>;

const skillFile = () =>
	({
		organizationId: DataTypes.UUID,
		skillId: { type: DataTypes.UUID, primaryKey: true },
		path: { type: DataTypes.TEXT, primaryKey: true },
		content: DataTypes.BLOB,
	}) satisfies Columns<SkillFileColumns>;

export const defineSkillFile = defineTable<StoredSkillFile>('skill_files', skillFile);

interface GatewaySkillColumns extends SkillAssignmentRow, Sequence {
	organizationId: string;
}
export type GatewaySkill = Entity<GatewaySkillColumns>;

const gatewaySkill = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		gatewayId: DataTypes.UUID,
		skillId: DataTypes.UUID,
		createdAt: DataTypes.DATE,
	}) satisfies Columns<GatewaySkillColumns>;

export const SKILL_ASSIGNMENT = columnsOf(gatewaySkill(), 'seq', 'organizationId');
export const defineGatewaySkill = defineTable<GatewaySkill>('gateway_skills', gatewaySkill);
