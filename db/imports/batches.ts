// Writes many rows with one statement: they are sent as one JSON text, which `json_to_recordset` takes apart.

import type { Json } from '../../core/contract/nouns.ts';

/** Rows per statement: few round trips, without a text so large that writing it blocks the event loop. */
const BATCH_ROWS = 100;

/** Embeds a document as text, so that it arrives unchanged byte by byte, whatever its strings hold. */
export const document = (value: Json | object): string => JSON.stringify(value);

export function* batches<T>(rows: T[]): Generator<T[]> {
	for (let start = 0; start < rows.length; start += BATCH_ROWS) yield rows.slice(start, start + BATCH_ROWS);
}
