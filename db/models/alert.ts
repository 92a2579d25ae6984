// Rules of alerts.

import { DataTypes } from 'sequelize';
import type { AlertRuleRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

interface AlertRuleColumns extends AlertRuleRow, Sequence {}
export type AlertRule = Entity<AlertRuleColumns>;

const alertRule = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		organizationId: DataTypes.UUID,
		name: DataTypes.TEXT,
		kind: DataTypes.TEXT,
		toolId: DataTypes.UUID,
		apiId: DataTypes.UUID,
		bound: DataTypes.DOUBLE,
		windowMinutes: DataTypes.INTEGER,
		minCalls: DataTypes.INTEGER,
		url: DataTypes.TEXT,
		secret: DataTypes.TEXT,
		status: DataTypes.TEXT,
		version: DataTypes.INTEGER,
		createdAt: DataTypes.DATE,
		updatedAt: DataTypes.DATE,
	}) satisfies Columns<AlertRuleColumns>;

export const ALERT_RULE = columnsOf(alertRule(), 'seq');
export const defineAlertRule = defineTable<AlertRule>('alert_rules', alertRule);
