// The sort keys of lists, besides their order of creation.

import pg from 'pg';

/** A key that rows of type R are compared by. Rows with equal keys are ordered by `seq`. */
export interface SortKey<R> {
	sql: string;
	/** Returns the row's value for the cursor. */
	read(row: R): string;
	/** Tells whether a cursor may carry this value. */
	accepts(value: string): boolean;
	/** Returns the SQL that a cursor's value is compared as. */
	literal(value: string): string;
}

/** Sort keys by their names in the API. */
export type SortKeys<R> = Record<string, SortKey<R>>;

/**
 * The number of characters of a name that are compared, and carried by cursors. An index of the tools (migration 0004) has the same number.
 */
const NAME_LENGTH = 100;

const folded = (sql: string): string => `fold(left(${sql}, ${NAME_LENGTH}))`;

// The column holds whole milliseconds (migration 0001), so a JavaScript date loses nothing.
export const byUpdate: SortKey<{ updatedAt: Date }> = {
	sql: 'updated_at',
	read: ({ updatedAt }) => String(updatedAt.getTime()),
	accepts: (value) => /^\d{1,14}$/.test(value),
	literal: (value) => `'${new Date(Number(value)).toISOString()}'::timestamptz`,
};

/** @param sql of the name, which `read` returns as well */
export const byNameOr = <R extends { updatedAt: Date }>(sql: string, read: (row: R) => string): SortKeys<R> => ({
	updatedAt: byUpdate,
	name: {
		sql: folded(sql),
		read: (row) => [...read(row)].slice(0, NAME_LENGTH).join(''),
		accepts: (value) => !value.includes('\0'),
		literal: (value) => folded(pg.escapeLiteral(value)),
	},
});
