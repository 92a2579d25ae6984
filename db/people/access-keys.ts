// Users' own long-lived keys. Only their hashes are stored.

import { literal } from 'sequelize';
import type { Access, AccessKeyRow, AccessKeys, KeyReach } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { unlessOrphan } from '../errors.ts';
import { ACCESS_KEY, type AccessKey } from '../models/account.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { listPage, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { storable } from '../text.ts';
import { type AccessColumns, MEMBERSHIP, PERSON, toAccess } from './rows.ts';

const LAST_USED = literal('(SELECT last_used_at FROM access_key_uses u WHERE u.key_id = "access_keys"."id")');

/** A fresh object for each query, since Sequelize writes into it. */
const attributes = () => ({ exclude: ['hash', 'lastUsedAt'], include: [[LAST_USED, 'lastUsedAt'] as [typeof LAST_USED, string]] });

const liveKey = (where: string): string => `
SELECT k.id AS "keyId", k.name AS "keyName", k.prefix, k.permissions, k.organization_id AS "reachOrganizationId",
	k.gateway_id AS "gatewayId", k.agent_id AS "agentId", k.created_at AS "keyCreatedAt", x.last_used_at AS "lastUsedAt", ${PERSON}, ${MEMBERSHIP}
FROM access_keys k JOIN users u ON u.id = k.user_id
LEFT JOIN access_key_uses x ON x.user_id = k.user_id AND x.key_id = k.id
LEFT JOIN memberships m ON m.user_id = k.user_id AND m.organization_id = coalesce(k.organization_id, m.organization_id)
LEFT JOIN organizations o ON o.id = m.organization_id
WHERE ${where} AND k.revoked_at IS NULL
ORDER BY m.seq`;
const BY_HASH = liveKey('k.hash = $1');
const BY_ID = liveKey('k.user_id = $1 AND k.id = $2');

// A key that is being removed is skipped without waiting: the removal may wait for keys that this statement has locked before.
const TOUCH = `
INSERT INTO access_key_uses (user_id, key_id, last_used_at)
SELECT k.user_id, k.id, u.at
FROM (
	SELECT user_id, key_id, max(at) AS at
	FROM json_to_recordset($1::json) AS use (user_id uuid, key_id uuid, at timestamptz) GROUP BY user_id, key_id
) u
JOIN access_keys k ON k.user_id = u.user_id AND k.id = u.key_id
ORDER BY k.id FOR KEY SHARE OF k SKIP LOCKED
ON CONFLICT (user_id, key_id) DO UPDATE SET last_used_at = excluded.last_used_at
WHERE access_key_uses.last_used_at < excluded.last_used_at`;

interface KeyColumns extends Pick<AccessKeyRow, 'userId' | 'prefix' | 'permissions' | 'lastUsedAt'> {
	keyId: string;
	keyName: string;
	reachOrganizationId: string | null;
	gatewayId: string | null;
	agentId: string | null;
	keyCreatedAt: Date;
}

export function createAccessKeys({ ordinary, write }: Database, { AccessKey }: Models): AccessKeys {
	const find = async (statement: string, bind: unknown[]): Promise<(Access & { key: AccessKeyRow }) | null> => {
		const found = await rows<KeyColumns & AccessColumns>(ordinary, statement, bind);
		return found[0] ? { ...toAccess(found[0], found), key: toLiveKey(found[0]) } : null;
	};
	return {
		list: (userId, page) => listPage(AccessKey, { where: { userId: uuid(userId) }, page, attributes: attributes() }, toKey),
		create: (userId, { name, prefix, reach, permissions, hash }) =>
			unlessOrphan(async () => {
				const values = { userId: uuid(userId), ...storable({ name, prefix }), ...placeOf(reach), permissions, hash };
				return toKey(await write((transaction) => AccessKey.create(values, { transaction })));
			}),
		async revoke(userId, id) {
			const where = { userId: uuid(userId), id: uuid(id) };
			const [revoked] = await write((transaction) =>
				AccessKey.update({ revokedAt: literal('now()') }, { where: { ...where, revokedAt: null }, transaction }),
			);
			const key = revoked > 0 ? await AccessKey.findOne({ where, attributes: attributes(), raw: true }) : null;
			return key && toKey(key);
		},
		byHash: (hash) => find(BY_HASH, [hash]),
		byId: (userId, id) => find(BY_ID, [uuid(userId), uuid(id)]),
		async touch(uses) {
			const batch = uses.map(({ userId, keyId, at }) => ({ user_id: uuid(userId), key_id: uuid(keyId), at }));
			await ordinary.query(TOUCH, { bind: [JSON.stringify(batch)] });
		},
	};
}

type ReachColumns = Pick<AccessKey, 'organizationId' | 'gatewayId' | 'agentId'>;

function placeOf(reach: KeyReach): ReachColumns {
	if (reach.type === 'account') return { organizationId: null, gatewayId: null, agentId: null };
	const [organizationId, id] = [uuid(reach.organizationId), uuid(reach.id)];
	return { organizationId, gatewayId: reach.type === 'gateway' ? id : null, agentId: reach.type === 'agent' ? id : null };
}

/** The constraints `access_keys_scope` and `access_keys_one_resource` ensure that a key with an organization has one resource. */
function toReach({ organizationId, gatewayId, agentId }: ReachColumns): KeyReach {
	if (organizationId === null) return { type: 'account' };
	if (agentId !== null) return { type: 'agent', id: agentId, organizationId };
	return { type: 'gateway', id: gatewayId ?? '', organizationId };
}

const toKey = (row: AccessKey): AccessKeyRow => ({
	...pick(row, ACCESS_KEY),
	reach: toReach(row),
	lastUsedAt: row.lastUsedAt ?? null,
	revokedAt: row.revokedAt ?? null,
});

const toLiveKey = (row: KeyColumns): AccessKeyRow => ({
	id: row.keyId,
	userId: row.userId,
	name: row.keyName,
	prefix: row.prefix,
	reach: toReach({ ...row, organizationId: row.reachOrganizationId }),
	permissions: row.permissions,
	lastUsedAt: row.lastUsedAt,
	revokedAt: null,
	createdAt: row.keyCreatedAt,
});
