// Columns of many rows as texts of arrays of PostgreSQL: the shortest form of rows that are inserted at once, and the cheapest to write and read.

import { uuid } from '../pages.ts';
import { lenient } from '../text.ts';

export type ColumnType = 'uuid' | 'text' | 'json' | 'integer' | 'bigint' | 'float';

/**
 * Writes one column of so many rows, for `unnest($1::type[])`; null where no row has a value, since a column without items is one of nulls beside
 * others. Integers are rounded, ids that are none become the id of nothing, and text loses what PostgreSQL cannot store.
 */
export function columnText(count: number, type: ColumnType, valueAt: (at: number) => string | number | null | undefined): string | null {
	const written = writerOf(type);
	const items = new Array<string>(count);
	let isEmpty = true;
	let [last, lastItem]: [string | number | null, string] = [null, 'NULL'];
	for (let at = 0; at < count; at++) {
		const value = valueAt(at) ?? null;
		// Neighbours are alike more often than not.
		if (value !== last) [last, lastItem] = [value, value === null ? 'NULL' : written(value)];
		if (value !== null) isEmpty = false;
		items[at] = lastItem;
	}
	return isEmpty ? null : `{${items.join(',')}}`;
}

interface Source {
	alias: string;
	/** The number of the first bound value. */
	first: number;
	/** The name of one more column, which numbers the rows from 1. */
	numbered?: string;
}

/** Returns what `INSERT … SELECT` reads the rows from. */
export function fromColumns(columns: readonly (readonly [name: string, type: ColumnType])[], { alias, first, numbered }: Source): string {
	const arrays = columns.map(([, type], at) => `$${first + at}::${type}[]`).join(', ');
	const names = columns.map(([name]) => name);
	return `unnest(${arrays})${numbered ? ' WITH ORDINALITY' : ''} AS ${alias} (${[...names, ...(numbered ? [numbered] : [])].join(', ')})`;
}

/** Returns what writes the values of a column, each text once. */
function writerOf(type: ColumnType): (value: string | number) => string {
	const known = new Map<string, string>();
	return (value) => {
		if (typeof value === 'number') return String(type === 'float' ? value : Math.round(value));
		const found = known.get(value);
		if (found !== undefined) return found;
		const item = textItem(value, type);
		known.set(value, item);
		return item;
	};
}

function textItem(value: string, type: ColumnType): string {
	if (type === 'uuid') return uuid(value);
	return type === 'text' || type === 'json' ? quoted(lenient(value)) : value;
}

const ESCAPED = /["\\]/;

const quoted = (text: string): string => (ESCAPED.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`);
