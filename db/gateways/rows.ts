// Rows of gateways and auth methods as the port shows them.

import type { Attributes } from 'sequelize';
import type { AuthRow, GatewayRow } from '../../core/store/store.ts';
import type { Gateway, GatewayAuth } from '../models/gateway.ts';

export const toGateway = (row: Attributes<Gateway>): GatewayRow => ({
	id: row.id,
	organizationId: row.organizationId,
	name: row.name,
	type: row.type,
	endpoint: row.endpoint,
	description: row.description,
	configuration: row.configuration,
	status: row.status,
	// Not counted on creation, when there are none.
	toolCount: row.toolCount ?? 0,
	version: row.version,
	createdAt: row.createdAt,
	updatedAt: row.updatedAt,
});

export const toAuth = (row: Attributes<GatewayAuth>): AuthRow => ({
	id: row.id,
	organizationId: row.organizationId,
	gatewayId: row.gatewayId,
	type: row.type,
	isRequired: row.isRequired,
	configuration: row.configuration,
	validationRules: row.validationRules,
	createdAt: row.createdAt,
	updatedAt: row.updatedAt,
});
