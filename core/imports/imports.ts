// Imports of API descriptions: a process that can be killed parses them, the service writes them in small steps, all or nothing,
// and makes tools of the imported operations.

import { asGatewayError, GatewayError, invalid, notFound } from '../contract/errors.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { Log } from '../contract/nouns.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { Semaphore } from '../kit/semaphore.ts';
import { compileCacheFolder } from '../process/compile-cache.ts';
import { Strays } from '../process/strays.ts';
import type { Registry } from '../registry/registry.ts';
import { configVersion } from '../registry/stored-configs.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type {
	ApiRow,
	GeneratedTools,
	GenerationRequest,
	ImportChanges,
	ImportHold,
	ImportJobRow,
	ImportWriter,
	SchemaRow,
} from '../store/store.ts';
import { createImportReader } from './changes.ts';
import { keptSource, readAgain } from './repetition.ts';
import { type ImportRequest, readImportRequest } from './request.ts';
import { draftTool, type Executors } from './tool-drafts.ts';
import { type AfterImport, generateTools, type Writing } from './tool-generation.ts';
import type { ImportTask } from './worker-messages.ts';
import { ImportWorkers } from './worker-run.ts';
import { commit, type Dry, type Known, notWritten } from './writing.ts';

export interface ImportedSchema {
	/** The stored schema; its `report` is an `ImportReport`, and its `changes` are set. */
	schema: SchemaRow;
	request: Pick<ImportRequest, 'generation'>;
}

/** The connection of an import to the job that it belongs to. */
export interface ImportJobTie {
	/** Receives the schema in the transaction that writes it, and fails when another runner holds the job by then. */
	hold: ImportHold;
	progress(now: Pick<ImportJobRow, 'phase' | 'operations'>): void;
}

export interface Imports {
	/**
	 * Imports a description.
	 * @param writing the store that acts for the importing user
	 * @param body of `POST /apis/:id/import-schema` as received: it is parsed and checked in the worker. Detached afterwards
	 * @throws validation_failed, schema_invalid, egress_refused, unavailable; not_found when the API was removed meanwhile; conflict when
	 * another runner holds the job by then
	 */
	importSchema(writing: Writing, api: ApiRow, body: Buffer, signal: AbortSignal, job?: ImportJobTie): Promise<ImportedSchema>;
	/**
	 * Reads the description again as the latest import did, and changes nothing.
	 * @returns what such an import would change; null where the document is the same, or was sent and not fetched
	 * @throws as `importSchema`; conflict when it is not known how that import read it, secret_unreadable
	 */
	compare(reading: Writing, api: ApiRow, signal: AbortSignal): Promise<ImportChanges | null>;
	/**
	 * Makes one tool per operation that the filter admits. When aborted, the tools made so far stay. After an import, the tools that the
	 * import updated are counted as updated.
	 * @throws validation_failed naming the filters when they are too many, conflict; the signal's reason
	 */
	generateTools(writing: Writing, api: ApiRow, request: GenerationRequest, after?: AfterImport): Promise<GeneratedTools>;
	/** Aborts the running imports. */
	close(): Promise<void>;
}

export interface ImportParts {
	registry: Registry;
	/** The policy for fetching; only `allow` reaches the worker. */
	egressPolicy: EgressPolicy;
	secrets: Pick<Secrets, 'seal' | 'open'>;
	log: Log;
	/** The time limit of one import, fetching the document included. Default 120,000. */
	timeoutMs?: number;
	/** The heap limit of one worker. Default 1,024. */
	maxHeapMb?: number;
}

const TIMEOUT_MS = 120_000;
const MAX_HEAP_MB = 1024;
const MAX_RUNNING = 2;
const MAX_WAITING = 16;
/** The APIs whose descriptions are known, about 1 KB each. */
const MAX_KNOWN = 1_000;
/** A body up to this size is parsed and checked within a millisecond or two. */
const SMALL_BODY_BYTES = 64 * 1024;

export function createImports(parts: ImportParts): Imports {
	const { registry, secrets } = parts;
	const limits = { timeoutMs: TIMEOUT_MS, maxHeapMb: MAX_HEAP_MB, ...parts };
	const closing = new AbortController();
	const semaphore = new Semaphore(MAX_RUNNING, MAX_WAITING, tooMany);
	const strays = new Strays(limits.log);
	strays.know(registry.sources());
	const workers = new ImportWorkers({ compileCache: compileCacheFolder(), maxHeapMb: limits.maxHeapMb, log: limits.log, strays });
	const known = new BoundedMap<string, Known>(MAX_KNOWN);
	const running = new Set<Promise<unknown>>();

	const run = async ({ api, body, signal, ...one }: Omit<OneImport, 'stop'> & { signal: AbortSignal }): Promise<ImportedSchema> => {
		importerOf(registry, api.type);
		// A fault in a small body is found here, without a worker.
		if (body.byteLength <= SMALL_BODY_BYTES) readImportRequest(body);
		const stop = AbortSignal.any([signal, closing.signal]);
		const work = semaphore.run(() => importOne({ ...limits, workers, known }, { ...one, api, body, stop }), stop);
		running.add(work);
		try {
			return await work;
		} catch (error) {
			throw stop.aborted ? interrupted(stop.reason, limits.timeoutMs) : error;
		} finally {
			running.delete(work);
		}
	};

	return {
		importSchema: (writing, api, body, signal, job) => run({ writing, api, body, signal, job }),
		compare: (writing, api, signal) =>
			readAgain(writing, secrets, api, async ({ body, digest: unchanged }) => {
				const found: (ImportChanges | null)[] = [];
				const dry = { unchanged, tell: (changes: ImportChanges | null): void => void found.push(changes) };
				await run({ writing, api, body, signal, job: undefined, dry }).catch((thrown: unknown) =>
					found.length > 0 ? null : Promise.reject(thrown),
				);
				return found[0] ?? null;
			}),
		generateTools: (writing, api, request, after = {}) =>
			generateTools(writing, importerOf(registry, api.type), { api, request, executors: executorsOf(registry), ...after }),
		async close() {
			closing.abort(new GatewayError('unavailable', 'The service is stopping.'));
			await Promise.allSettled(running);
			await workers.close();
		},
	};
}

