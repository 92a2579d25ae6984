// Rows of gateways and auth methods as the port shows them.

import type { Attributes } from 'sequelize';
import type { AuthRow, GatewayRow } from '../../core/store/store.ts';
import { pick } from '../models/columns.ts';
import { AUTH, GATEWAY, type Gateway, type GatewayAuth } from '../models/gateway.ts';

/** Tools are not counted on creation, when there are none. */
export const toGateway = (row: Attributes<Gateway>): GatewayRow => ({ ...pick(row, GATEWAY), toolCount: row.toolCount ?? 0 });

export const toAuth = (row: Attributes<GatewayAuth>): AuthRow => pick(row, AUTH);
