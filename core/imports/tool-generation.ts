// Makes the tools of an API's operations, a page at a time.

import { setImmediate } from 'node:timers/promises';
import { GatewayError, invalid } from '../contract/errors.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { BodyLayout } from '../contract/nouns.ts';
import type { ApiRow, GeneratedTools, GenerationRequest, OperationFilter, OperationRow, Repositories } from '../store/store.ts';
import { draftTool, type Executors } from './tool-drafts.ts';

export type Writing = Pick<Repositories, 'apis' | 'tools'>;

/** Options of `generateTools` when it runs as the last part of an import. */
export interface AfterImport {
	signal?: AbortSignal;
	/** The time at which the import began to write. */
	since?: Date;
}

const MAX_TOOLS = 2_000;
/** Operations per page, each of which may have 100 KB: a page is read and written in one go. */
const PAGE = 25;
/** Reads of one page of operations that concurrent imports keep changing. */
const MAX_READS = 10;

export interface Generation extends AfterImport {
	api: ApiRow;
	executors: Executors;
	request: GenerationRequest;
}

/** Makes one tool per operation that the filter admits, page by page. @throws validation_failed, conflict; the signal's reason */
export async function generateTools(store: Writing, importer: SchemaImporter, generation: Generation): Promise<GeneratedTools> {
	const { api, request, executors, signal, since } = generation;
	const { organizationId } = api;
	const filter = active(request);
	assertFewTools(await store.apis.countOperations(organizationId, api.id, filter));
	const sum: GeneratedTools = { created: 0, updated: 0, unchanged: 0, total: 0 };
	let cursor: string | null | undefined;
	let reads = 0;
	while (cursor !== null) {
		signal?.throwIfAborted();
		const page = await store.apis.operations(organizationId, api.id, cursor ? { limit: PAGE, cursor } : { limit: PAGE }, filter);
		const layoutOf = await layoutsOf(store, organizationId, { operations: page.items, request });
		const drafts = page.items.map((operation) => ({
			operationId: operation.id,
			asOf: operation.updatedAt,
			tool: draftTool(importer, operation, { api, bodies: layoutOf(operation), executors }),
		}));
		const { created, updated, unchanged } = await store.tools.generate(organizationId, api.id, drafts, since);
		sum.created += created;
		sum.updated += updated;
		sum.unchanged += unchanged;
		const isWhole = created + updated + unchanged === drafts.length;
		// A missing operation was changed by a concurrent import: the page is read once more.
		reads = isWhole ? 0 : reads + 1;
		if (reads > MAX_READS) throw new GatewayError('conflict', 'Other imports keep changing the API while its tools are made.');
		if (isWhole) cursor = page.nextCursor;
		// Yields to other requests.
		await setImmediate();
	}
	sum.total = sum.created + sum.updated + sum.unchanged;
	return sum;
}

/** Chooses the layout that was requested, else that of the existing tool, else nested. */
async function layoutsOf(
	{ tools }: Writing,
	organizationId: string,
	{ operations, request: { bodies } }: { operations: readonly OperationRow[]; request: GenerationRequest },
): Promise<(operation: OperationRow) => BodyLayout> {
	if (bodies) return () => bodies;
	const ids = operations.map(({ id }) => id);
	const flat = await tools.flatOf(organizationId, ids);
	return ({ id }) => (flat.has(id) ? 'flat' : 'nested');
}

/** Selects the operations of which tools are to be made. */
export const active = ({ bodies: _bodies, ...filter }: GenerationRequest): OperationFilter => ({ ...filter, status: 'active' });

/** @throws validation_failed */
export function assertFewTools(count: number): void {
	if (count <= MAX_TOOLS) return;
	const ask = 'choose by tags, methods, paths, operationIds or deprecated';
	throw invalid('', `${count} operations would become tools, at most ${MAX_TOOLS} may: ${ask}.`);
}
