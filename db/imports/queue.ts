// The queue of import jobs, which all replicas share. A job is held by a lease, a column of its row with an expiry time; the database's
// clock decides, and every statement of a holder names its lease, so that a holder who was too slow changes nothing.

import { QueryTypes, type Transaction } from 'sequelize';
import { GatewayError } from '../../core/contract/errors.ts';
import type { ClaimedImport, GenerationRequest, ImportHold, ImportQueue } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';

/** Columns of `import_jobs`, as a `ClaimedImport`. */
export const CLAIMED = `id, organization_id AS "organizationId", api_id AS "apiId", status, phase, operations, attempts,
	actor ->> 'userId' AS "requestedBy", error, schema_id AS "schemaId", tools, created_at AS "createdAt", started_at AS "startedAt",
	finished_at AS "finishedAt", actor, tool_filter AS "generation"`;

const UNTIL = `now() + $2::float8 * interval '1 millisecond'`;
const NO_LEASE = 'lease = NULL, leased_until = NULL';
const NOW = `date_trunc('milliseconds', clock_timestamp())`;

// A claim skips locked rows, and so never waits for another claim.
const CLAIM = `
UPDATE import_jobs SET status = 'running', lease = $1, leased_until = ${UNTIL}, attempts = attempts + 1,
	started_at = coalesce(started_at, ${NOW}), phase = CASE WHEN schema_id IS NULL THEN 'fetching' ELSE 'tools' END,
	operations = CASE WHEN schema_id IS NULL THEN 0 ELSE operations END
WHERE id = (
	SELECT w.id FROM import_jobs w
	WHERE w.finished_at IS NULL AND (w.leased_until IS NULL OR w.leased_until < now())
	ORDER BY (
		SELECT count(*) FROM import_jobs r WHERE r.organization_id = w.organization_id AND r.finished_at IS NULL AND r.leased_until >= now()
	), w.seq
	LIMIT 1 FOR UPDATE OF w SKIP LOCKED
)
RETURNING ${CLAIMED}`;

const HELD = `id = $1 AND lease = $2 AND status = 'running'`;

const PART = `SELECT b.bytes FROM import_bodies b JOIN import_jobs j ON j.id = b.job_id WHERE j.id = $1 AND j.lease = $2 AND j.status = 'running' AND b.part = $3`;
const SIZE = `SELECT body_bytes AS size FROM import_jobs WHERE ${HELD}`;
const RENEW = `
UPDATE import_jobs SET leased_until = now() + $3::float8 * interval '1 millisecond', operations = $5,
	phase = CASE WHEN schema_id IS NULL THEN $4 ELSE 'tools' END
WHERE ${HELD} RETURNING id`;
const RELEASE = `
UPDATE import_jobs SET status = 'queued', ${NO_LEASE}, attempts = attempts - $3::integer,
	phase = CASE WHEN schema_id IS NOT NULL THEN phase END, operations = CASE WHEN schema_id IS NULL THEN 0 ELSE operations END
WHERE ${HELD} RETURNING id`;
const FINISH = `
UPDATE import_jobs SET status = $3, ${NO_LEASE}, finished_at = ${NOW}, tools = $4::json, error = $5::json WHERE ${HELD} RETURNING id`;
const WRITTEN = `
UPDATE import_jobs SET schema_id = $3, tool_filter = $4::json, operations = $5, phase = 'tools' WHERE ${HELD} AND schema_id IS NULL RETURNING id`;

export function createImportQueue({ ordinary, bulk }: Database): ImportQueue {
	const change = async (sql: string, { id, lease }: ImportHold, more: unknown[] = []): Promise<boolean> =>
		(await rows(ordinary, sql, [uuid(id), uuid(lease), ...more])).length > 0;
	return {
		async claim({ lease, leaseMs }) {
			const [job] = await rows<ClaimedImport>(ordinary, CLAIM, [uuid(lease), leaseMs]);
			return job ?? null;
		},
		async body({ id, lease }) {
			const [job] = await rows<{ size: number }>(ordinary, SIZE, [id, lease]);
			if (!job) return null;
			const body = Buffer.allocUnsafeSlow(job.size);
			for (let part = 0, at = 0; at < job.size; part++) {
				const [found] = await rows<{ bytes: Buffer }>(bulk, PART, [id, lease, part]);
				// The job has just been taken away.
				if (!found) return null;
				at += found.bytes.copy(body, at);
			}
			return body;
		},
		renew: (hold, leaseMs, { phase, operations }) => change(RENEW, hold, [leaseMs, phase, operations]),
		release: (hold, { counts }) => change(RELEASE, hold, [counts ? 0 : 1]),
		finish: (hold, end) => {
			const tools = end.status === 'succeeded' && end.tools ? JSON.stringify(end.tools) : null;
			return change(FINISH, hold, [end.status, tools, end.status === 'failed' ? JSON.stringify(end.error) : null]);
		},
		prune: (olderThan) => bulk.query('DELETE FROM import_jobs WHERE finished_at < $1', { bind: [olderThan], type: QueryTypes.BULKDELETE }),
	};
}

/**
 * Runs in the transaction that writes the schema: from its commit on, the job only has tools to make.
 * @throws conflict when the job was cancelled, or another replica holds it by now
 */
export async function noteWritten(
	{ bulk }: Pick<Database, 'bulk'>,
	job: ImportHold & { generation: GenerationRequest | null; operations: number },
	{ schemaId, transaction }: { schemaId: string; transaction: Transaction },
): Promise<void> {
	const generation = job.generation && JSON.stringify(job.generation);
	const told = await rows(bulk, WRITTEN, [job.id, job.lease, schemaId, generation, job.operations], transaction);
	if (told.length === 0) throw new GatewayError('conflict', 'The import was cancelled, or taken over by another replica.');
}
