// Converts rows of gateways and auth methods to those of the port.

import type { Attributes } from 'sequelize';
import type { AuthRow, GatewayRow } from '../../core/store/store.ts';
import { pick } from '../models/columns.ts';
import { AUTH, GATEWAY, type Gateway, type GatewayAuth } from '../models/gateway.ts';

/** The tool count is missing after creation, when there are none. */
export const toGateway = (row: Attributes<Gateway>): GatewayRow => ({ ...pick(row, GATEWAY), toolCount: row.toolCount ?? 0 });

export const toAuth = (row: Attributes<GatewayAuth>): AuthRow => pick(row, AUTH);
