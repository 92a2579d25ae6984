// Ids and pages, shared by all lists and look-ups.

import {
	type Attributes,
	DataTypes,
	type FindAttributeOptions,
	literal,
	type Model,
	type ModelStatic,
	Op,
	type OrderItem,
	type ProjectionAlias,
	type WhereOptions,
} from 'sequelize';
import { type GatewayError, invalid } from '../core/contract/errors.ts';
import type { Listed, Page } from '../core/store/store.ts';
import type { SortKey, SortKeys } from './sorts.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const NIL = '00000000-0000-0000-0000-000000000000';
/** The greatest bigint. */
const END = '9223372036854775807';

/** The texts and JSON of a page: reading and sending it must not hold the event loop. A row that has more is a page of its own. */
const PAGE_BYTES = 1_048_576;

/** Replaces an invalid id by the nil UUID, which no row has: both name nothing. */
export const uuid = (id: string): string => (UUID.test(id) ? id : NIL);

/** One row of one organization. */
export const own = (organizationId: string, id: string): { organizationId: string; id: string } => ({
	organizationId: uuid(organizationId),
	id: uuid(id),
});

/** The order of creation, by `seq` alone, which every list has. */
const CREATION = 'createdAt';

/** The order of a list, and the start of one page in it. */
export interface Walk<R> {
	/** The name of the list in its order, by which cursors tell it from others. */
	name: string;
	/** The key that rows are compared by before `seq`; null: by `seq` alone. */
	key: SortKey<R> | null;
	/** For hand-written statements: the comparison that `seq` must satisfy after the start. */
	beyond: '>' | '<';
	direction: 'ASC' | 'DESC';
	/** The last row of the previous page; before the first page, a `seq` that precedes every row's. */
	last: Position;
}

interface Position {
	seq: string;
	/** The value of the key; empty when there is none. */
	value: string;
}

interface Order<R> {
	/** Orders besides `createdAt`. */
	sorts?: SortKeys<R>;
	/** The default order. */
	usual?: 'createdAt' | '-createdAt';
}

/** @throws validation_failed when the list has no such order, or the cursor belongs to another */
export function startWalk<R>(list: string, page: Page, { sorts = {}, usual = CREATION }: Order<R> = {}): Walk<R> {
	const sort = page.sort ?? usual;
	const isDescending = sort.startsWith('-');
	const field = isDescending ? sort.slice(1) : sort;
	const key = Object.hasOwn(sorts, field) ? (sorts[field] ?? null) : null;
	if (!key && field !== CREATION) throw unknownSort(Object.keys(sorts));
	const name = sort === usual ? list : `${list}:${sort}`;
	const start = { seq: isDescending ? END : '0', value: '' };
	return {
		name,
		key,
		beyond: isDescending ? '<' : '>',
		direction: isDescending ? 'DESC' : 'ASC',
		last: page.cursor === undefined ? start : readCursor(name, page.cursor, key),
	};
}

function unknownSort(fields: string[]): GatewayError {
	const known = [CREATION, ...fields].flatMap((field) => [field, `-${field}`]);
	return invalid('query/sort', `"sort" must be one of [${known.join(', ')}]`);
}

function readCursor<R>(name: string, cursor: string, key: SortKey<R> | null): Position {
	const [first, seq = '', ...rest] = Buffer.from(cursor, 'base64url').toString().split(' ');
	const position = { seq, value: rest.join(' ') };
	const isPlace = first === name && /^[1-9][0-9]{0,17}$/.test(seq) && (key ? key.accepts(position.value) : position.value === '');
	if (!isPlace || writeCursor(name, position) !== cursor) throw badCursor();
	return position;
}

const writeCursor = (name: string, { seq, value }: Position): string =>
	Buffer.from(value === '' ? `${name} ${seq}` : `${name} ${seq} ${value}`).toString('base64url');

const badCursor = (): GatewayError =>
	invalid('query/cursor', 'cursor must be the nextCursor of a former answer of this list, in the same order.');

/** SQL for the bytes of a column of text or JSON. */
export const bytesOf = (column: string): string => `coalesce(octet_length(${column}::text), 0)`;

