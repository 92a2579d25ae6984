// Imports as jobs. Every import is one, kept in the database until it has ended; who asked waits for it for a while, and then may look
// at it, follow it and cancel it on any replica.

import { asGatewayError, GatewayError, notFound } from '../contract/errors.ts';
import { raceWith } from '../kit/race.ts';
import type { Actor, ImportJobRow, Store } from '../store/store.ts';
import { type BodyRoom, ImportBodies, tooManyImports } from './bodies.ts';
import { ImportRunner, LEASE_MS, type RunnerParts } from './runner.ts';

export interface ImportAsked {
	organizationId: string;
	apiId: string;
	actor: Actor;
	/** Of the request: read when there is room for so many bytes. */
	body: { maxBytes: number; read(): Promise<Buffer> };
	/** For the job to end, and for another one of the same API to end before it; 0: for neither. */
	waitMs: number;
}

export interface ImportJobRunner {
	/**
	 * @param leaving of the one who asked: the job is cancelled with it
	 * @param stopping nobody is kept waiting then
	 * @returns the job as it ended, or as it is after the wait
	 * @throws not_found; conflict naming the job of the same API that is under way; unavailable when too many are; what `read` throws
	 */
	run(asked: ImportAsked, leaving: AbortSignal, stopping: AbortSignal): Promise<ImportJobRow>;
	/**
	 * The job whenever it has changed, on whichever replica it runs, until it has ended, is gone, or the signal says so; null every few
	 * seconds when there is no news. Who reads slowly misses what was in between.
	 */
	follow(job: JobPlace, signal: AbortSignal): AsyncGenerator<ImportJobRow | null, void>;
	close(): Promise<void>;
}

export interface JobPlace {
	organizationId: string;
	apiId: string;
	id: string;
}

export interface ImportJobParts extends RunnerParts {
	store: RunnerParts['store'] & Pick<Store, 'imports'>;
}

const IDLE_MS = 5_000;

export const hasEnded = ({ finishedAt }: ImportJobRow): boolean => finishedAt !== null;

export function createImportJobs(parts: ImportJobParts): ImportJobRunner {
	const { store, leaseMs = LEASE_MS } = parts;
	const runner = new ImportRunner(parts);
	const follow = (job: JobPlace, signal: AbortSignal) => followJob(store, job, signal);

	/** At once here when there is a place, else by whoever is free first. */
	const create = async ({ organizationId, apiId, actor }: ImportAsked, body: Buffer) => {
		const place = runner.take();
		try {
			const lease = place && { lease: place.lease, leaseMs };
			const created = await store.imports.create(organizationId, apiId, { actor, body, lease });
			if (!place || created?.state !== 'created') {
				place?.leave();
				return created;
			}
			// What it shows is read before its body is handed over.
			place.run(created.job, body);
			return created;
		} catch (error) {
			place?.leave();
			throw error;
		}
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
			// Not before: a slow upload is no wait for the import.
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
			throw new GatewayError('unavailable', 'The import was broken off: the client is gone.', { cause: leaving.reason });
		},
		close: () => runner.close(),
	};
}

/** What was seen last; null when nothing was. */
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
	const bell = new Bell();
	const unsubscribe = changes.subscribe((topics) => {
		if (topics.includes(`import:${id}`) || topics.includes('*')) bell.ring();
	});
	let last = '';
	try {
		while (!signal.aborted) {
			const job = await imports.get(organizationId, apiId, id).catch(unlessAway);
			if (job === null) return;
			const text = JSON.stringify(job ?? last);
			yield job && text !== last ? job : null;
			if (job && hasEnded(job)) return;
			if (job) last = text;
			await bell.rung(IDLE_MS, signal);
		}
	} finally {
		unsubscribe();
	}
}

/** A database that is away for a moment is asked again. */
function unlessAway(error: unknown): undefined {
	if (asGatewayError(error)?.code !== 'unavailable') throw error;
}

/** Rung any number of times, heard once. */
class Bell {
	#hasRung = false;
	#wake: (() => void) | null = null;

	ring(): void {
		this.#hasRung = true;
		this.#wake?.();
	}

	/** Resolves when it has been rung, the time is over, or the signal says so. */
	async rung(timeoutMs: number, signal: AbortSignal): Promise<void> {
		if (!this.#hasRung && !signal.aborted) {
			const { promise, resolve } = Promise.withResolvers<void>();
			this.#wake = resolve;
			// Leaving is all that can fail in it.
			await raceWith(signal, promise, { late: { afterMs: timeoutMs, reason: () => null } }).catch(() => undefined);
		}
		this.#hasRung = false;
	}
}
