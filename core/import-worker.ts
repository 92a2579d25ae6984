// The worker thread of one import: reads the request, gets the document, lets the importer parse it, and hands the
// operations to the main thread batch by batch. It knows no database and no secret, and it may be killed at any time.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { ImportContext, Operation, SchemaImporter, SchemaSource } from './contracts.ts';
import { createEgress } from './egress.ts';
import { asGatewayError, type ErrorCode, type ErrorDetail, GatewayError, invalid } from './errors.ts';
import { createReport, type ImportReport, type ReportWriter } from './import-report.ts';
import { type ImportRequest, readImportRequest } from './import-request.ts';

export interface ImportTask {
	body: Uint8Array;
	/** Of the API: the importer that is to read the document. */
	type: string;
	/** Every importer's module, by name. */
	sources: Record<string, string>;
	egressAllow: string[];
	timeoutMs: number;
}

export interface ImportResult {
	report: ImportReport;
	request: Pick<ImportRequest, 'generateTools' | 'filter'>;
	sourceUrl: string | null;
	sizeBytes: number;
	sha256: string;
}

/** To the main thread; it answers each `batch` with any message once that is written. */
export type WorkerMessage =
	| { type: 'batch'; operations: Operation[] }
	| { type: 'done'; result: ImportResult }
	| { type: 'failed'; code: ErrorCode; message: string; details: ErrorDetail[] }
	| { type: 'crashed'; stack: string };

const MAX_BATCH = 100;
const MAX_BATCH_CHARS = 512 * 1024;
const MAX_OPERATION_CHARS = 1024 * 1024;
const MAX_SOURCE_BYTES = 64 * 1024 * 1024;
const FETCH_TIMEOUT_MS = 60_000;
/** An importer this sure of its format need not be compared with the others. */
const CERTAIN = 0.9;

if (!parentPort) throw new Error('import-worker runs as a worker thread only.');
const port = parentPort;
const send = (message: WorkerMessage): void => port.postMessage(message);

async function main(task: ImportTask): Promise<void> {
	const request = readImportRequest(task.body);
	const egress = createEgress({ allow: task.egressAllow });
	try {
		const report = createReport();
		const context: ImportContext = {
			log: { debug: () => undefined, info: () => undefined, warn: report.warn, error: report.warn },
			fetch: egress.fetch,
			request: egress.request,
			signal: AbortSignal.timeout(task.timeoutMs),
		};
		const importer = await loadImporter(task.type, task.sources);
		const source = await getSource(request, { task, importer, context });
		const summary = await writeOperations(importer.parse(source, {}, context), report);
		const { generateTools, filter } = request;
		const result: ImportResult = {
			report: report.finish(summary),
			request: { generateTools, filter },
			sourceUrl: source.url,
			...measure(source),
		};
		send({ type: 'done', result });
	} finally {
		await egress.close();
	}
}

interface Reading {
	task: ImportTask;
	importer: SchemaImporter;
	context: ImportContext;
}

/** @throws schema_invalid, egress_refused */
async function getSource({ schemaUrl, schemaContent }: ImportRequest, { task, importer, context }: Reading): Promise<SchemaSource> {
	const { source, fault } =
		schemaUrl === null ? { source: { text: schemaContent ?? '', url: null }, fault: '' } : await fetchSource(schemaUrl, context);
	if (source) await refuseOthers(task, importer, source.text);
	const ask = schemaUrl === null ? undefined : importer.introspect?.bind(importer, schemaUrl, context);
	if (source && (ask === undefined || importer.detect(source.text) > 0)) return source;
	if (ask === undefined) throw unusable(`${fault}.`);
	return ask().catch((error: unknown) => blameAnswer(error, fault));
}

interface Fetched {
	/** Null when what was answered is no text. */
	source: SchemaSource | null;
	/** The beginning of a sentence on what is wrong with it, should it be of no use. */
	fault: string;
}

async function fetchSource(url: string, { request }: ImportContext): Promise<Fetched> {
	const headers = { accept: 'application/json, application/yaml, text/yaml, text/plain, */*;q=0.5' };
	const answer = await request({ method: 'GET', url, headers, timeoutMs: FETCH_TIMEOUT_MS, maxBytes: MAX_SOURCE_BYTES }).catch(blameUrl);
	if (answer.status !== 200) return { source: null, fault: `schemaUrl answered with status ${answer.status}` };
	const text = decode(answer.body);
	if (text === null) return { source: null, fault: 'schemaUrl answered with bytes that are not UTF-8 text' };
	if (text.trim() === '') return { source: null, fault: 'schemaUrl answered with an empty document' };
	return { source: { text, url: answer.url }, fault: 'schemaUrl answered with a document that is no description' };
}

