// Access tokens to connected APIs, and the leases for obtaining them. No connection is held while a token server is asked: a lease is a
// column of the row with an expiry time, and the database's clock decides.

import { QueryTypes } from 'sequelize';
import type { TokenOwner, TokenRow, TokenStore } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { uuid } from './pages.ts';
import { rows } from './rows.ts';

const LEFT = `coalesce(extract(epoch FROM t.expires_at - now()) * 1000, 0)::float8 AS "leftMs"`;
const IS_LEASED = 'coalesce(t.leased_until > now(), false)';

const LOOK = `
SELECT coalesce(t.revision, 0) AS revision, t.sealed, ${LEFT}, ${IS_LEASED} AS "isLeased"
FROM api_credentials c LEFT JOIN upstream_tokens t USING (organization_id, api_id, type, scheme)
WHERE c.organization_id = $1 AND c.api_id = $2 AND c.type = $3 AND c.scheme = $4 AND c.secret = $5`;

// The credential is locked first: a change of it waits, and then finds the row that belongs to the former one.
const LEASE = `
INSERT INTO upstream_tokens AS t (organization_id, api_id, type, scheme, lease, leased_until)
SELECT organization_id, api_id, type, scheme, $6::uuid, now() + $7::float8 * interval '1 millisecond' FROM (
	SELECT organization_id, api_id, type, scheme FROM api_credentials
	WHERE organization_id = $1 AND api_id = $2 AND type = $3 AND scheme = $4 AND secret = $5 FOR SHARE
) AS c
ON CONFLICT (organization_id, api_id, type, scheme) DO UPDATE SET lease = excluded.lease, leased_until = excluded.leased_until
WHERE NOT ${IS_LEASED} AND t.revision = $8
RETURNING t.revision, t.sealed, ${LEFT}`;

const OWNED = 'organization_id = $1 AND api_id = $2 AND type = $3 AND scheme = $4 AND lease = $5';
const KEEP = `
UPDATE upstream_tokens SET sealed = $6, expires_at = now() + $7::float8 * interval '1 millisecond', revision = revision + 1,
	lease = NULL, leased_until = NULL
WHERE ${OWNED} RETURNING revision`;
const GIVE_UP = `UPDATE upstream_tokens SET lease = NULL, leased_until = NULL WHERE ${OWNED}`;

export function createUpstreamTokens({ ordinary }: Database): TokenStore {
	return {
		async turn(organizationId, owner, { useless, lease, leaseMs }) {
			const credential = [...place(organizationId, owner), owner.secret];
			const [found] = await rows<TokenRow & { isLeased: boolean }>(ordinary, LOOK, credential);
			if (!found) return null;
			const { isLeased, ...row } = found;
			if (row.sealed !== null && row.leftMs > 0 && row.revision !== useless) return { state: 'found', row };
			if (isLeased) return { state: 'wait' };
			// One of several callers that found the same gets the lease; the others look again.
			const [leased] = await rows<TokenRow>(ordinary, LEASE, [...credential, lease, leaseMs, row.revision]);
			return leased ? { state: 'lease', row: leased } : { state: 'wait' };
		},
		async keep(organizationId, owner, { lease, sealed, lifetimeMs }) {
			const bind = [...place(organizationId, owner), lease, sealed, lifetimeMs];
			const [kept] = await rows<{ revision: number }>(ordinary, KEEP, bind);
			return kept?.revision ?? null;
		},
		async giveUp(organizationId, owner, lease) {
			await ordinary.query(GIVE_UP, { bind: [...place(organizationId, owner), lease], type: QueryTypes.UPDATE });
		},
	};
}

const place = (organizationId: string, { apiId, type, scheme }: TokenOwner): unknown[] => [
	uuid(organizationId),
	uuid(apiId),
	type,
	scheme ?? '',
];
