// Exports of lists as CSV (RFC 4180) or NDJSON, read page after page as the client takes them.

import { Readable } from 'node:stream';
import type { Request, ResponseObject } from '@hapi/hapi';
import Joi from 'joi';
import { GatewayError } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import { clientSignal } from '../http/client.ts';
import type { Listed, Page } from '../store/store.ts';

/** The rows that are read at a time. */
const READ = 1000;
/** The exports of one account that run at once in a process: each walks a whole log, page after page, also where its filter matches nothing. */
const MAX_OF_ACCOUNT = 2;
const RETRY_SECONDS = '10';

const TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

export type ExportFormat = keyof typeof TYPES;
/** The media types of an operation that exports. */
export const EXPORT_TYPES = Object.values(TYPES);
export const exportFormat = Joi.string()
	.valid(...Object.keys(TYPES))
	.default('csv')
	.description('The form of the file.');

/** Follows the summary of an operation that exports. */
export const EXPORT_FORMATS =
	"CSV (RFC 4180, with a header) or a JSON object per line. A text that a spreadsheet would take for a formula has a `'` before it in CSV.";

type Value = Json | Date | undefined;

export interface Exporting<R, S extends Record<string, Value>> {
	/** The beginning of the file's name. */
	name: string;
	format: ExportFormat;
	/** The account whose share of exports it takes. */
	account: string;
	/** The columns of CSV, members of a shown row. */
	columns: readonly (keyof S & string)[];
	/** The most rows. */
	most: number;
	read(page: Page): Promise<Listed<R>>;
	show(row: R): S;
}

/** The running exports by account. */
const running = new Map<string, number>();

/** Answers with a file. @throws rate_limited when the account has as many exports as it may */
export function exportRows<R, S extends Record<string, Value>>(request: Request, exporting: Exporting<R, S>): ResponseObject {
	const { name, format, account } = exporting;
	const leave = enter(account);
	const body = Readable.from(texts(exporting, clientSignal(request)), { objectMode: false });
	// It closes when the page that is being read is there: until then the export has its place.
	body.once('close', leave);
	const { res } = request.raw;
	if (res.closed) body.destroy();
	else res.once('close', () => body.destroy());
	const response = request.generateResponse(body).type(TYPES[format]);
	return response.header('content-disposition', `attachment; filename="${name}.${format}"`);
}

/** @returns a function that gives the place back. @throws rate_limited */
function enter(account: string): () => void {
	const own = running.get(account) ?? 0;
	if (own >= MAX_OF_ACCOUNT) {
		const message = `${MAX_OF_ACCOUNT} exports are running, as many as may at once: retry after ${RETRY_SECONDS} seconds.`;
		throw new GatewayError('rate_limited', message, { headers: { 'retry-after': RETRY_SECONDS } });
	}
	running.set(account, own + 1);
	return () => {
		const left = (running.get(account) ?? 1) - 1;
		if (left > 0) running.set(account, left);
		else running.delete(account);
	};
}

async function* texts<R, S extends Record<string, Value>>(
	{ format, columns, most, read, show }: Exporting<R, S>,
	signal: AbortSignal,
): AsyncGenerator<string, void> {
	const write = format === 'csv' ? (row: S) => csvLine(columns.map((column) => row[column])) : (row: S) => `${JSON.stringify(row)}\n`;
	if (format === 'csv') yield csvLine(columns);
	let left = most;
	for (let cursor: string | null | undefined; cursor !== null && left > 0 && !signal.aborted; ) {
		const found: Listed<R> = await read({ limit: Math.min(READ, left), ...(cursor && { cursor }) });
		left -= found.items.length;
		cursor = found.nextCursor;
		if (found.items.length > 0) yield found.items.map((row) => write(show(row))).join('');
	}
}

const csvLine = (values: readonly Value[]): string => `${values.map(field).join(',')}\r\n`;

function field(value: Value): string {
	if (value === null || value === undefined) return '';
	if (typeof value === 'number' || typeof value === 'boolean') return String(value);
	const plain = value instanceof Date ? value.toISOString() : typeof value === 'string' ? value : JSON.stringify(value);
	const safe = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
	return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
