// API keys of gateways. Only their hashes are stored.

import { literal } from 'sequelize';
import type { Gateways, KeyRow, OrganizationRow } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { unlessOrphan } from '../errors.ts';
import { pick } from '../models/columns.ts';
import { type GatewayKey, KEY } from '../models/gateway.ts';
import type { Models } from '../models/index.ts';
import { listPage, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { storable } from '../text.ts';
import { ofGateway } from './assignments.ts';

const LAST_USED = literal('(SELECT last_used_at FROM gateway_key_uses u WHERE u.key_id = "gateway_keys"."id")');

const LIVE = `
SELECT k.id AS "keyId", k.scopes, k.expires_at AS "expiresAt", o.id, o.name, o.slug, o.created_at AS "createdAt"
FROM gateway_keys k JOIN organizations o ON o.id = k.organization_id
JOIN gateways g ON g.organization_id = k.organization_id AND g.id = k.gateway_id
WHERE k.hash = $1 AND k.gateway_id = $2 AND g.status = 'active' AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`;

type Keys = Pick<Gateways, 'keys' | 'addKey' | 'revokeKey' | 'keyByHash' | 'key' | 'liveKey'>;

export function createKeys(database: Database, { GatewayKey }: Models): Keys {
	// A fresh object for each query, since Sequelize writes into it.
	const attributes = () => ({ exclude: ['hash', 'lastUsedAt'], include: [[LAST_USED, 'lastUsedAt'] as [typeof LAST_USED, string]] });
	const find = async (where: Partial<Pick<GatewayKey, 'organizationId' | 'gatewayId' | 'id' | 'hash'>>): Promise<KeyRow | null> => {
		const key = await GatewayKey.findOne({ where, attributes: attributes(), raw: true });
		return key && toKey(key);
	};
	return {
		keys: (organizationId, gatewayId, page) =>
			listPage(GatewayKey, { where: ofGateway(organizationId, gatewayId), page, attributes: attributes() }, toKey),
		addKey: (organizationId, gatewayId, key) =>
			unlessOrphan(async () => {
				const values = { ...ofGateway(organizationId, gatewayId), ...storable(key) };
				return toKey(await database.write((transaction) => GatewayKey.create(values, { transaction })));
			}),
		async revokeKey(organizationId, gatewayId, keyId) {
			const where = { ...ofGateway(organizationId, gatewayId), id: uuid(keyId) };
			const [revoked] = await database.write((transaction) =>
				GatewayKey.update({ revokedAt: literal('now()') }, { where: { ...where, revokedAt: null }, transaction }),
			);
			return revoked > 0 ? find(where) : null;
		},
		keyByHash: (organizationId, gatewayId, hash) => find({ ...ofGateway(organizationId, gatewayId), hash }),
		key: (organizationId, gatewayId, keyId) => find({ ...ofGateway(organizationId, gatewayId), id: uuid(keyId) }),
		async liveKey(gatewayId, hash) {
			const found = await rows<OrganizationRow & Pick<KeyRow, 'scopes' | 'expiresAt'> & { keyId: string }>(database.ordinary, LIVE, [
				hash,
				uuid(gatewayId),
			]);
			const [row] = found;
			if (!row) return null;
			const { keyId, scopes, expiresAt, ...organization } = row;
			return { id: keyId, scopes, expiresAt, organization };
		},
	};
}

const toKey = (row: GatewayKey): KeyRow => ({ ...pick(row, KEY), lastUsedAt: row.lastUsedAt ?? null, revokedAt: row.revokedAt ?? null });
