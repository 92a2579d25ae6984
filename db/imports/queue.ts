// Imports as their runs see them: every statement names the attempt at the run, so that a holder that was too slow changes nothing. A run is
// locked before its import, since those who claim and end it lock it first.

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

const RUN = `SELECT id FROM runs WHERE id = $1 AND attempt = $2 AND status = 'running'`;
/** Keeps the run from changing hands until the commit. */
const HELD = `WITH held AS (${RUN} FOR SHARE)`;
const OPEN = `id = (SELECT id FROM held) AND finished_at IS NULL`;

const FIND = `SELECT ${CLAIMED} FROM import_jobs WHERE id = (${RUN})`;
const AGAIN = `
${HELD} UPDATE import_jobs SET attempts = attempts + 1, phase = CASE WHEN schema_id IS NULL THEN 'fetching' ELSE 'tools' END,
	operations = CASE WHEN schema_id IS NULL THEN 0 ELSE operations END
WHERE ${OPEN} RETURNING ${CLAIMED}`;
const SIZE = `SELECT body_bytes AS size FROM import_jobs WHERE id = (${RUN})`;
const PART = `SELECT bytes FROM import_bodies WHERE job_id = (${RUN}) AND part = $3`;
// The schema is written with the last word.
const TELL = `${HELD} UPDATE import_jobs SET phase = $3, operations = $4 WHERE ${OPEN} AND schema_id IS NULL RETURNING id`;
const FINISH = `
${HELD} UPDATE import_jobs SET status = $3, finished_at = date_trunc('milliseconds', clock_timestamp()), tools = $4::json, error = $5::json
WHERE ${OPEN} RETURNING id`;
const WRITTEN = `
${HELD} UPDATE import_jobs SET schema_id = $3, tool_filter = $4::json, operations = $5, phase = 'tools'
WHERE ${OPEN} AND schema_id IS NULL RETURNING id`;

export function createImportQueue({ ordinary, bulk }: Database): ImportQueue {
	const change = async (sql: string, { id, attempt }: ImportHold, more: unknown[]): Promise<boolean> =>
		(await rows(ordinary, sql, [uuid(id), attempt, ...more])).length > 0;
	const find = async (sql: string, { id, attempt }: ImportHold): Promise<ClaimedImport | null> =>
		(await rows<ClaimedImport>(ordinary, sql, [uuid(id), attempt]))[0] ?? null;
	return {
		find: (hold) => find(FIND, hold),
		again: (hold) => find(AGAIN, hold),
		async body({ id, attempt }) {
			const [job] = await rows<{ size: number }>(ordinary, SIZE, [id, attempt]);
			if (!job) return null;
			const body = Buffer.allocUnsafeSlow(job.size);
			for (let part = 0, at = 0; at < job.size; part++) {
				const [found] = await rows<{ bytes: Buffer }>(bulk, PART, [id, attempt, part]);
				// The job has just been taken away.
				if (!found) return null;
				at += found.bytes.copy(body, at);
			}
			return body;
		},
		tell: (hold, { phase, operations }) => change(TELL, hold, [phase, operations]),
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
	const told = await rows(bulk, WRITTEN, [job.id, job.attempt, schemaId, generation, job.operations], transaction);
	if (told.length === 0) throw new GatewayError('conflict', 'The import was cancelled, or taken over by another replica.');
}
