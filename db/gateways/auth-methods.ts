// The auth methods of a gateway, and the data that their plugins have stored for it.

import { QueryTypes } from 'sequelize';
import type { AuthRow, Gateways } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { unlessOrphan } from '../errors.ts';
import type { Models } from '../models/index.ts';
import { listPage, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { ofGateway } from './assignments.ts';
import { toAuth } from './rows.ts';

const OF_TYPE = 'organization_id = $1 AND gateway_id = $2 AND type = $3';
// When two rows of a type are removed at once, the second waits here and sees that it is the last.
const LOCK = `SELECT id FROM gateway_auth WHERE ${OF_TYPE} ORDER BY seq FOR UPDATE`;
const REMOVE = `DELETE FROM gateway_auth WHERE ${OF_TYPE} AND id = $4`;
/** A plugin's own name consists of its kind and the type. */
const FORGET = `DELETE FROM records WHERE organization_id = $1 AND gateway_id = $2 AND plugin = 'auth:' || $3`;
// A request that was running while the last row was removed may have stored something after it.
const FORGET_FORMER = `${FORGET} AND NOT EXISTS (SELECT FROM gateway_auth WHERE ${OF_TYPE} AND id <> $4)`;

export function createAuthMethods(database: Database, { GatewayAuth }: Models): Pick<Gateways, 'auth' | 'addAuth' | 'removeAuth'> {
	return {
		auth: (organizationId, gatewayId, page) => listPage(GatewayAuth, { where: ofGateway(organizationId, gatewayId), page }, toAuth),
		addAuth: (organizationId, gatewayId, id, method) =>
			unlessOrphan(async () => {
				const values = { ...ofGateway(organizationId, gatewayId), id: uuid(id), ...method };
				const bind = [values.organizationId, values.gatewayId, method.type, values.id];
				const row = await database.write(async (transaction) => {
					await database.ordinary.query(FORGET_FORMER, { bind, transaction });
					return GatewayAuth.create(values, { transaction });
				});
				return toAuth(row);
			}),
		async removeAuth(organizationId, gatewayId, authId) {
			const where = { ...ofGateway(organizationId, gatewayId), id: uuid(authId) };
			const row = await GatewayAuth.findOne({ where, raw: true });
			return row && (await remove(database, toAuth(row))) ? toAuth(row) : null;
		},
	};
}

/** Runs in the bulk pool, since a method may have stored any number of records. @returns false when the row was already removed */
function remove(database: Database, { organizationId, gatewayId, type, id }: AuthRow): Promise<boolean> {
	const { bulk } = database;
	const bind = [organizationId, gatewayId, type];
	return database.transact(async (transaction) => {
		const left = await rows<{ id: string }>(bulk, LOCK, bind, transaction);
		if (!left.some((other) => other.id === id)) return false;
		await bulk.query(REMOVE, { bind: [...bind, id], type: QueryTypes.BULKDELETE, transaction });
		if (left.length === 1) await bulk.query(FORGET, { bind, type: QueryTypes.BULKDELETE, transaction });
		return true;
	});
}
