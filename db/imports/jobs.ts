// Import jobs as an organization sees them: created, read, cancelled. Each is a run, which has its id; `queue.ts` serves that.

import type { Attributes, Transaction } from 'sequelize';
import type { ClaimedRun, ImportJobRow, ImportJobs, NewImport, Topic } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { pick } from '../models/columns.ts';
import { IMPORT_JOB, type ImportJob } from '../models/import-job.ts';
import type { Models } from '../models/index.ts';
import { listPage, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import type { JointRuns } from '../runs/joint.ts';
import { LOCK } from '../runs/rows.ts';
import { lenient } from '../text.ts';
import { CLAIMED } from './queue.ts';

/** The number of queued and running jobs of one organization together. */
const MAX_ACTIVE = 20;
const MAX_ACTIVE_BYTES = 256 * 1024 * 1024;
const PART_BYTES = 256 * 1024;
/** Each further attempt means that another job of the API ended between two statements. */
const MAX_TRIES = 5;

const OF_API = 'organization_id = $1 AND api_id = $2';

const HELD = `
SELECT count(*)::int AS count, coalesce(sum(body_bytes), 0)::float8 AS bytes FROM import_jobs
WHERE organization_id = $1 AND finished_at IS NULL`;
const LOOK = `
SELECT (SELECT id FROM import_jobs WHERE ${OF_API} AND finished_at IS NULL) AS "activeId", held.count, held.bytes
FROM apis a, (${HELD}) AS held
WHERE a.organization_id = $1 AND a.id = $2`;

const ADD = `
INSERT INTO import_jobs (organization_id, api_id, actor, body_bytes) VALUES ($1, $2, $3::json, $4)
ON CONFLICT (api_id) WHERE finished_at IS NULL DO NOTHING
RETURNING id`;
/** The job as its run has left it: it may have begun. */
const ADDED = `SELECT ${CLAIMED} FROM import_jobs WHERE id = $1`;

const ADD_PART = 'INSERT INTO import_bodies (organization_id, job_id, part, bytes) VALUES ($1, $2, $3, $4)';

const LOCK_RUN = 'SELECT id FROM runs WHERE organization_id = $1 AND id = $2 FOR UPDATE';
// A written schema is not withdrawn, and an ended job stays as it ended.
const CANCEL = `
UPDATE import_jobs SET status = 'cancelled', finished_at = date_trunc('milliseconds', clock_timestamp())
WHERE ${OF_API} AND id = $3 AND finished_at IS NULL AND schema_id IS NULL RETURNING id`;
const CANCELLED = 'The import was cancelled.';

/** The queued and running jobs of an organization. */
interface Held {
	count: number;
	bytes: number;
}

interface Standing extends Held {
	activeId: string | null;
}

/** Undoes the adding of a job: others of the organization came first. */
class TooManyJobs extends Error {}

const isTooMuch = ({ count, bytes }: Held): boolean => count > MAX_ACTIVE || bytes > MAX_ACTIVE_BYTES;

export function createImportJobs(database: Database, { ImportJob }: Models, runs: JointRuns): ImportJobs {
	const get = async (organizationId: string, apiId: string, id: string): Promise<ImportJobRow | null> => {
		const job = await ImportJob.findOne({ where: { organizationId: uuid(organizationId), apiId: uuid(apiId), id: uuid(id) }, raw: true });
		return job && toJob(job);
	};
	return {
		async create(organizationId, apiId, asked) {
			const ofApi = [uuid(organizationId), uuid(apiId)];
			await runs.prepare(asked.kind.kind);
			for (let tries = 0, busy = ''; ; tries++) {
				const [standing] = await rows<Standing>(database.ordinary, LOOK, ofApi);
				if (!standing) return null;
				busy = standing.activeId ?? busy;
				if (standing.activeId !== null || tries === MAX_TRIES) return { state: 'busy', id: busy };
				if (isTooMuch({ count: standing.count + 1, bytes: standing.bytes + asked.body.length })) return { state: 'full' };
				const added = await add(database, runs, { organizationId, apiId, ...asked }).catch(fullOf);
				if (!added) continue;
				if (added === 'full') return { state: 'full' };
				runs.ring(added.topics);
				return { state: 'created', job: added.job, claimed: added.claimed };
			}
		},
		list: (organizationId, apiId, page, { status } = {}) =>
			listPage(ImportJob, { where: { organizationId: uuid(organizationId), apiId: uuid(apiId), ...(status && { status }) }, page }, toJob),
		get,
		async cancel(organizationId, apiId, id) {
			const place = { organizationId: uuid(organizationId), id: uuid(id) };
			const news = await database.write(async (transaction) => {
				await rows(database.ordinary, LOCK_RUN, [place.organizationId, place.id], transaction);
				const [job] = await rows(database.ordinary, CANCEL, [place.organizationId, uuid(apiId), place.id], transaction);
				return job ? runs.cancel(transaction, place, CANCELLED) : [];
			});
			runs.ring(news);
			return get(organizationId, apiId, id);
		},
	};
}

interface AddedJob {
	job: ImportJobRow;
	claimed: ClaimedRun | null;
	topics: Topic[];
}

/** Adds a job with its body and its run in one transaction; null when another job of the API came first. */
const add = (
	database: Database,
	runs: JointRuns,
	{ organizationId, apiId, actor, body, run, kind }: NewImport & { organizationId: string; apiId: string },
): Promise<AddedJob | null> =>
	database.transact(async (transaction) => {
		const { bulk } = database;
		const told = JSON.stringify(actor, (_name, value) => (typeof value === 'string' ? lenient(value) : value));
		const [job] = await rows<{ id: string }>(bulk, ADD, [organizationId, apiId, told, body.length], transaction);
		if (!job) return null;
		const { id } = job;
		await addBody(database, { organizationId, id, body }, transaction);
		// Last, since the runs of the account are counted under a lock.
		const added = await runs.add(transaction, { ...run, organizationId, id }, kind);
		await assertHeld(database, organizationId, transaction);
		const [row] = await rows<ImportJobRow>(bulk, ADDED, [id], transaction);
		return added && row ? { ...added, job: row } : null;
	});

/** Counts under a lock, which is held until the end of the transaction: so that it is short, nothing comes after it. @throws TooManyJobs */
async function assertHeld({ bulk }: Database, organizationId: string, transaction: Transaction): Promise<void> {
	await rows(bulk, LOCK, [`imports ${organizationId}`], transaction);
	const [held] = await rows<Held>(bulk, HELD, [organizationId], transaction);
	if (held && isTooMuch(held)) throw new TooManyJobs();
}

function fullOf(thrown: unknown): 'full' {
	if (thrown instanceof TooManyJobs) return 'full';
	throw thrown;
}

async function addBody(
	{ bulk }: Database,
	{ organizationId, id, body }: { organizationId: string; id: string; body: Buffer },
	transaction: Transaction,
): Promise<void> {
	for (let part = 0; part * PART_BYTES < body.length; part++) {
		const bytes = body.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
		await bulk.query(ADD_PART, { bind: [organizationId, id, part, bytes], transaction });
	}
}

const toJob = (row: Attributes<ImportJob>): ImportJobRow => ({ ...pick(row, IMPORT_JOB), requestedBy: row.actor.userId });