/** Both questions were answered by the same place: both answers say what is wrong with it. */
function blameAnswer(error: unknown, before: string): never {
	const known = asGatewayError(error);
	if (known?.code === 'schema_invalid') throw unusable(`${before}, and ${known.message}`);
	return blameUrl(error);
}

/** The URL is the client's input, so that it fails is the client's fault, not ours. */
function blameUrl(error: unknown): never {
	const known = asGatewayError(error);
	if (known?.code === 'upstream_failed' || known?.code === 'upstream_timeout')
		throw unusable(`schemaUrl could not be read: ${known.message}`);
	throw error;
}

const unusable = (message: string): GatewayError =>
	new GatewayError('schema_invalid', message, { details: [{ path: '/schemaUrl', message }] });

function decode(bytes: Uint8Array): string | null {
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	} catch {
		// `fatal` has no other way to say no.
		return null;
	}
}

/** @throws schema_invalid when another importer knows the document better */
async function refuseOthers({ type, sources }: ImportTask, importer: SchemaImporter, text: string): Promise<void> {
	const own = importer.detect(text);
	if (own >= CERTAIN) return;
	let best = { name: type, score: own };
	for (const name of Object.keys(sources)) {
		const score = name === type ? own : (await loadImporter(name, sources)).detect(text);
		if (score > best.score) best = { name, score };
	}
	if (best.name === type) return;
	throw new GatewayError(
		'schema_invalid',
		`The document looks like ${best.name}, but this API is of type ${type}: connect an API of type ${best.name} for it.`,
	);
}

async function loadImporter(name: string, sources: Record<string, string>): Promise<SchemaImporter> {
	const source = sources[name];
	if (source === undefined) throw invalid('/type', `No importer reads APIs of type ${name}.`);
	const { default: exported } = (await import(source)) as { default: SchemaImporter | SchemaImporter[] };
	// A package may export several plugins.
	const importer = [exported].flat().find((plugin) => plugin.kind === 'importer' && plugin.name === name);
	if (!importer) throw new Error(`${source} exports no importer of the name ${name}.`);
	return importer;
}

/** One batch travels while the next is made. */
async function writeOperations<Summary>(operations: AsyncGenerator<Operation, Summary>, report: ReportWriter): Promise<Summary> {
	let written: Promise<unknown> = Promise.resolve();
	let batch: Operation[] = [];
	let chars = 0;
	const flush = async (): Promise<void> => {
		if (batch.length === 0) return;
		await written;
		written = once(port, 'message');
		send({ type: 'batch', operations: batch });
		batch = [];
		chars = 0;
	};
	let next = await operations.next();
	for (; !next.done; next = await operations.next()) {
		const { operation, size } = storable(next.value);
		report.count(operation);
		if (operation.outcome === 'skipped') continue;
		if (batch.length >= MAX_BATCH || chars + size > MAX_BATCH_CHARS) await flush();
		batch.push(operation);
		chars += size;
	}
	await flush();
	await written;
	return next.value;
}

/** PostgreSQL holds neither NUL nor half a surrogate pair, and the main thread nothing endless. */
function storable(operation: Operation): { operation: Operation; size: number } {
	const text = JSON.stringify(operation);
	if (text.length > MAX_OPERATION_CHARS) {
		const { key, operationId, name, method, path } = operation;
		const rest = { description: '', tags: [], deprecated: false, parameters: {}, outputSchema: null, definition: {} };
		const reasons = ['It is larger than 1 MiB.'];
		return { operation: { key, operationId, name, method, path, ...rest, outcome: 'skipped', reasons }, size: 0 };
	}
	// In what JSON.stringify writes, any surrogate that is escaped stands alone.
	if (!/\\u(?:0000|d[89a-f])/.test(text)) return { operation, size: text.length };
	const clean = text.replace(/\\(?:(u0000)|(ud[89a-f]..)|.)/g, (whole, nul, half) => (nul ? '' : half ? '\ufffd' : whole));
	return { operation: JSON.parse(clean) as Operation, size: text.length };
}

function measure({ text }: SchemaSource): Pick<ImportResult, 'sizeBytes' | 'sha256'> {
	return { sizeBytes: Buffer.byteLength(text), sha256: createHash('sha256').update(text).digest('hex') };
}

// The main thread made it of this shape.
await main(workerData as ImportTask).catch((error: unknown) => {
	const known = asGatewayError(error);
	if (known) send({ type: 'failed', code: known.code, message: known.message, details: known.details });
	else send({ type: 'crashed', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
});
