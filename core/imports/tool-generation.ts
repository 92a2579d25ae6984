// Makes the tools of an API's operations, a page at a time.

import { setImmediate } from 'node:timers/promises';
import { GatewayError, invalid } from '../contract/errors.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { BodyLayout } from '../contract/nouns.ts';
import { measureJson } from '../kit/json.ts';
import type {
	ApiRow,
	GeneratedTools,
	GenerationRequest,
	OperationDraft,
	OperationFilter,
	OperationRow,
	Repositories,
} from '../store/store.ts';
import { draftTool, type Executors } from './tool-drafts.ts';

export type Writing = Pick<Repositories, 'apis' | 'tools'>;

/** Options of `generateTools` when it runs as the last part of an import. */
export interface AfterImport {
	signal?: AbortSignal;
	/** The time at which the import began to write. */
	since?: Date;
}

const MAX_TOOLS = 2_000;
/** Operations that are read in one go: each may have 100 KB. */
const PAGE = 25;
/** The most tools of a transaction, and the most characters after which it has no further page: most tools have documents that are not sent. */
const [MAX_WRITTEN, MAX_CHARS] = [100, 256 * 1024];
/** Reads of the same operations, which concurrent imports keep changing. */
const MAX_READS = 10;

export interface Generation extends AfterImport {
	api: ApiRow;
	executors: Executors;
	request: GenerationRequest;
}

type LayoutOf = (operation: OperationRow) => BodyLayout;

/** Makes one tool per operation that the filter admits, page by page. @throws validation_failed, conflict; the signal's reason */
export async function generateTools(store: Writing, importer: SchemaImporter, generation: Generation): Promise<GeneratedTools> {
	const { api, request, since } = generation;
	const { organizationId } = api;
	assertFewTools(await store.apis.countOperations(organizationId, api.id, active(request)));
	const sum: GeneratedTools = { created: 0, updated: 0, unchanged: 0, total: 0 };
	const layoutOf = await layoutsOf(store, api, request);
	let cursor: string | null | undefined;
	let reads = 0;
	while (cursor !== null) {
		const drafts: OperationDraft[] = [];
		const next = await addDrafts(drafts, store, importer, { ...generation, layoutOf, cursor });
		const { created, updated, unchanged } = await store.tools.generate(organizationId, api.id, drafts, since);
		sum.created += created;
		sum.updated += updated;
		sum.unchanged += unchanged;
		const isWhole = created + updated + unchanged === drafts.length;
		// A missing operation was changed by a concurrent import: all of them are read once more.
		reads = isWhole ? 0 : reads + 1;
		if (reads > MAX_READS) throw new GatewayError('conflict', 'Other imports keep changing the API while its tools are made.');
		if (isWhole) cursor = next;
	}
	sum.total = sum.created + sum.updated + sum.unchanged;
	return sum;
}

/** Adds the drafts of the operations from a cursor on that are written together. @returns the cursor of the next; null without any */
async function addDrafts(
	drafts: OperationDraft[],
	store: Writing,
	importer: SchemaImporter,
	{ api, request, executors, signal, layoutOf, cursor: start }: Generation & { layoutOf: LayoutOf; cursor: string | null | undefined },
): Promise<string | null> {
	const { organizationId, id } = api;
	let chars = 0;
	let cursor = start ?? null;
	do {
		signal?.throwIfAborted();
		const page = await store.apis.operations(organizationId, id, cursor ? { limit: PAGE, cursor } : { limit: PAGE }, active(request));
		for (const operation of page.items) {
			const tool = draftTool(importer, operation, { api, bodies: layoutOf(operation), executors });
			drafts.push({ operationId: operation.id, asOf: operation.updatedAt, tool });
			chars += measureJson(tool, MAX_CHARS).chars;
		}
		cursor = page.nextCursor;
		// Yields to other requests.
		await setImmediate();
	} while (cursor !== null && drafts.length <= MAX_WRITTEN - PAGE && chars < MAX_CHARS);
	return cursor;
}

/** Returns what chooses the layout that was requested, else that of the existing tool, else nested. */
async function layoutsOf({ tools }: Writing, { organizationId, id }: ApiRow, { bodies }: GenerationRequest): Promise<LayoutOf> {
	if (bodies) return () => bodies;
	const flat = await tools.flatOf(organizationId, id);
	return (operation) => (flat.has(operation.id) ? 'flat' : 'nested');
}

/** Selects the operations of which tools are to be made. */
export const active = ({ bodies: _bodies, ...filter }: GenerationRequest): OperationFilter => ({ ...filter, status: 'active' });

/** @throws validation_failed */
export function assertFewTools(count: number): void {
	if (count <= MAX_TOOLS) return;
	const ask = 'choose by tags, methods, paths, operationIds or deprecated';
	throw invalid('', `${count} operations would become tools, at most ${MAX_TOOLS} may: ${ask}.`);
}
