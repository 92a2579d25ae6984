// Pages of lists, each in an order of its own: a cursor is the last item of the page before.

import type { Json } from '../../core/index.ts';
import { CODES, ProtocolError } from './messages.ts';

const PAGE = 500;

interface Page<T> {
	items: readonly T[];
	/** The place of the first item in the list. */
	start: number;
	/** Absent on the last page. */
	more: { nextCursor?: string };
}

/**
 * Cuts the page out of a list. "Invalid cursors SHOULD result in an error with code -32602" (utilities, "Pagination").
 * @param keyOf names an item among the others. @throws ProtocolError
 */
export function pageOf<T>(items: readonly T[], cursor: Json | undefined, keyOf: (item: T) => string, size = PAGE): Page<T> {
	const start = cursor === undefined || cursor === null ? 0 : positionAfter(cursor, items, keyOf);
	const page = items.slice(start, start + size);
	const last = page.at(-1);
	const isLast = last === undefined || start + size >= items.length;
	return { items: page, start, more: isLast ? {} : { nextCursor: Buffer.from(keyOf(last)).toString('base64url') } };
}

function positionAfter<T>(cursor: Json, items: readonly T[], keyOf: (item: T) => string): number {
	const key = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : null;
	const index = items.findIndex((item) => keyOf(item) === key);
	if (index === -1) throw new ProtocolError(CODES.invalidParams, 'params.cursor is not one of this list; list again from the start.');
	return index + 1;
}
