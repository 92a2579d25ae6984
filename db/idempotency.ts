// Requests under an `Idempotency-Key`: the first one runs, the others get its outcome.

import { randomUUID } from 'node:crypto';
import { QueryTypes } from 'sequelize';
import type { Idempotency, IdempotentRequest, RunningRequest } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { uuid } from './pages.ts';
import { rows } from './rows.ts';

const ORGANIZATION = `coalesce(organization_id, '00000000-0000-0000-0000-000000000000')`;

const OLD = `k.started_at < now() - interval '24 hours'`;
/** The process of such a request has died: it would have renewed it each minute. */
const LEFT = `k.ended_at IS NULL AND k.started_at < now() - interval '10 minutes'
	AND k.operation = excluded.operation AND k.fingerprint = excluded.fingerprint`;

// The upsert always writes, and so always sees the newest state of the row, whoever else writes it. The attempt that the row shows
// afterwards runs.
const BEGIN = `
INSERT INTO idempotency_keys AS k (user_id, organization_id, key, operation, fingerprint, attempt)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (user_id, ${ORGANIZATION}, key) DO UPDATE
SET (operation, fingerprint, attempt, status, body, headers, started_at, ended_at) = (
	SELECT excluded.operation, excluded.fingerprint, excluded.attempt, NULL::integer, NULL, NULL::json, excluded.started_at,
		NULL::timestamptz
	WHERE ${OLD} OR ${LEFT}
	UNION ALL
	SELECT k.operation, k.fingerprint, k.attempt, k.status, k.body, k.headers, k.started_at, k.ended_at
	WHERE NOT (${OLD} OR ${LEFT})
)
RETURNING attempt = $6 AS "isMine", operation = $4 AND fingerprint = $5 AS "isSame", status, body, headers`;

const RUNNING = `
user_id = $1 AND ${ORGANIZATION} = coalesce($2::uuid, '00000000-0000-0000-0000-000000000000') AND key = $3
	AND operation = $4 AND fingerprint = $5 AND attempt = $6 AND ended_at IS NULL`;
const RENEW = `UPDATE idempotency_keys SET started_at = now() WHERE ${RUNNING}`;
const KEEP = `UPDATE idempotency_keys SET status = $7, body = $8, headers = $9::json, ended_at = now() WHERE ${RUNNING}`;
const FORGET = `DELETE FROM idempotency_keys WHERE ${RUNNING}`;
const PRUNE = `DELETE FROM idempotency_keys k WHERE ${OLD}`;

interface Begun {
	isMine: boolean;
	isSame: boolean;
	/** `status`, `body` and `headers` are set when the request has ended. */
	status: number | null;
	body: string | null;
	headers: Record<string, string> | null;
}

export function createIdempotency({ ordinary, bulk }: Database): Idempotency {
	return {
		async begin(request) {
			const attempt = randomUUID();
			const [begun] = await rows<Begun>(ordinary, BEGIN, [...place(request), attempt]);
			if (!begun) throw new Error('PostgreSQL wrote an idempotency key and answered without it.');
			return toState(begun, attempt);
		},
		async renew(request) {
			await ordinary.query(RENEW, { bind: placeOfRunning(request) });
		},
		async keep(request, { status, body, headers }) {
			await ordinary.query(KEEP, { bind: [...placeOfRunning(request), status, body, JSON.stringify(headers)] });
		},
		async forget(request) {
			await ordinary.query(FORGET, { bind: placeOfRunning(request) });
		},
		prune: () => bulk.query(PRUNE, { type: QueryTypes.BULKDELETE }),
	};
}

const place = ({ userId, organizationId, key, operation, fingerprint }: IdempotentRequest): unknown[] => [
	uuid(userId),
	organizationId && uuid(organizationId),
	key,
	operation,
	fingerprint,
];

const placeOfRunning = (request: RunningRequest): unknown[] => [...place(request), uuid(request.attempt)];

function toState({ isMine, isSame, status, body, headers }: Begun, attempt: string): Awaited<ReturnType<Idempotency['begin']>> {
	if (isMine) return { state: 'run', attempt };
	if (!isSame) return { state: 'other' };
	if (status === null || body === null || headers === null) return { state: 'running' };
	return { state: 'kept', status, body, headers };
}
