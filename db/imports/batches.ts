// Many rows in one statement: they travel as one JSON text, which `json_to_recordset` takes apart.

import type { Json } from '../../core/contract/nouns.ts';

/** Rows per statement: few round trips, and yet no text so large that writing it blocks the event loop. */
const BATCH_ROWS = 100;

/** A document as text inside the batch, so that it arrives byte by byte as it is, whatever its strings hold. */
export const document = (value: Json | object): string => JSON.stringify(value);

export function* batches<T>(rows: T[]): Generator<T[]> {
	for (let start = 0; start < rows.length; start += BATCH_ROWS) yield rows.slice(start, start + BATCH_ROWS);
}
