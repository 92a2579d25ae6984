// Imports as jobs. Every import is one, kept in the database until it has ended, and done by a run; the client waits for it for a while, and
// can then read, follow and cancel it on any replica.

import { GatewayError, notFound } from '../contract/errors.ts';
import type { Registry } from '../registry/registry.ts';
import { look } from '../runs/following.ts';
import type { Runs } from '../runs/runs.ts';
import type { Actor, ImportJobRow, Store } from '../store/store.ts';
import { type BodyRoom, ImportBodies, tooManyImports } from './bodies.ts';
import { bodyLocation, ImportProgram, type ProgramParts } from './program.ts';

export interface ImportAsked {
	organizationId: string;
	apiId: string;
	actor: Actor;
	/** The body of the request, read once there is room for `maxBytes`. */
	body: { maxBytes: number; read(): Promise<Buffer> };
	/** The time to wait for the job to end, and for another one of the same API to end before it; 0 waits for neither. */
	waitMs: number;
}

export interface ImportJobRunner {
	/**
	 * Creates a job and waits for it.
	 * @param leaving aborts when the client disconnects: the job is cancelled then
	 * @param stopping aborts when the service stops: nobody is kept waiting then
	 * @returns the job as it ended, or as it is after the wait
	 * @throws not_found; conflict naming the job of the same API that is under way; unavailable when too many are; what `read` throws
	 */
	run(asked: ImportAsked, leaving: AbortSignal, stopping: AbortSignal): Promise<ImportJobRow>;
	/**
	 * Yields the job whenever it has changed, on whichever replica it runs, until it has ended, is removed, or the signal aborts; yields null
	 * every few seconds without a change. A slow reader misses the states in between.
	 */
	follow(job: JobPlace, signal: AbortSignal): AsyncGenerator<ImportJobRow | null, void>;
}

export interface JobPlace {
	organizationId: string;
	apiId: string;
	id: string;
}

export interface ImportJobParts extends ProgramParts {
	store: ProgramParts['store'] & Pick<Store, 'imports' | 'changes'>;
	registry: Pick<Registry, 'hasSecrets'>;
	runs: Pick<Runs, 'define' | 'startWith'>;
}

/** The name is in the database: its triggers let an import follow its run. */
const KIND = 'import';
const PLACES = 2;
/** The number of imports of an account that run at a time, over all replicas: it keeps two of them busy, and not a third. */
const PER_ACCOUNT = 4;
/** The program counts the processes that a job has lost, with a fault of its own. */
const ANY_LOSSES = 1_000_000;

export const hasEnded = ({ finishedAt }: ImportJobRow): boolean => finishedAt !== null;

export function createImportJobs(parts: ImportJobParts): ImportJobRunner {
	const { store, runs } = parts;
	const program = new ImportProgram(parts);
	runs.define(KIND, (run) => program.run(run), { places: PLACES, perAccount: PER_ACCOUNT, maxLosses: ANY_LOSSES });
	const follow = (job: JobPlace, signal: AbortSignal) => followJob(store, job, signal);

	/** Creates the job: it starts here at once when a place is free, else at the first replica with one. */
	const create = async ({ organizationId, apiId, actor }: ImportAsked, body: Buffer) => {
		const kept = await keptBody(parts, { organizationId, apiId, actor }, body);
		return runs.startWith({ organizationId, kind: KIND, input: { apiId }, here: true }, async (run, kind) => {
			const created = await store.imports.create(organizationId, apiId, { actor, body: kept, run, kind });
			if (created?.state === 'created' && created.claimed) program.give(created.job.id, body);
			return created;
		});
	};

	const begin = async (
		asked: ImportAsked,
		{ body, room }: { body: Buffer; room: BodyRoom },
		waiting: AbortSignal,
	): Promise<ImportJobRow> => {
		for (;;) {
			const created = await create(asked, body);
			if (!created) throw notFound('API');
			if (created.state === 'created') return created.job;
			if (created.state === 'full') throw tooManyImports();
			if (waiting.aborted) throw busy(created.id);
			await room.wait(() => settled(follow({ ...asked, id: created.id }, waiting)));
		}
	};

	const bodies = new ImportBodies();
	const readAndBegin = async (asked: ImportAsked, leaving: AbortSignal, stopping: AbortSignal) => {
		const room = bodies.enter(asked.organizationId, asked.body.maxBytes);
		try {
			const body = await asked.body.read();
			// The wait begins here, since a slow upload is no wait for the import.
			const waiting = AbortSignal.any([leaving, stopping, asked.waitMs === 0 ? AbortSignal.abort() : AbortSignal.timeout(asked.waitMs)]);
			return { begun: await begin(asked, { body, room }, waiting), waiting };
		} finally {
			room.leave();
		}
	};

	return {
		follow,
		async run(asked, leaving, stopping) {
			const { begun, waiting } = await readAndBegin(asked, leaving, stopping);
			if (asked.waitMs === 0) return begun;
			const last = (await settled(follow(begun, waiting))) ?? begun;
			if (hasEnded(last)) return last;
			if (!waiting.aborted) throw notFound('API');
			if (!leaving.aborted) return last;
			await store.as(asked.actor).imports.cancel(asked.organizationId, asked.apiId, begun.id);
			throw new GatewayError('unavailable', 'The import was aborted: the client disconnected.', { cause: leaving.reason });
		},
	};
}

/** Returns the body as it is stored: sealed whole, where the importer's options may hold a secret. */
async function keptBody(
	{ store, registry, secrets }: ImportJobParts,
	{ organizationId, apiId, actor }: Pick<ImportAsked, 'organizationId' | 'apiId' | 'actor'>,
	body: Buffer,
): Promise<Buffer> {
	const api = await store.as(actor).apis.get(organizationId, apiId);
	return api && registry.hasSecrets('importer', api.type) ? secrets.sealBytes(body, bodyLocation({ organizationId, apiId })) : body;
}

/** Returns the last state seen; null when there was none. */
async function settled(following: AsyncGenerator<ImportJobRow | null, void>): Promise<ImportJobRow | null> {
	let last: ImportJobRow | null = null;
	for await (const job of following) last = job ?? last;
	return last;
}

const busy = (id: string): GatewayError =>
	new GatewayError('conflict', `Another import of this API is under way: ${id}. Wait for its end, or cancel it.`, {
		details: [{ path: 'path/id', message: `Import ${id} is under way.` }],
		headers: { 'retry-after': '5' },
	});

async function* followJob(
	{ imports, changes }: ImportJobParts['store'],
	{ organizationId, apiId, id }: JobPlace,
	signal: AbortSignal,
): AsyncGenerator<ImportJobRow | null, void> {
	let last = '';
	for await (const { row } of look({ changes, topic: `import:${id}`, read: () => imports.get(organizationId, apiId, id) }, signal)) {
		const text = row ? JSON.stringify(row) : last;
		yield row && text !== last ? row : null;
		last = text;
	}
}
