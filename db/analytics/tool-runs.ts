// Records of tool runs. A batch must not fail for one bad row, so rows without an organization are left out.

import { QueryTypes, type Sequelize } from 'sequelize';
import type { RunRow, Runs } from '../../core/store/store.ts';
import { uuid } from '../pages.ts';
import { type ColumnType, columnText, fromColumns } from './arrays.ts';

const COLUMNS: readonly [name: string, type: ColumnType, pick: (run: RunRow) => string | number | null | undefined][] = [
	['organization_id', 'uuid', ({ organizationId }) => organizationId],
	['tool_id', 'uuid', ({ toolId }) => toolId],
	['gateway_id', 'uuid', ({ gatewayId }) => gatewayId],
	['key_id', 'uuid', ({ keyId }) => keyId],
	['subject', 'text', ({ subject }) => subject],
	['status', 'text', ({ status }) => status],
	['error', 'text', ({ error }) => error],
	['logs', 'json', ({ logs }) => logs && JSON.stringify(logs)],
	['duration_ms', 'integer', ({ durationMs }) => durationMs],
	['started_at', 'timestamptz', ({ startedAt }) => startedAt.toISOString()],
	['model_calls', 'integer', ({ use }) => use?.calls],
	['input_tokens', 'bigint', ({ use }) => use?.inputTokens],
	['output_tokens', 'bigint', ({ use }) => use?.outputTokens],
	['cached_tokens', 'bigint', ({ use }) => use?.cachedTokens],
	['model_cost', 'float', ({ use }) => use?.costMicroUsd],
];
const NAMES = COLUMNS.map(([name]) => name);
const READ = COLUMNS.map(([name, type]) => [name, type] as const);

// The lock keeps an organization from being removed between this check and that of the foreign key.
const ADD = `
INSERT INTO tool_runs (${NAMES.join(', ')})
SELECT ${NAMES.map((name) => `r.${name}`).join(', ')}
FROM ${fromColumns(READ, 1)}
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
			await ordinary.query(ADD, { bind: COLUMNS.map(([, type, pick]) => columnText(runs, type, pick)) });
		},
		async touchKeys(uses) {
			const rows = uses.map(({ organizationId, keyId, at }) => ({ organization_id: uuid(organizationId), key_id: uuid(keyId), at }));
			await ordinary.query(TOUCH, { bind: [JSON.stringify(rows)] });
		},
		prune: (olderThan) => bulk.query('DELETE FROM tool_runs WHERE started_at < $1', { bind: [olderThan], type: QueryTypes.BULKDELETE }),
	};
}
