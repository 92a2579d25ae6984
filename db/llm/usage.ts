// Tokens and costs of the calls of model connections, by month, and the reservations of those under way.

import { randomUUID } from 'node:crypto';
import type { LlmProviders, LlmUsage } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';

const MONTH = `date_trunc('month', now() AT TIME ZONE 'UTC')::date`;
const SUMS = `
SELECT provider_id AS id, sum(calls)::float AS calls, sum(unpriced)::float AS unpriced, sum(input_tokens)::float AS "inputTokens",
	sum(output_tokens)::float AS "outputTokens", sum(cached_tokens)::float AS "cachedTokens", sum(cost) AS cost
FROM llm_usage WHERE organization_id = $1 AND provider_id IN (SELECT value::uuid FROM json_array_elements_text($2::json) AS value)
GROUP BY provider_id`;
/** The connection's row is locked, so that what is counted stays until the reservation is there. */
const LOCK = 'SELECT id FROM llm_providers WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE';
const EXPIRE = 'DELETE FROM llm_reservations WHERE provider_id = $1 AND expires_at < now()';
const RESERVE = `
INSERT INTO llm_reservations (id, organization_id, provider_id, cost, expires_at)
SELECT $1, $2, $3, $4::float, now() + $6::float * interval '1 millisecond'
WHERE (SELECT coalesce(sum(cost), 0) FROM llm_usage WHERE provider_id = $3 AND month = ${MONTH})
	+ (SELECT coalesce(sum(cost), 0) FROM llm_reservations WHERE provider_id = $3) + $4::float <= $5::float
RETURNING id`;
const END = 'DELETE FROM llm_reservations WHERE id = $1';
const COUNT = `
INSERT INTO llm_usage (organization_id, provider_id, month, calls, unpriced, input_tokens, output_tokens, cached_tokens, cost)
SELECT organization_id, id, ${MONTH}, 1, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::float
FROM llm_providers WHERE organization_id = $1 AND id = $2 FOR KEY SHARE
ON CONFLICT (provider_id, month) DO UPDATE SET calls = llm_usage.calls + 1, unpriced = llm_usage.unpriced + excluded.unpriced,
	input_tokens = llm_usage.input_tokens + excluded.input_tokens, output_tokens = llm_usage.output_tokens + excluded.output_tokens,
	cached_tokens = llm_usage.cached_tokens + excluded.cached_tokens, cost = llm_usage.cost + excluded.cost
RETURNING calls`;

export function createUsage(database: Database): Pick<LlmProviders, 'usage' | 'reserve' | 'settle'> {
	return {
		async usage(organizationId, ids) {
			const bind = [uuid(organizationId), JSON.stringify(ids.map(uuid))];
			const found = await rows<LlmUsage & { id: string }>(database.ordinary, SUMS, bind, null);
			return new Map(found.map(({ id, ...sums }) => [id, sums]));
		},
		reserve: ({ organizationId, id }, cost, limit, ttlMs) =>
			database.write(async (transaction) => {
				const [organization, provider, reservation] = [uuid(organizationId), uuid(id), randomUUID()];
				const locked = await rows(database.ordinary, LOCK, [organization, provider], transaction);
				if (locked.length === 0) return null;
				await rows(database.ordinary, EXPIRE, [provider], transaction);
				const made = await rows(database.ordinary, RESERVE, [reservation, organization, provider, cost, limit, ttlMs], transaction);
				return made.length > 0 ? reservation : null;
			}),
		settle: ({ organizationId, id }, usage, reservation) =>
			database.write(async (transaction) => {
				const { inputTokens = 0, outputTokens = 0, cachedTokens = 0, costMicroUsd = null } = usage ?? {};
				const counted = [costMicroUsd === null ? 1 : 0, inputTokens, outputTokens, cachedTokens, costMicroUsd ?? 0];
				const done = await rows(database.ordinary, COUNT, [uuid(organizationId), uuid(id), ...counted], transaction);
				if (reservation !== null) await rows(database.ordinary, END, [uuid(reservation)], transaction);
				return done.length > 0;
			}),
	};
}
