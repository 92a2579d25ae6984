// A worker process of imports, which handles one after the other: it reads the request, gets the document, has the importer parse it, and
// sends the operations to the service in batches. It knows no database and no secret, and may be killed at any time.

import { writeSync } from 'node:fs';
import { getHeapSpaceStatistics } from 'node:v8';
import { asGatewayError } from '../contract/errors.ts';
import type { ImportContext } from '../contract/kinds.ts';
import type { Operation, SchemaSummary } from '../contract/nouns.ts';
import type { Egress } from '../egress/egress.ts';
import { deepFreeze } from '../kit/json.ts';
import { describeThrown } from '../process/strays.ts';
import { parseConfig } from '../registry/registry.ts';
import { BatchMemory, type OperationBatch, OperationWriter, type Written } from './batch-writer.ts';
import { checkOperation, checkSummary } from './check-importer.ts';
import { digestOf, fingerprintOf, measure } from './fingerprint.ts';
import { loadImporter } from './formats.ts';
import { createReport, type ReportWriter } from './report.ts';
import { readImportRequest, repetitionOf } from './request.ts';
import { getSource } from './source.ts';
import { BATCHES_FD, type ImportResult, type ImportTask, type ServiceMessage, type WorkerMessage } from './worker-messages.ts';

const MAX_BATCH = 100;
const MAX_BATCH_CHARS = 512 * 1024;
const MAX_OPERATION_CHARS = 1024 * 1024;

const send = (message: WorkerMessage): void => void process.send?.(message);

/** Waits until the service has read all but what fits into the pipe: it does so while it writes nothing. */
function sendBatch({ operations, count }: OperationBatch): void {
	for (let at = 0; at < operations.length; ) at += writeSync(BATCHES_FD, operations, at);
	send({ type: 'batch', sizeBytes: operations.length, count });
}

/** Called when the batch that was sent has been written. */
let written: () => void = () => undefined;

/** Measures the memory that old objects take: that of young ones is as large as it has ever been. */
function heapMb(): number {
	const old = getHeapSpaceStatistics().filter(({ space_name }) => !space_name.startsWith('new_'));
	return Math.round(old.reduce((sum, { space_size }) => sum + space_size, 0) / 1024 / 1024);
}

async function main(task: ImportTask, body: Uint8Array): Promise<ImportResult> {
	const request = readImportRequest(body);
	const egress = lazyEgress(task.egressAllow);
	try {
		const report = createReport();
		const context: ImportContext = {
			log: { debug: () => undefined, info: () => undefined, warn: report.warn, error: report.warn },
			fetch: egress.fetch,
			request: egress.request,
			signal: AbortSignal.timeout(task.timeoutMs),
			operator: deepFreeze(task.operator),
		};
		const own = await loadImporter(task.type, task.sources);
		const importers = { own, names: Object.keys(task.sources), load: (name: string) => loadImporter(name, task.sources) };
		const options = parseConfig(own.config, request.options, '/options');
		const source = await getSource(request, importers, context);
		const { fetched } = egress;
		send({ type: 'got' });
		const measured = measure(source, request.contentBytes);
		const digest = digestOf(source, measured);
		const fingerprint = fingerprintOf(task, digest, options);
		const { allowEmpty, generation } = request;
		const result = { request: { allowEmpty, generation }, sourceUrl: source.url, ...measured, repetition: repetitionOf(request) };
		if (fingerprint === task.known || digest === task.unchanged) return { report: null, digest, fingerprint, ...result };
		const summary = await writeOperations(own.name, own.parse(source, deepFreeze(options), context), report);
		const isAll = egress.fetched === fetched;
		return { report: report.finish(summary), digest: isAll ? digest : null, fingerprint: isAll ? fingerprint : null, ...result };
	} finally {
		await egress.close();
	}
}

interface LazyEgress extends Pick<Egress, 'fetch' | 'request' | 'close'> {
	/** The number of requests so far. */
	readonly fetched: number;
}

/** Creates the guarded way out when something is fetched: to load it takes half as long as to load all the rest. */
function lazyEgress(allow: string[]): LazyEgress {
	let made: Promise<Egress> | null = null;
	let fetched = 0;
	const get = (): Promise<Egress> => {
		fetched++;
		made ??= import('../egress/egress.ts').then(({ createEgress }) => createEgress({ allow }));
		return made;
	};
	return {
		get fetched() {
			return fetched;
		},
		fetch: async (...asked) => (await get()).fetch(...asked),
		request: async (...asked) => (await get()).request(...asked),
		close: async () => (await made)?.close(),
	};
}

/** Sends operations in batches: one is written while the next is made. */
async function writeOperations(
	importer: string,
	operations: AsyncGenerator<unknown, unknown>,
	report: ReportWriter,
): Promise<SchemaSummary> {
	let isWritten: Promise<void> = Promise.resolve();
	const writer = new OperationWriter();
	const batch = new BatchMemory();
	const flush = async (): Promise<void> => {
		if (batch.count === 0) return;
		await isWritten;
		isWritten = new Promise((resolve) => {
			written = resolve;
		});
		sendBatch(batch.take());
	};
	let next = await operations.next();
	for (; !next.done; next = await operations.next()) {
		const { operation, json } = storable(checkOperation(importer, next.value), writer);
		report.count(operation);
		if (operation.outcome === 'skipped' || json === null) continue;
		if (batch.count >= MAX_BATCH || batch.chars + json.chars > MAX_BATCH_CHARS) await flush();
		batch.add(json);
	}
	await flush();
	await isWritten;
	return checkSummary(importer, next.value);
}

/** Writes an operation as JSON that can be stored: PostgreSQL stores neither NUL nor lone surrogates, and the size is bounded. */
function storable(operation: Operation, writer: OperationWriter): { operation: Operation; json: Written | null } {
	const json = writer.write(operation);
	if (json === null || json.chars > MAX_OPERATION_CHARS) {
		const { key, operationId, name, method, path } = operation;
		const rest = { description: '', tags: [], deprecated: false, parameters: {}, outputSchema: null, definition: {} };
		const reasons = ['It is larger than 1 MiB.'];
		return { operation: { key, operationId, name, method, path, ...rest, outcome: 'skipped', reasons }, json };
	}
	if (json.isStorable) return { operation, json };
	const clean = JSON.stringify(operation).replace(/\\(?:(u0000)|(ud[89a-f]..)|.)/g, (whole, nul, half) =>
		nul ? '' : half ? '\ufffd' : whole,
	);
	const cleaned = JSON.parse(clean) as Operation;
	return { operation: cleaned, json: writer.write(cleaned) };
}

async function work(task: ImportTask, body: Uint8Array): Promise<void> {
	try {
		const result = await main(task, body);
		send({ type: 'done', result, heapMb: heapMb() });
	} catch (error) {
		const known = asGatewayError(error);
		if (known) send({ type: 'failed', code: known.code, message: known.message, details: known.details, heapMb: heapMb() });
		else send({ type: 'crashed', stack: describeThrown(error) });
	}
}

process.on('unhandledRejection', (reason) => send({ type: 'stray', error: describeThrown(reason) }));
process.on('uncaughtException', (error) => send({ type: 'crashed', stack: describeThrown(error) }));

let parts: Uint8Array[] = [];

process.on('message', (message: ServiceMessage) => {
	if (message.type === 'written') return written();
	if (message.type === 'part') return void parts.push(message.bytes);
	const body = Buffer.concat(parts);
	parts = [];
	void work(message.task, body);
});
