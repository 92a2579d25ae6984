// The messages between the service and a worker process of imports.

import type { ErrorCode, ErrorDetail } from '../contract/errors.ts';
import type { ImportReport } from './report.ts';
import type { ImportRequest } from './request.ts';

/** The pipe for batches: a message of the channel is joined of its pieces, and both wait for a collection (`batch-reader.ts`). */
export const BATCHES_FD = 4;

export interface ImportTask {
	/** The type of the API, which names the importer to use. */
	type: string;
	/** The module of every importer, by name. */
	sources: Record<string, string>;
	egressAllow: string[];
	/** The operator's configuration of that importer. */
	operator: unknown;
	timeoutMs: number;
	/** The fingerprint of the description that the API has, where the service knows it: that one is not parsed again. */
	known: string | null;
	/** The digest of a document that is not parsed again whatever its importer would make of it: only a change of it is looked for. */
	unchanged: string | null;
}

export interface ImportResult {
	/** Null for the known description and the unchanged document, of which no operation is sent. */
	report: ImportReport | null;
	request: Pick<ImportRequest, 'allowEmpty' | 'generation'>;
	sourceUrl: string | null;
	sizeBytes: number;
	sha256: string;
	/** The body of a request that reads the same source again; null where the description was sent, or its options are too long to be kept. */
	repetition: string | null;
	/** Tells one document from another; null where the importer has fetched more than the description. */
	digest: string | null;
	/** Null where the importer has fetched more than the description. */
	fingerprint: string | null;
}

/** Messages to the service, which answers each `batch` with `written`. `got`: the document was fetched. */
export type WorkerMessage =
	| { type: 'got' }
	/** Its bytes are sent through `BATCHES_FD`, before this. */
	| { type: 'batch'; sizeBytes: number; count: number }
	| { type: 'done'; result: ImportResult; heapMb: number }
	| { type: 'failed'; code: ErrorCode; message: string; details: ErrorDetail[]; heapMb: number }
	| { type: 'crashed'; stack: string }
	/** A rejection that nothing handled: the import goes on. */
	| { type: 'stray'; error: string };

/** Messages of the service: an import is the parts of the body of its request, and then the task. */
export type ServiceMessage = { type: 'part'; bytes: Uint8Array } | { type: 'task'; task: ImportTask } | { type: 'written' };
