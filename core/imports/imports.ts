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
import type {
	ApiRow,
	GeneratedTools,
	GenerationRequest,
	ImportChanges,
	ImportCheck,
	ImportHold,
	ImportJobRow,
	ImportReader,
	ImportWriter,
	SchemaRow,
	WrittenImport,
} from '../store/store.ts';
import { createImportReader } from './changes.ts';
import { type ImportRequest, readImportRequest } from './request.ts';
import { draftTool, type Executors } from './tool-drafts.ts';
import { type AfterImport, active, assertFewTools, generateTools, type Writing } from './tool-generation.ts';
import type { ImportResult, ImportTask } from './worker-messages.ts';
import { ImportWorkers } from './worker-run.ts';

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
	/** Reads a description as an import does, and changes nothing. @returns what an import would change @throws as `importSchema` */
	compare(reading: Writing, api: ApiRow, body: Buffer, signal: AbortSignal): Promise<ImportChanges>;
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
	const { registry } = parts;
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
		async compare(writing, api, body, signal) {
			const found: ImportChanges[] = [];
			const isDry = (changes: ImportChanges): void => void found.push(changes);
			await run({ writing, api, body, signal, job: undefined, isDry }).catch((thrown: unknown) =>
				found.length > 0 ? null : Promise.reject(thrown),
			);
			return found[0] ?? Promise.reject(notFound('API'));
		},
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
	/** Receives the changes of an import that is not to be written. */
	isDry?: (changes: ImportChanges) => void;
}

/** The latest description of an API that this process has imported. */
interface Known {
	schemaId: string;
	fingerprint: string;
}

type Parts = Required<ImportParts> & { workers: ImportWorkers; known: BoundedMap<string, Known> };

async function importOne(parts: Parts, one: OneImport): Promise<ImportedSchema> {
	const signal = AbortSignal.any([one.stop, AbortSignal.timeout(parts.timeoutMs)]);
	try {
		for (let known = parts.known.get(one.api.id) ?? null; ; known = null) {
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
	{ writing, api, body, job, isDry }: OneImport,
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
		const importer = importerOf(registry, api.type);
		const reader = createImportReader(
			(operation, bodies) => draftTool(importer, operation, { api, bodies, executors: executorsOf(registry) }),
			importer,
		);
		const writer = await begin();
		const written = await commit(writer, result, {
			reader: isDry ? told(reader, isDry) : reader,
			hold: job?.hold,
			operations,
			isDry,
			known,
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

interface Committing {
	reader: ImportReader;
	hold: ImportHold | undefined;
	operations: number;
	isDry: unknown;
	known: Known | null;
}

async function commit(
	writer: ImportWriter,
	{ report, request, ...source }: ImportResult,
	{ reader, hold, operations, isDry, known }: Committing,
): Promise<WrittenImport | null> {
	const { generation, allowEmpty } = request;
	const job = hold && { ...hold, operations, generation };
	// The check runs before the commit, so that a 400 leaves the former description in place.
	const check: ImportCheck = async (count, { removed }) => {
		if (isDry) throw new GatewayError('conflict', 'Nothing was written.');
		if (removed > 0 && !allowEmpty && (await count(active({}))) === 0) throw emptied(removed);
		if (generation) assertFewTools(await count(active(generation)));
	};
	if (report === null) return writer.repeat(known?.schemaId ?? '', reader, job, check);
	const { format, title, version, servers } = report;
	return writer.commit({ format, title, version, servers, ...source, report }, reader, job, check);
}

/** Returns a reader that tells the changes before they are checked. */
const told = (reader: ImportReader, tell: (changes: ImportChanges) => void): ImportReader => ({
	...reader,
	finish(counts) {
		const changes = reader.finish(counts);
		tell(changes);
		return changes;
	},
});

/** Refuses a description without operations: an error page that parses as one, or the wrong file, would remove everything. */
const emptied = (removed: number): GatewayError => {
	const message = `The document has no operation that can be called, but the API has ${removed}: nothing was changed. "allowEmpty": true removes them.`;
	return new GatewayError('schema_invalid', message, { details: [{ path: '/allowEmpty', message }] });
};

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
