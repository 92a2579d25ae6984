// The program of the runs that do import jobs. The database decides which attempt may write (`noteWritten`), so a slow one writes nothing.

import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { type RunContext, RunError } from '../runs/context.ts';
import { isOfDatabase, LOST } from '../runs/faults.ts';
import { persist } from '../runs/keeper.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type {
	ApiRow,
	ClaimedImport,
	GeneratedTools,
	GenerationRequest,
	ImportEnd,
	ImportFault,
	ImportHold,
	ImportProgress,
	Repositories,
	Store,
} from '../store/store.ts';
import type { Imports } from './imports.ts';

export interface ProgramParts {
	store: Pick<Store, 'as' | 'importQueue'>;
	imports: Pick<Imports, 'importSchema' | 'generateTools'>;
	secrets: Pick<Secrets, 'sealBytes' | 'openBytes'>;
	log: Log;
}

/** The number of attempts, after which the job is held responsible for the ends of its processes or connections. */
const MAX_ATTEMPTS = 3;
/** The interval at which progress is written. */
const TELL_MS = 500;

/** An attempt at a job. */
interface Held {
	hold: ImportHold;
	stop: AbortSignal;
	/** The body when it is still in memory; else it is read back. */
	body: Buffer | undefined;
}

interface Importing extends Pick<Held, 'hold' | 'stop'> {
	/** The store that acts for the user who requested the import. */
	writing: Repositories;
}

interface Written {
	/** The time at which the import began to write. */
	since: Date;
	/** The operations of which tools are to be made; null makes none. */
	generation: GenerationRequest | null;
}

export class ImportProgram {
	readonly #parts: ProgramParts;
	readonly #bodies = new Map<string, Buffer>();

	constructor(parts: ProgramParts) {
		this.#parts = parts;
	}

	/** Hands over the body of a job that is about to begin in this process. */
	give(id: string, body: Buffer): void {
		this.#bodies.set(id, body);
	}

	async run({ id, attempt, signal }: RunContext): Promise<null> {
		const { importQueue } = this.#parts.store;
		const hold = { id, attempt };
		const body = this.#bodies.get(id);
		this.#bodies.delete(id);
		let job = await persist(signal, () => importQueue.find(hold));
		for (let given = body; job && !job.finishedAt; given = undefined) {
			const end = await this.#endOf(job, { hold, stop: signal, body: given });
			if (end) await persist(signal, () => importQueue.finish(hold, end));
			job = await persist(signal, () => (end ? importQueue.find(hold) : importQueue.again(hold)));
		}
		if (job?.error) throw new RunError(job.error);
		return null;
	}

	/** Returns how a job ended; null: it is to be begun anew. */
	async #endOf(job: ClaimedImport, held: Held): Promise<ImportEnd | null> {
		try {
			return { status: 'succeeded', tools: await this.#work(job, held) };
		} catch (error) {
			// The run was given back, or another process has it, or it was cancelled: there is nothing to record.
			held.stop.throwIfAborted();
			if (error === LOST) throw error;
			if (isOfDatabase(error) && job.attempts < MAX_ATTEMPTS) return null;
			return { status: 'failed', error: this.#faultOf(error, job) };
		}
	}

	async #work(job: ClaimedImport, { hold, stop, body }: Held): Promise<GeneratedTools | null> {
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
		const written = isFresh ? this.#import(api, content, { writing, hold, stop }) : this.#resume(job, writing);
		const { generation, since } = await written;
		return generation && imports.generateTools(writing, api, generation, { signal: stop, since });
	}

	async #import(api: ApiRow, content: Buffer, { writing, hold, stop }: Importing): Promise<Written> {
		const { store, imports, log } = this.#parts;
		const teller = new Teller((now) => store.importQueue.tell(hold, now), log);
		try {
			const { schema, request } = await imports.importSchema(writing, api, content, stop, { hold, progress: teller.note });
			return { since: schema.createdAt, generation: request.generation };
		} finally {
			teller.stop();
		}
	}

	/** Resumes a job that was interrupted after its schema was written. */
	async #resume({ organizationId, apiId, schemaId, generation }: ClaimedImport, { apis }: Repositories): Promise<Written> {
		const schema = await apis.schema(organizationId, apiId, schemaId ?? '');
		if (!schema) throw LOST;
		return { since: schema.createdAt, generation };
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

/** Writes the progress of an import while it changes. */
class Teller {
	readonly #write: (now: ImportProgress) => Promise<unknown>;
	readonly #log: Log;
	readonly #timer: NodeJS.Timeout;
	#now: ImportProgress | null = null;
	#isWriting = false;

	constructor(write: (now: ImportProgress) => Promise<unknown>, log: Log) {
		this.#write = write;
		this.#log = log;
		this.#timer = setInterval(() => void this.#tell(), TELL_MS);
	}

	readonly note = (now: ImportProgress): void => {
		this.#now = now;
	};

	stop(): void {
		clearInterval(this.#timer);
	}

	async #tell(): Promise<void> {
		const now = this.#now;
		if (!now || this.#isWriting) return;
		this.#now = null;
		this.#isWriting = true;
		// The next one tells as much.
		await this.#write(now).catch((error: unknown) => this.#log.debug({ err: error }, 'the progress of an import could not be written'));
		this.#isWriting = false;
	}
}