/** SQL for the bytes of a page up to a row, and for whether the row belongs to it. @param bytes SQL for those of a row @param order of the page */
export function uptoRow(bytes: string, order: string): { uptoBytes: string; isWithin: string } {
	const window = `OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
	const uptoBytes = `sum(${bytes}) ${window}::float8`;
	return { uptoBytes, isWithin: `(row_number() ${window} = 1 OR ${uptoBytes} <= ${PAGE_BYTES})` };
}

/** @param rows one more than the page holds, if there are more, with their `uptoBytes` where these are counted */
export function toPage<R extends { seq: string; uptoBytes?: number }, T>(
	walk: Walk<R>,
	rows: R[],
	page: Page,
	toRow: (row: R) => T,
): Listed<T> {
	const shown = rows.slice(0, page.limit).filter(({ uptoBytes = 0 }, at) => at === 0 || uptoBytes <= PAGE_BYTES);
	const last = shown.at(-1);
	const hasMore = last !== undefined && rows.length > shown.length;
	return {
		items: shown.map(toRow),
		nextCursor: hasMore ? writeCursor(walk.name, { seq: last.seq, value: walk.key?.read(last) ?? '' }) : null,
	};
}

interface Listing<M extends Model> {
	where: WhereOptions<Attributes<M>>;
	page: Page;
	attributes?: Selection;
	sorts?: SortKeys<M>;
	/** SQL for the bytes of what is shown beside a row. */
	besideBytes?: string;
}

interface Selection {
	exclude?: string[];
	include?: ProjectionAlias[];
}

/** Reads a page of a table, which ends at `limit` rows or about a megabyte. */
export async function listPage<M extends Model & { seq: string }, T>(
	model: ModelStatic<M>,
	{ where, page, attributes = {}, sorts, besideBytes = '0' }: Listing<M>,
	toRow: (row: M) => T,
): Promise<Listed<T>> {
	const walk = startWalk<M>(model.tableName, page, sorts && { sorts });
	const { key, direction } = walk;
	const order: OrderItem[] = [['seq', direction]];
	const sqlOrder = `${key ? `${key.sql} ${direction}, ` : ''}seq ${direction}`;
	const rows = await model.findAll({
		// The conjunction of two valid conditions is valid; the compiler cannot see it for a generic model.
		where: { [Op.and]: [where, literal(beyond(walk, page))] } as WhereOptions<Attributes<M>>,
		order: key ? [[literal(key.sql), direction], ...order] : order,
		limit: page.limit + 1,
		raw: true,
		attributes: bounded(model, attributes, (bytes) => uptoRow([besideBytes, ...bytes].join(' + '), sqlOrder)),
	});
	return toPage(walk, rows, page, toRow);
}

/** Selects the columns of a page so that those of text and JSON are not sent, nor parsed, for rows beyond its bytes. */
function bounded<M extends Model>(
	model: ModelStatic<M>,
	{ exclude = [], include = [] }: Selection,
	upto: (bytes: string[]) => ReturnType<typeof uptoRow>,
): FindAttributeOptions {
	const long = Object.entries(model.getAttributes()).flatMap(([name, { type, field = name }]) =>
		(type instanceof DataTypes.JSON || type instanceof DataTypes.TEXT) && !exclude.includes(name) ? [{ name, column: `"${field}"` }] : [],
	);
	const { uptoBytes, isWithin } = upto(long.map(({ column }) => bytesOf(column)));
	const cut = long.map(({ name, column }): ProjectionAlias => [literal(`CASE WHEN ${isWithin} THEN ${column} END`), name]);
	return { exclude: [...exclude, ...long.map(({ name }) => name)], include: [...include, ...cut, [literal(uptoBytes), 'uptoBytes']] };
}

/** Returns the condition for rows after the last one. A cursor's `seq` has digits only. */
function beyond<R>({ key, beyond: than, last }: Walk<R>, page: Page): string {
	if (!key) return `seq ${than} ${last.seq}`;
	return page.cursor === undefined ? 'true' : `(${key.sql}, seq) ${than} (${key.literal(last.value)}, ${last.seq})`;
}
