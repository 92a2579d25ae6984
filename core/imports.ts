// Imports of API descriptions: parsed in a worker thread that can be killed, written by the main thread in small steps,
// all or nothing; and tools made of what was imported.

import { setImmediate } from 'node:timers/promises';
import type { Log, SchemaImporter } from './contracts.ts';
import type { EgressPolicy } from './egress.ts';
import { asGatewayError, GatewayError, invalid, notFound } from './errors.ts';
import type { ImportRequest } from './import-request.ts';
import { runImport } from './import-run.ts';
import type { ImportResult, ImportTask } from './import-worker.ts';
import type { Registry } from './registry.ts';
import { Slots } from './slots.ts';
import type { ApiRow, ImportWriter, OperationFilter, Repositories, SchemaRow } from './store.ts';

export interface ImportedSchema {
	/** Its `report` is an `ImportReport`. */
	schema: SchemaRow;
	changes: { added: number; changed: number; unchanged: number; removed: number };
	request: Pick<ImportRequest, 'generateTools' | 'filter'>;
}

export interface GeneratedTools {
	created: number;
	updated: number;
	unchanged: number;
	total: number;
}

type Writing = Pick<Repositories, 'apis' | 'tools'>;

export interface Imports {
	/**
	 * @param writing the store of the one who imports
	 * @param body of `POST /apis/:id/import-schema` as it came: it is parsed and checked in the worker. Detached afterwards
	 * @throws validation_failed, schema_invalid, egress_refused, unavailable; not_found when the API is gone meanwhile
	 */
	importSchema(writing: Writing, api: ApiRow, body: Buffer, signal: AbortSignal): Promise<ImportedSchema>;
	/** One tool per operation that the filter admits. @throws validation_failed naming the filters when they are too many */
	generateTools(writing: Writing, api: ApiRow, filter: OperationFilter): Promise<GeneratedTools>;
	/** Breaks off what is running. */
	close(): Promise<void>;
}

export interface ImportParts {
	registry: Registry;
	/** Of it, `allow` reaches the worker. */
	egressPolicy: EgressPolicy;
	log: Log;
	/** Of one import, fetching its document included. Default 120,000. */
	timeoutMs?: number;
	/** Of one worker. Default 1,024. */
	maxHeapMb?: number;
}

const TIMEOUT_MS = 120_000;
const MAX_HEAP_MB = 1024;
const MAX_RUNNING = 2;
const MAX_WAITING = 16;
const MAX_TOOLS = 2_000;
const PAGE = 100;

export function createImports(parts: ImportParts): Imports {
	const { registry } = parts;
	const limits = { timeoutMs: TIMEOUT_MS, maxHeapMb: MAX_HEAP_MB, ...parts };
	const closing = new AbortController();
	const slots = new Slots(MAX_RUNNING, MAX_WAITING, 'imports');
	const running = new Set<Promise<unknown>>();

	return {
		async importSchema(writing, api, body, signal) {
			importerOf(registry, api.type);
			const stop = AbortSignal.any([signal, closing.signal]);
			const work = slots.run(stop, () => importOne(limits, { writing, api, body, stop }));
			running.add(work);
			try {
				return await work;
			} catch (error) {
				throw stop.aborted ? interrupted(stop.reason, limits.timeoutMs) : error;
			} finally {
				running.delete(work);
			}
		},
		generateTools: (writing, api, filter) => generateTools(writing, importerOf(registry, api.type), { api, filter }),
		async close() {
			closing.abort(new GatewayError('unavailable', 'The service is stopping.'));
			await Promise.allSettled(running);
		},
	};
}

interface Job {
	writing: Writing;
	api: ApiRow;
	body: Buffer;
	stop: AbortSignal;
}

async function importOne(parts: Required<ImportParts>, { writing, api, body, stop }: Job): Promise<ImportedSchema> {
	const { registry, egressPolicy, log, timeoutMs, maxHeapMb } = parts;
	const task: ImportTask = {
		body: movable(body),
		type: api.type,
		sources: sourcesOf(registry),
		egressAllow: egressPolicy.allow,
		timeoutMs,
	};
	const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]);
	const begun: { writer: ImportWriter | null } = { writer: null };
	// Begun with the first batch: no connection is held while the document is fetched.
	const begin = async (): Promise<ImportWriter> => {
		begun.writer ??= await writing.apis.beginImport(api.organizationId, api.id);
		if (!begun.writer) throw notFound('API');
		return begun.writer;
	};
	try {
		const result = await runImport(task, { signal, maxHeapMb, log }, async (operations) => (await begin()).operations(operations));
		return await commit(await begin(), result);
	} catch (error) {
		await begun.writer?.abort();
		throw signal.aborted ? interrupted(signal.reason, timeoutMs) : error;
	}
}

async function commit(writer: ImportWriter, { report, request, ...source }: ImportResult): Promise<ImportedSchema> {
	const { format, title, version, servers } = report;
	const { schema, ...changes } = await writer.commit({ format, title, version, servers, ...source, report });
	return { schema, changes, request };
}

/** @throws validation_failed naming what there is */
function importerOf(registry: Registry, type: string): SchemaImporter {
	const importer = registry.get('importer', type);
	if (importer) return importer;
	const names = registry.list('importer').map(({ name }) => name);
	throw invalid('/type', `No importer reads APIs of type ${type}: there are ${names.join(', ') || 'none'}.`);
}

function sourcesOf(registry: Registry): Record<string, string> {
	const found = registry.list('importer').map(({ name }) => [name, registry.source('importer', name)] as const);
	return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Bytes whose memory may change threads: small buffers share theirs with others. */
function movable(body: Buffer): Uint8Array {
	const isWhole = body.byteOffset === 0 && body.byteLength === body.buffer.byteLength;
	return isWhole ? body : new Uint8Array(body);
}

function interrupted(reason: unknown, timeoutMs: number): GatewayError {
	const known = asGatewayError(reason);
	if (known) return known;
	if (reason instanceof Error && reason.name === 'TimeoutError')
		return new GatewayError('schema_invalid', `The document could not be imported within ${timeoutMs / 1000} s.`);
	return new GatewayError('unavailable', 'The import was broken off: the client is gone.', { cause: reason });
}

interface Generation {
	api: ApiRow;
	filter: OperationFilter;
}

async function generateTools(store: Writing, importer: SchemaImporter, { api, filter }: Generation): Promise<GeneratedTools> {
	const { organizationId } = api;
	const count = await store.apis.countOperations(organizationId, api.id, filter);
	if (count > MAX_TOOLS) {
		const ask = 'choose by tags, methods, paths, operationIds or deprecated';
		throw invalid('', `${count} operations would become tools, at most ${MAX_TOOLS} may: ${ask}.`);
	}
	const sum: GeneratedTools = { created: 0, updated: 0, unchanged: 0, total: 0 };
	let cursor: string | null | undefined;
	while (cursor !== null) {
		const page = await store.apis.operations(organizationId, api.id, cursor ? { limit: PAGE, cursor } : { limit: PAGE }, filter);
		const active = page.items.filter(({ status }) => status === 'active');
		const drafts = active.map((operation) => ({ operationId: operation.id, tool: importer.tool(operation, api) }));
		const made = await store.tools.generate(organizationId, api.id, drafts);
		sum.created += made.created;
		sum.updated += made.updated;
		sum.unchanged += made.unchanged;
		sum.total += drafts.length;
		cursor = page.nextCursor;
		// Others' requests come first.
		await setImmediate();
	}
	return sum;
}
