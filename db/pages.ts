// Ids and pages, shared by all lists and look-ups.

import { type Attributes, type FindOptions, literal, type Model, type ModelStatic, Op, type OrderItem, type WhereOptions } from 'sequelize';
import { type GatewayError, invalid } from '../core/contract/errors.ts';
import type { Listed, Page } from '../core/store/store.ts';
import type { SortKey, SortKeys } from './sorts.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const NIL = '00000000-0000-0000-0000-000000000000';
/** The greatest bigint. */
const END = '9223372036854775807';

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
	return invalid('query/sort', `sort must be one of ${known.join(', ')}.`);
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

/** @param rows one more than the page holds, if there are more */
export function toPage<R extends { seq: string }, T>(walk: Walk<R>, rows: R[], page: Page, toRow: (row: R) => T): Listed<T> {
	const shown = rows.slice(0, page.limit);
	const last = shown.at(-1);
	const hasMore = last !== undefined && rows.length > page.limit;
	return {
		items: shown.map(toRow),
		nextCursor: hasMore ? writeCursor(walk.name, { seq: last.seq, value: walk.key?.read(last) ?? '' }) : null,
	};
}

interface Listing<M extends Model> {
	where: WhereOptions<Attributes<M>>;
	page: Page;
	attributes?: FindOptions<Attributes<M>>['attributes'];
	sorts?: SortKeys<M>;
}

/** Reads a page of a table. */
export async function listPage<M extends Model & { seq: string }, T>(
	model: ModelStatic<M>,
	{ where, page, attributes, sorts }: Listing<M>,
	toRow: (row: M) => T,
): Promise<Listed<T>> {
	const walk = startWalk<M>(model.tableName, page, sorts && { sorts });
	const { key, direction } = walk;
	const order: OrderItem[] = [['seq', direction]];
	const rows = await model.findAll({
		// The conjunction of two valid conditions is valid; the compiler cannot see it for a generic model.
		where: { [Op.and]: [where, literal(beyond(walk, page))] } as WhereOptions<Attributes<M>>,
		order: key ? [[literal(key.sql), direction], ...order] : order,
		limit: page.limit + 1,
		raw: true,
		...(attributes && { attributes }),
	});
	return toPage(walk, rows, page, toRow);
}

/** Returns the condition for rows after the last one. A cursor's `seq` has digits only. */
function beyond<R>({ key, beyond: than, last }: Walk<R>, page: Page): string {
	if (!key) return `seq ${than} ${last.seq}`;
	return page.cursor === undefined ? 'true' : `(${key.sql}, seq) ${than} (${key.literal(last.value)}, ${last.seq})`;
}
