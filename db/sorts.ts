// What lists are sorted by beside their order of creation.

import pg from 'pg';

/** Something that rows of type R are compared by. Those that are equal follow each other in order of `seq`. */
export interface SortKey<R> {
	sql: string;
	/** What the cursor carries of a row. */
	read(row: R): string;
	/** Whether a cursor may carry this. */
	accepts(value: string): boolean;
	/** SQL that what a cursor carries is compared as. */
	literal(value: string): string;
}

/** By their names in the API. */
export type SortKeys<R> = Record<string, SortKey<R>>;

/** Characters of a name that are compared, and travel in cursors. An index of the tools (migration 0004) has the same number. */
const NAME_LENGTH = 100;

const folded = (sql: string): string => `fold(left(${sql}, ${NAME_LENGTH}))`;

// The column holds whole milliseconds (migration 0001), so what JavaScript keeps of it is all of it.
const byUpdate: SortKey<{ updatedAt: Date }> = {
	sql: 'updated_at',
	read: ({ updatedAt }) => String(updatedAt.getTime()),
	accepts: (value) => /^\d{1,14}$/.test(value),
	literal: (value) => `'${new Date(Number(value)).toISOString()}'::timestamptz`,
};

/** @param sql of the name, which `read` gives as well */
export const byNameOr = <R extends { updatedAt: Date }>(sql: string, read: (row: R) => string): SortKeys<R> => ({
	updatedAt: byUpdate,
	name: {
		sql: folded(sql),
		read: (row) => [...read(row)].slice(0, NAME_LENGTH).join(''),
		accepts: (value) => !value.includes('\0'),
		literal: (value) => folded(pg.escapeLiteral(value)),
	},
});
