// Records of tool runs. A batch must not fail for one bad row, so rows without an organization are left out.

import { QueryTypes, type Sequelize } from 'sequelize';
import type { Runs } from '../core/store/store.ts';
import { uuid } from './pages.ts';
import { lenient } from './text.ts';

// The lock keeps an organization from being removed between this check and that of the foreign key.
const ADD = `
INSERT INTO tool_runs (organization_id, tool_id, gateway_id, key_id, subject, status, error, logs, duration_ms, started_at,
	model_calls, input_tokens, output_tokens, cached_tokens, model_cost)
SELECT r.organization_id, r.tool_id, r.gateway_id, r.key_id, r.subject, r.status, r.error, r.logs, r.duration_ms, r.started_at,
	r.model_calls, r.input_tokens, r.output_tokens, r.cached_tokens, r.model_cost
FROM json_to_recordset($1::json) AS r (
	organization_id uuid, tool_id uuid, gateway_id uuid, key_id uuid, subject text, status text, error text, logs json,
	duration_ms integer, started_at timestamptz,
	model_calls integer, input_tokens bigint, output_tokens bigint, cached_tokens bigint, model_cost double precision
)
JOIN organizations o ON o.id = r.organization_id FOR KEY SHARE OF o`;

// In the same order everywhere, so that two replicas that touch the same keys do not deadlock.
const TOUCH = `
INSERT INTO gateway_key_uses (organization_id, key_id, last_used_at)
SELECT k.organization_id, k.id, u.at
FROM (
	SELECT organization_id, key_id, max(at) AS at
	FROM json_to_recordset($1::json) AS use (organization_id uuid, key_id uuid, at timestamptz) GROUP BY organization_id, key_id
) u
JOIN gateway_keys k ON k.organization_id = u.organization_id AND k.id = u.key_id
ORDER BY k.id FOR KEY SHARE OF k
ON CONFLICT (organization_id, key_id) DO UPDATE SET last_used_at = excluded.last_used_at
WHERE gateway_key_uses.last_used_at < excluded.last_used_at`;

export function createRuns({ ordinary, bulk }: { ordinary: Sequelize; bulk: Sequelize }): Runs {
	return {
		async add(runs) {
			const rows = runs.map((run) => ({
				organization_id: uuid(run.organizationId),
				tool_id: uuid(run.toolId),
				gateway_id: run.gatewayId && uuid(run.gatewayId),
				key_id: run.keyId && uuid(run.keyId),
				subject: lenient(run.subject),
				status: run.status,
				error: run.error && lenient(run.error),
				logs: run.logs ?? null,
				duration_ms: Math.round(run.durationMs),
				started_at: run.startedAt,
				model_calls: run.use?.calls ?? null,
				input_tokens: run.use?.inputTokens ?? null,
				output_tokens: run.use?.outputTokens ?? null,
				cached_tokens: run.use?.cachedTokens ?? null,
				model_cost: run.use?.costMicroUsd ?? null,
			}));
			await ordinary.query(ADD, { bind: [JSON.stringify(rows)] });
		},
		async touchKeys(uses) {
			const rows = uses.map(({ organizationId, keyId, at }) => ({ organization_id: uuid(organizationId), key_id: uuid(keyId), at }));
			await ordinary.query(TOUCH, { bind: [JSON.stringify(rows)] });
		},
		prune: (olderThan) => bulk.query('DELETE FROM tool_runs WHERE started_at < $1', { bind: [olderThan], type: QueryTypes.BULKDELETE }),
	};
}
