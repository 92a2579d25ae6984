// Columns of many rows as texts of arrays of PostgreSQL: the shortest form of rows that are inserted at once, and the cheapest to write and read.

import { uuid } from '../pages.ts';
import { lenient } from '../text.ts';

export type ColumnType = 'uuid' | 'text' | 'json' | 'integer' | 'bigint' | 'float' | 'timestamptz';

/**
 * Writes one column, for `unnest($1::type[])`. Integers are rounded, ids that are none become the id of nothing, and text loses what PostgreSQL
 * cannot store. Values repeat more often than not, so each is looked at once.
 */
export function columnText<R>(rows: readonly R[], type: ColumnType, pick: (row: R) => string | number | null | undefined): string {
	const known = new Map<string, string>();
	const written = (value: string): string => {
		const found = known.get(value) ?? item(value, type);
		known.set(value, found);
		return found;
	};
	let text = '';
	for (const row of rows) {
		const value = pick(row) ?? null;
		if (value === null) text += ',NULL';
		else if (typeof value === 'string') text += `,${written(value)}`;
		else text += `,${type === 'float' ? value : Math.round(value)}`;
	}
	return `{${text.slice(1)}}`;
}

/** Returns what `INSERT … SELECT` reads the rows from, under the alias `r`. @param first the number of the first bound value */
export function fromColumns(columns: readonly (readonly [name: string, type: ColumnType])[], first: number): string {
	const arrays = columns.map(([, type], at) => `$${first + at}::${type}[]`).join(', ');
	return `unnest(${arrays}) AS r (${columns.map(([name]) => name).join(', ')})`;
}

function item(value: string, type: ColumnType): string {
	if (type === 'uuid') return uuid(value);
	return type === 'text' || type === 'json' ? quoted(lenient(value)) : value;
}

const ESCAPED = /["\\]/;

const quoted = (text: string): string => (ESCAPED.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`);
