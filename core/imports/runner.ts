// Runs import jobs, two at a time in each replica. The holder of a job renews a lease while it runs: a holder that dies loses it within
// seconds, and another replica continues. The database decides which holder may write (`noteWritten`), so a slow one writes nothing.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type {
	ApiRow,
	ClaimedImport,
	GeneratedTools,
	GenerationRequest,
	ImportFault,
	ImportHold,
	Repositories,
	Store,
} from '../store/store.ts';
import type { Imports } from './imports.ts';

export interface RunnerParts {
	store: Pick<Store, 'as' | 'importQueue' | 'changes'>;
	imports: Pick<Imports, 'importSchema' | 'generateTools'>;
	secrets: Pick<Secrets, 'sealBytes' | 'openBytes'>;
	log: Log;
	/** The time without a renewal after which another runner may take a job. Default 10,000. */
	leaseMs?: number;
}

export const LEASE_MS = 10_000;
const PLACES = 2;
/** The number of attempts, after which the job is held responsible for the ends of its processes or connections. */
const MAX_ATTEMPTS = 3;
/** The interval at which progress is written and the lease renewed, and so the delay with which a cancelled job stops. */
const TELL_MS = 500;
/** The interval of the search for jobs whose runner died; new ones are announced by the database. */
const LOOK_MS = 2_000;
const RETRY_MS = 500;

const STOPPING = new GatewayError('unavailable', 'The service is stopping.');
const LOST = new GatewayError('conflict', 'This replica no longer holds the import.');

/** A reserved slot for one job, to be used once: by `run` or by `leave`. */
export interface RunnerSlot {
	lease: string;
	/** Runs the job. @param body when it is still in memory; else it is read back */
	run(job: ClaimedImport, body?: Buffer): void;
	leave(): void;
}

interface Importing {
	/** The store that acts for the user who requested the import. */
	writing: Repositories;
	hold: ImportHold;
	held: Heartbeat;
	stop: AbortSignal;
}

interface Written {
	/** The time at which the import began to write. */
	since: Date;
	/** The operations of which tools are to be made; null makes none. */
	generation: GenerationRequest | null;
}

export class ImportRunner {
	readonly #parts: Required<RunnerParts>;
	readonly #closing = new AbortController();
	readonly #running = new Set<Promise<void>>();
	readonly #unsubscribe: () => void;
	readonly #timer: NodeJS.Timeout;
	#free = PLACES;
	#looking: Promise<void> | null = null;
	#hasNews = false;

