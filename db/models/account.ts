// Accounts: users, their access keys, and organizations.

import { DataTypes } from 'sequelize';
import type { OrganizationSettings } from '../../core/contract/nouns.ts';
import type { AccessKeyRow, OrganizationRow, UserRow } from '../../core/store/store.ts';
import { columnsOf } from './columns.ts';
import { type Columns, defineTable, type Entity, ID, type Sequence } from './table.ts';

export type User = Entity<UserRow>;

const user = () =>
	({
		id: ID(),
		email: DataTypes.TEXT,
		passwordHash: DataTypes.TEXT,
		firstName: DataTypes.TEXT,
		lastName: DataTypes.TEXT,
		createdAt: DataTypes.DATE,
	}) satisfies Columns<UserRow>;

export const USER = columnsOf(user());
export const defineUser = defineTable<User>('users', user);

interface OrganizationColumns extends OrganizationRow {
	codeMayFetch: boolean;
	toolExposure: OrganizationSettings['toolExposure'];
	createdBy: string | null;
}
export type Organization = Entity<OrganizationColumns, 'codeMayFetch' | 'toolExposure'>;

const organization = () =>
	({
		id: ID(),
		name: DataTypes.TEXT,
		slug: DataTypes.TEXT,
		codeMayFetch: DataTypes.BOOLEAN,
		toolExposure: DataTypes.TEXT,
		createdBy: DataTypes.UUID,
		createdAt: DataTypes.DATE,
	}) satisfies Columns<OrganizationColumns>;

export const ORGANIZATION = columnsOf(organization(), 'codeMayFetch', 'toolExposure', 'createdBy');
export const defineOrganization = defineTable<Organization>('organizations', organization);

interface AccessKeyColumns extends Omit<AccessKeyRow, 'reach'>, Sequence {
	/** The organization, and the gateway or the agent that the key is for; all null when it is for the whole account. */
	organizationId: string | null;
	gatewayId: string | null;
	agentId: string | null;
	hash: Buffer;
}
export type AccessKey = Entity<AccessKeyColumns>;

const accessKey = () =>
	({
		id: ID(),
		seq: DataTypes.BIGINT,
		userId: DataTypes.UUID,
		organizationId: DataTypes.UUID,
		gatewayId: DataTypes.UUID,
		agentId: DataTypes.UUID,
		name: DataTypes.TEXT,
		prefix: DataTypes.TEXT,
		hash: DataTypes.BLOB,
		permissions: DataTypes.ARRAY(DataTypes.TEXT),
		revokedAt: DataTypes.DATE,
		createdAt: DataTypes.DATE,
		// Read from `access_key_uses`, so that a use is no change of the key.
		lastUsedAt: DataTypes.VIRTUAL,
	}) satisfies Columns<AccessKeyColumns>;

export const ACCESS_KEY = columnsOf(accessKey(), 'seq', 'organizationId', 'gatewayId', 'agentId', 'hash');
export const defineAccessKey = defineTable<AccessKey>('access_keys', accessKey);