interface OneImport {
	writing: Writing;
	api: ApiRow;
	body: Buffer;
	stop: AbortSignal;
	job: ImportJobTie | undefined;
	/** Set for an import that is not to be written. */
	dry?: Dry;
}

type Parts = Required<ImportParts> & { workers: ImportWorkers; known: BoundedMap<string, Known> };

async function importOne(parts: Parts, one: OneImport): Promise<ImportedSchema> {
	const signal = AbortSignal.any([one.stop, AbortSignal.timeout(parts.timeoutMs)]);
	try {
		for (let known = (one.dry ? null : parts.known.get(one.api.id)) ?? null; ; known = null) {
			const imported = await readAndWrite(parts, one, known, signal);
			if (imported) return imported;
		}
	} catch (error) {
		throw signal.aborted ? interrupted(signal.reason, parts.timeoutMs) : error;
	}
}

/** @returns null when the description is the known one, and the API has another one by now: nothing is written */
async function readAndWrite(
	parts: Parts,
	{ writing, api, body, job, dry }: OneImport,
	known: Known | null,
	signal: AbortSignal,
): Promise<ImportedSchema | null> {
	const { registry, egressPolicy, workers, timeoutMs } = parts;
	const task: ImportTask = {
		type: api.type,
		sources: sourcesOf(registry),
		egressAllow: egressPolicy.allow,
		operator: registry.operator(`importer:${api.type}`),
		timeoutMs,
		known: known?.fingerprint ?? null,
		unchanged: dry?.unchanged ?? null,
	};
	const begun: { writer: ImportWriter | null } = { writer: null };
	// The transaction begins with the first batch: no connection is held while the document is fetched.
	const begin = async (): Promise<ImportWriter> => {
		begun.writer ??= await writing.apis.beginImport(api.organizationId, api.id);
		if (!begun.writer) throw notFound('API');
		return begun.writer;
	};
	let operations = 0;
	const progress = (phase: ImportJobRow['phase']): void => job?.progress({ phase, operations });
	try {
		const result = await workers.run(task, body, signal, {
			got: () => progress('parsing'),
			async write({ operations: batch, count }) {
				await (await begin()).operations(batch);
				operations += count;
				progress('parsing');
			},
		});
		progress('writing');
		if (dry && result.report === null) {
			dry.tell(null);
			throw notWritten();
		}
		const importer = importerOf(registry, api.type);
		const reader = createImportReader(
			(operation, bodies) => draftTool(importer, operation, { api, bodies, executors: executorsOf(registry) }),
			importer,
		);
		const writer = await begin();
		const written = await commit(writer, result, {
			...{ reader, hold: job?.hold, operations, dry, known },
			source: keptSource(parts.secrets, api, result),
		});
		if (!written) return null;
		if (result.fingerprint === null) parts.known.delete(api.id);
		else parts.known.set(api.id, { schemaId: written.schema.id, fingerprint: result.fingerprint });
		return { schema: written.schema, request: result.request };
	} catch (error) {
		await begun.writer?.abort();
		throw error;
	}
}

/** @throws validation_failed naming the importers that exist */
function importerOf(registry: Registry, type: string): SchemaImporter {
	const importer = registry.get('importer', type);
	if (importer) return importer;
	const names = registry.list('importer').map(({ name }) => name);
	throw invalid('/type', `No importer reads APIs of type ${type}: there are ${names.join(', ') || 'none'}.`);
}

const executorsOf = (registry: Registry): Executors => ({
	has: (executor) => registry.get('executor', executor) !== null,
	versionOf: (executor) => configVersion(registry, 'executor', executor),
	secretIn: (executor, config) => registry.secretIn('executor', executor, config),
});

function sourcesOf(registry: Registry): Record<string, string> {
	const found = registry.list('importer').map(({ name }) => [name, registry.source('importer', name)] as const);
	return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== null));
}

const tooMany = (): GatewayError =>
	new GatewayError('unavailable', 'Too many imports are waiting: try again later.', { headers: { 'retry-after': '30' } });

function interrupted(reason: unknown, timeoutMs: number): GatewayError {
	const known = asGatewayError(reason);
	if (known) return known;
	if (reason instanceof Error && reason.name === 'TimeoutError')
		return new GatewayError('schema_invalid', `The document could not be imported within ${timeoutMs / 1000} s.`);
	return new GatewayError('unavailable', 'The import was aborted: the client disconnected.', { cause: reason });
}
