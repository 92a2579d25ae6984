// Exports of lists as CSV (RFC 4180) or NDJSON, read page after page as the client takes them.

import { Readable } from 'node:stream';
import type { Request, ResponseObject } from '@hapi/hapi';
import Joi from 'joi';
import type { Json } from '../contract/nouns.ts';
import { clientSignal } from '../http/client.ts';
import type { Listed, Page } from '../store/store.ts';

/** The rows that are read at a time. */
const READ = 1000;

export type ExportFormat = 'csv' | 'ndjson';
export const exportFormat = Joi.string().valid('csv', 'ndjson').default('csv').description('The form of the file.');

/** Follows the summary of an operation that exports. */
export const EXPORT_FORMATS =
	'CSV (RFC 4180, with a header) or a JSON object per line. A text that a spreadsheet would take for a formula has a `’` before it in CSV.';

type Value = Json | Date | undefined;

export interface Exporting<R, S extends Record<string, Value>> {
	/** The beginning of the file's name. */
	name: string;
	format: ExportFormat;
	/** The columns of CSV, members of a shown row. */
	columns: readonly (keyof S & string)[];
	/** The most rows. */
	most: number;
	read(page: Page): Promise<Listed<R>>;
	show(row: R): S;
}

/** Answers with a file. */
export function exportRows<R, S extends Record<string, Value>>(request: Request, exporting: Exporting<R, S>): ResponseObject {
	const { name, format } = exporting;
	const response = request.generateResponse(Readable.from(texts(exporting, clientSignal(request)), { objectMode: false }));
	const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
	return response.type(type).header('content-disposition', `attachment; filename="${name}.${format}"`);
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