	constructor(parts: RunnerParts) {
		this.#parts = { leaseMs: LEASE_MS, ...parts };
		this.#unsubscribe = parts.store.changes.subscribe((topics) => {
			if (topics.includes('import:queued') || topics.includes('*')) this.#look();
		});
		this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
		this.#look();
	}

	/** Reserves a slot; null when none is free. */
	take(): RunnerSlot | null {
		if (this.#free === 0 || this.#closing.signal.aborted) return null;
		this.#free--;
		const leave = (): void => void this.#free++;
		const lease = randomUUID();
		return { lease, leave, run: (job, body) => this.#start(job, { id: job.id, lease }, body) };
	}

	/** Returns the running jobs to the queue: another replica, or the next start, begins them anew. */
	async close(): Promise<void> {
		this.#unsubscribe();
		clearInterval(this.#timer);
		this.#closing.abort(STOPPING);
		await this.#looking;
		await Promise.all(this.#running);
	}

	#look(): void {
		this.#hasNews = true;
		this.#looking ??= this.#fill().finally(() => {
			this.#looking = null;
		});
	}

	/** A job queued during the last look may have been missed by it, so another look follows. */
	async #fill(): Promise<void> {
		while (this.#hasNews) {
			this.#hasNews = false;
			const slot = this.take();
			if (!slot) return;
			const { importQueue } = this.#parts.store;
			const job = await importQueue.claim({ lease: slot.lease, leaseMs: this.#parts.leaseMs }).catch((error: unknown) => {
				this.#parts.log.debug({ err: error }, 'import jobs could not be looked up');
				return null;
			});
			if (!job) {
				slot.leave();
				continue;
			}
			slot.run(job);
			this.#hasNews = true;
		}
	}

	#start(job: ClaimedImport, hold: ImportHold, body: Buffer | undefined): void {
		const running = this.#hold(job, hold, body)
			.catch((error: unknown) => this.#parts.log.error({ err: error, importId: job.id }, 'the end of an import could not be recorded'))
			.finally(() => {
				this.#running.delete(running);
				this.#free++;
				if (!this.#closing.signal.aborted) this.#look();
			});
		this.#running.add(running);
	}

	/** Works while the lease lasts, and records how the job ended. */
	async #hold(job: ClaimedImport, hold: ImportHold, body: Buffer | undefined): Promise<void> {
		const { importQueue } = this.#parts.store;
		const held = new Heartbeat(this.#parts, hold, job);
		const stop = AbortSignal.any([held.lost, this.#closing.signal]);
		try {
			const tools = await this.#work(job, { hold, held, stop, body });
			await this.#tell(held, () => importQueue.finish(hold, { status: 'succeeded', tools }));
		} catch (error) {
			// Another runner holds the job by now, or it was cancelled: there is nothing to record.
			if (held.lost.aborted) return;
			if (this.#closing.signal.aborted) await importQueue.release(hold, { counts: false });
			else if (isOfDatabase(error) && job.attempts < MAX_ATTEMPTS)
				await this.#tell(held, () => importQueue.release(hold, { counts: true }));
			else await this.#tell(held, () => importQueue.finish(hold, { status: 'failed', error: this.#faultOf(error, job) }));
		} finally {
			held.stop();
		}
	}

	async #work(
		job: ClaimedImport,
		{ hold, held, stop, body }: { hold: ImportHold; held: Heartbeat; stop: AbortSignal; body: Buffer | undefined },
	): Promise<GeneratedTools | null> {
		const { store, imports, secrets } = this.#parts;
		if (job.attempts > MAX_ATTEMPTS) {
			const times = `${MAX_ATTEMPTS} times`;
			throw new GatewayError('schema_invalid', `The service ended ${times} while the document was imported: it is not retried.`);
		}
		const writing = store.as(job.actor);
		const api = await writing.apis.get(job.organizationId, job.apiId);
		const stored = job.schemaId === null ? (body ?? (await store.importQueue.body(hold))) : Buffer.alloc(0);
		if (!api || !stored) throw LOST;
		const content = secrets.openBytes(stored, bodyLocation(job), 'The body of the import');
		const isFresh = job.schemaId === null;
		const written = isFresh ? this.#import(api, content, { writing, hold, held, stop }) : this.#resume(job, writing);
		const { generation, since } = await written;
		return generation && imports.generateTools(writing, api, generation, { signal: stop, since });
	}

	async #import(api: ApiRow, content: Buffer, { writing, hold, held, stop }: Importing): Promise<Written> {
		const tie = { hold, progress: held.note };
		const { schema, request } = await this.#parts.imports.importSchema(writing, api, content, stop, tie);
		return { since: schema.createdAt, generation: request.generation };
	}

	/** Resumes a job that was interrupted after its schema was written. */
	async #resume({ organizationId, apiId, schemaId, generation }: ClaimedImport, { apis }: Repositories): Promise<Written> {
		const schema = await apis.schema(organizationId, apiId, schemaId ?? '');
		if (!schema) throw LOST;
		return { since: schema.createdAt, generation };
	}

	/** Retries while the lease lasts: after it the job would be begun anew. */
	async #tell(held: Heartbeat, tell: () => Promise<boolean>): Promise<void> {
		for (;;) {
			try {
				await tell();
				return;
			} catch (error) {
				if (!isOfDatabase(error) || held.lost.aborted) throw error;
				await sleep(RETRY_MS);
			}
		}
	}

	#faultOf(error: unknown, job: ClaimedImport): ImportFault {
		const known = asGatewayError(error);
		if (known) return { code: known.code, message: known.message, details: known.details };
		this.#parts.log.error({ err: error, importId: job.id }, 'an import failed unexpectedly');
		return { code: 'internal', message: 'The import failed unexpectedly; the log of the service has the reason.', details: [] };
	}
}

/** The location of a sealed body. The job has no id when it is sealed. */
export const bodyLocation = ({ organizationId, apiId }: Pick<ClaimedImport, 'organizationId' | 'apiId'>): SecretLocation => ({
	organizationId,
	table: 'import_jobs',
	row: apiId,
});

/** Tells whether the database was unreachable: unfinished work, tools among it, is done once it is back. */
const isOfDatabase = (error: unknown): boolean => asGatewayError(error)?.code === 'unavailable';

/** Renews a lease, and writes the progress with it. */
class Heartbeat {
	readonly #lost = new AbortController();
	readonly #renew: () => Promise<boolean>;
	readonly #log: Log;
	readonly #leaseMs: number;
	readonly #timer: NodeJS.Timeout;
	#now: Parameters<Store['importQueue']['renew']>[2];
	#isRenewing = false;
	#renewedAtMs = performance.now();

	constructor({ store, log, leaseMs }: Required<RunnerParts>, hold: ImportHold, { phase, operations }: ClaimedImport) {
		this.#now = { phase, operations };
		this.#log = log;
		this.#leaseMs = leaseMs;
		this.#renew = () => store.importQueue.renew(hold, leaseMs, this.#now);
		this.#timer = setInterval(() => void this.#beat(), TELL_MS);
	}

	/** Aborted when another runner holds the job, or when it has been ended. */
	get lost(): AbortSignal {
		return this.#lost.signal;
	}

	readonly note = (now: Parameters<Store['importQueue']['renew']>[2]): void => {
		this.#now = now;
	};

	stop(): void {
		clearInterval(this.#timer);
	}

	async #beat(): Promise<void> {
		const ageMs = performance.now() - this.#renewedAtMs;
		if (ageMs > this.#leaseMs) this.#lost.abort(LOST);
		if (this.#isRenewing || this.#lost.signal.aborted) return;
		this.#isRenewing = true;
		const askedMs = performance.now();
		try {
			if (await this.#renew()) this.#renewedAtMs = askedMs;
			else this.#lost.abort(LOST);
		} catch (error) {
			this.#log.debug({ err: error }, 'the lease of an import could not be renewed');
		} finally {
			this.#isRenewing = false;
		}
	}
}
