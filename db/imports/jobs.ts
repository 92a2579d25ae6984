// Import jobs as an organization sees them: created, read, cancelled. `queue.ts` runs them.

import type { Attributes, Transaction } from 'sequelize';
import type { ClaimedImport, ImportJobRow, ImportJobs, NewImport } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { pick } from '../models/columns.ts';
import { IMPORT_JOB, type ImportJob } from '../models/import-job.ts';
import type { Models } from '../models/index.ts';
import { listPage, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { lenient } from '../text.ts';
import { CLAIMED } from './queue.ts';

/** The number of queued and running jobs of one organization together. */
const MAX_ACTIVE = 20;
const MAX_ACTIVE_BYTES = 256 * 1024 * 1024;
const PART_BYTES = 256 * 1024;
/** Each further attempt means that another job of the API ended between two statements. */
const MAX_TRIES = 5;

const OF_API = 'organization_id = $1 AND api_id = $2';

const LOOK = `
SELECT (SELECT id FROM import_jobs WHERE ${OF_API} AND finished_at IS NULL) AS "activeId", held.count, held.bytes
FROM apis a, (
	SELECT count(*)::int AS count, coalesce(sum(body_bytes), 0)::float8 AS bytes FROM import_jobs
	WHERE organization_id = $1 AND finished_at IS NULL
) AS held
WHERE a.organization_id = $1 AND a.id = $2`;

const ADD = `
INSERT INTO import_jobs (organization_id, api_id, actor, body_bytes, lease, leased_until, status, phase, attempts, started_at)
SELECT $1::uuid, $2::uuid, $3::json, $4::integer, given.lease, given.until,
	CASE WHEN given.lease IS NULL THEN 'queued' ELSE 'running' END, CASE WHEN given.lease IS NOT NULL THEN 'fetching' END,
	CASE WHEN given.lease IS NULL THEN 0 ELSE 1 END, CASE WHEN given.lease IS NOT NULL THEN date_trunc('milliseconds', now()) END
FROM (SELECT $5::uuid AS lease, CASE WHEN $5 IS NOT NULL THEN now() + $6::float8 * interval '1 millisecond' END AS until) AS given
ON CONFLICT (api_id) WHERE finished_at IS NULL DO NOTHING
RETURNING ${CLAIMED}`;

const ADD_PART = 'INSERT INTO import_bodies (organization_id, job_id, part, bytes) VALUES ($1, $2, $3, $4)';

// A written schema is not withdrawn, and an ended job stays as it ended.
const CANCEL = `
UPDATE import_jobs SET status = 'cancelled', lease = NULL, leased_until = NULL, finished_at = date_trunc('milliseconds', clock_timestamp())
WHERE ${OF_API} AND id = $3 AND finished_at IS NULL AND schema_id IS NULL`;

interface Standing {
	activeId: string | null;
	count: number;
	bytes: number;
}

export function createImportJobs(database: Database, { ImportJob }: Models): ImportJobs {
	const get = async (organizationId: string, apiId: string, id: string): Promise<ImportJobRow | null> => {
		const job = await ImportJob.findOne({ where: { organizationId: uuid(organizationId), apiId: uuid(apiId), id: uuid(id) }, raw: true });
		return job && toJob(job);
	};
	return {
		async create(organizationId, apiId, asked) {
			const ofApi = [uuid(organizationId), uuid(apiId)];
			for (let tries = 0, busy = ''; ; tries++) {
				const [standing] = await rows<Standing>(database.ordinary, LOOK, ofApi);
				if (!standing) return null;
				busy = standing.activeId ?? busy;
				if (standing.activeId !== null || tries === MAX_TRIES) return { state: 'busy', id: busy };
				if (standing.count >= MAX_ACTIVE || standing.bytes + asked.body.length > MAX_ACTIVE_BYTES) return { state: 'full' };
				const job = await add(database, ofApi, asked);
				if (job) return { state: 'created', job };
			}
		},
		list: (organizationId, apiId, page, { status } = {}) =>
			listPage(ImportJob, { where: { organizationId: uuid(organizationId), apiId: uuid(apiId), ...(status && { status }) }, page }, toJob),
		get,
		async cancel(organizationId, apiId, id) {
			const bind = [uuid(organizationId), uuid(apiId), uuid(id)];
			await database.write((transaction) => database.ordinary.query(CANCEL, { bind, transaction }));
			return get(organizationId, apiId, id);
		},
	};
}

/** Adds a job with its body in one transaction; null when another job of the API came first. */
const add = (database: Database, ofApi: string[], { actor, body, lease }: NewImport): Promise<ClaimedImport | null> =>
	database.transact(async (transaction) => {
		const told = JSON.stringify(actor, (_name, value) => (typeof value === 'string' ? lenient(value) : value));
		const bind = [...ofApi, told, body.length, lease?.lease ?? null, lease?.leaseMs ?? 0];
		const [job] = await rows<ClaimedImport>(database.bulk, ADD, bind, transaction);
		if (job) await addBody(database, job, { body, transaction });
		return job ?? null;
	});

async function addBody(
	{ bulk }: Database,
	{ organizationId, id }: ClaimedImport,
	{ body, transaction }: { body: Buffer; transaction: Transaction },
): Promise<void> {
	for (let part = 0; part * PART_BYTES < body.length; part++) {
		const bytes = body.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
		await bulk.query(ADD_PART, { bind: [organizationId, id, part, bytes], transaction });
	}
}

const toJob = (row: Attributes<ImportJob>): ImportJobRow => ({ ...pick(row, IMPORT_JOB), requestedBy: row.actor.userId });
