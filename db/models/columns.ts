// The columns of a table, listed once: the model is defined by them, and rows are picked by their names.

/** Lists the names of columns, except those that stay in the database. */
export const columnsOf = <C extends object, K extends keyof C = never>(columns: C, ...kept: K[]): readonly Exclude<keyof C, K>[] =>
	// `Object.keys` types its result only as strings.
	(Object.keys(columns) as (keyof C)[]).filter((column): column is Exclude<keyof C, K> => !kept.some((one) => one === column));

/** Picks these columns of a row, which may be an instance of a model, and no others. */
export function pick<C extends object, K extends keyof C>(row: C, columns: readonly K[]): Pick<C, K> {
	const picked: Partial<Pick<C, K>> = {};
	for (const column of columns) picked[column] = row[column];
	// Each of the columns has been set.
	return picked as Pick<C, K>;
}
