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

// In the same order everywhere, so that two replicas that touch the same keys do not deadlock. A key that is being removed is skipped without
// waiting: the removal may wait for keys that this statement has locked before.
const TOUCH = `
INSERT INTO gateway_key_uses (organization_id, key_id, last_used_at)
SELECT k.organization_id, k.id, u.at
FROM (
	SELECT organization_id, key_id, max(at) AS at
	FROM json_to_recordset($1::json) AS use (organization_id uuid, key_id uuid, at timestamptz) GROUP BY organization_id, key_id
) u
JOIN gateway_keys k ON k.organization_id = u.organization_id AND k.id = u.key_id
ORDER BY k.id FOR KEY SHARE OF k SKIP LOCKED
ON CONFLICT (organization_id, key_id) DO UPDATE SET last_used_at = excluded.last_used_at
WHERE gateway_key_uses.last_used_at < excluded.last_used_at`;

type Keys = Pick<Gateways, 'keys' | 'touchKeys' | 'addKey' | 'revokeKey' | 'keyByHash' | 'key' | 'liveKey'>;

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
		async touchKeys(uses) {
			const values = uses.map(({ organizationId, keyId, at }) => ({ organization_id: uuid(organizationId), key_id: uuid(keyId), at }));
			await database.ordinary.query(TOUCH, { bind: [JSON.stringify(values)] });
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
