// Tokens and costs of the calls of model connections, by month, those of runs and agents with a budget, and the reservations of calls under
// way.

import { randomUUID } from 'node:crypto';
import { QueryTypes, type Transaction } from 'sequelize';
import type { LlmLimits, LlmProviders, LlmUsage } from '../../core/store/store.ts';
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
WHERE $5::float IS NULL OR (SELECT coalesce(sum(cost), 0) FROM llm_usage WHERE provider_id = $3 AND month = ${MONTH})
	+ (SELECT coalesce(sum(cost), 0) FROM llm_reservations WHERE provider_id = $3) + $4::float <= $5::float
RETURNING id`;
/** The holder's row is locked for the same reason. Connections differ, so expired reservations are left out. */
const HOLD = `
INSERT INTO llm_spending (organization_id, holder, month) VALUES ($1, $2, CASE WHEN $3 = 'month' THEN ${MONTH} ELSE 'epoch'::date END)
ON CONFLICT (organization_id, holder, month) DO UPDATE SET used_at = now() RETURNING month::text, cost`;
const HELD = `
SELECT coalesce(sum(r.cost), 0) AS cost FROM llm_reservation_holders h JOIN llm_reservations r ON r.id = h.reservation_id
WHERE h.organization_id = $1 AND h.holder = $2 AND h.month = $3::date AND r.expires_at >= now()`;
const COUNT_FOR = 'INSERT INTO llm_reservation_holders (reservation_id, organization_id, holder, month) VALUES ($1, $2, $3, $4::date)';
const SPEND = `
UPDATE llm_spending s SET cost = s.cost + $2::float, used_at = now()
FROM (
	SELECT s.organization_id, s.holder, s.month FROM llm_spending s
	JOIN llm_reservation_holders h ON h.organization_id = s.organization_id AND h.holder = s.holder AND h.month = s.month
	WHERE h.reservation_id = $1 ORDER BY s.holder FOR UPDATE OF s
) h WHERE s.organization_id = h.organization_id AND s.holder = h.holder AND s.month = h.month RETURNING s.holder`;
const END = 'DELETE FROM llm_reservations WHERE id = $1';
const COUNT = `
INSERT INTO llm_usage (organization_id, provider_id, month, calls, unpriced, input_tokens, output_tokens, cached_tokens, cost)
SELECT organization_id, id, ${MONTH}, 1, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::float
FROM llm_providers WHERE organization_id = $1 AND id = $2 FOR KEY SHARE
ON CONFLICT (provider_id, month) DO UPDATE SET calls = llm_usage.calls + 1, unpriced = llm_usage.unpriced + excluded.unpriced,
	input_tokens = llm_usage.input_tokens + excluded.input_tokens, output_tokens = llm_usage.output_tokens + excluded.output_tokens,
	cached_tokens = llm_usage.cached_tokens + excluded.cached_tokens, cost = llm_usage.cost + excluded.cost
RETURNING calls`;
const PRUNE = 'DELETE FROM llm_spending WHERE used_at < $1';

type Usage = Pick<LlmProviders, 'usage' | 'reserve' | 'settle' | 'prune'>;

export function createUsage(database: Database): Usage {
	return {
		async usage(organizationId, ids) {
			const bind = [uuid(organizationId), JSON.stringify(ids.map(uuid))];
			const found = await rows<LlmUsage & { id: string }>(database.ordinary, SUMS, bind, null);
			return new Map(found.map(({ id, ...sums }) => [id, sums]));
		},
		reserve: ({ organizationId, id }, cost, { perMonth, holders }, ttlMs) =>
			database.write(async (transaction) => {
				const [organization, provider, reservation] = [uuid(organizationId), uuid(id), randomUUID()];
				const locked = await rows(database.ordinary, LOCK, [organization, provider], transaction);
				if (locked.length === 0) return null;
				await rows(database.ordinary, EXPIRE, [provider], transaction);
				const held = await hold(database, { organization, cost, holders }, transaction);
				if (!Array.isArray(held)) return held;
				const made = await rows(database.ordinary, RESERVE, [reservation, organization, provider, cost, perMonth, ttlMs], transaction);
				if (made.length === 0) return { holder: null };
				for (const { holder, month } of held)
					await rows(database.ordinary, COUNT_FOR, [reservation, organization, holder, month], transaction);
				return reservation;
			}),
		settle: ({ organizationId, id }, usage, reservation) => {
			const counting = async (transaction: Transaction | null): Promise<boolean> => {
				const { inputTokens = 0, outputTokens = 0, cachedTokens = 0, costMicroUsd = null } = usage ?? {};
				const counted = [costMicroUsd === null ? 1 : 0, inputTokens, outputTokens, cachedTokens, costMicroUsd ?? 0];
				const done = await rows(database.ordinary, COUNT, [uuid(organizationId), uuid(id), ...counted], transaction);
				return done.length > 0;
			};
			if (reservation === null) return database.once(counting);
			return database.write(async (transaction) => {
				const isCounted = await counting(transaction);
				await rows(database.ordinary, SPEND, [uuid(reservation), usage?.costMicroUsd ?? 0], transaction);
				await rows(database.ordinary, END, [uuid(reservation)], transaction);
				return isCounted;
			});
		},
		prune: (olderThan) => database.bulk.query(PRUNE, { bind: [olderThan], type: QueryTypes.BULKDELETE }),
	};
}

/** Locks the rows of the holders, in the same order everywhere. @returns them, or the one whose limit leaves too little */
async function hold(
	{ ordinary }: Database,
	{ organization, cost, holders }: { organization: string; cost: number; holders: LlmLimits['holders'] },
	transaction: Transaction,
): Promise<{ holder: string; month: string }[] | { holder: string }> {
	const held: { holder: string; month: string }[] = [];
	for (const { holder, period, limit } of [...holders].sort((one, other) => (one.holder < other.holder ? -1 : 1))) {
		const [spent] = await rows<{ month: string; cost: number }>(ordinary, HOLD, [organization, holder, period], transaction);
		if (!spent) continue;
		const [under] = await rows<{ cost: number }>(ordinary, HELD, [organization, holder, spent.month], transaction);
		if (spent.cost + (under?.cost ?? 0) + cost > limit) return { holder };
		held.push({ holder, month: spent.month });
	}
	return held;
}
