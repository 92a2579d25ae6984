// Ids and pages: what every list and every look-up share.

import { type Attributes, type FindOptions, type Model, type ModelStatic, Op, type WhereOptions } from 'sequelize';
import { type GatewayError, invalid } from '../core/errors.ts';
import type { Listed, Page } from '../core/store.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const NIL = '00000000-0000-0000-0000-000000000000';
/** The greatest bigint. */
const END = '9223372036854775807';

/** What is no UUID names nothing, and so does the nil UUID: the database is asked for a row that is not there. */
export const uuid = (id: string): string => (UUID.test(id) ? id : NIL);

/** One row of one organization. */
export const own = (organizationId: string, id: string): { organizationId: string; id: string } => ({
	organizationId: uuid(organizationId),
	id: uuid(id),
});

/** @returns the `seq` that the cursor of this list stands for */
export function readCursor(list: string, cursor: string): string {
	const [name, seq = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ');
	if (name !== list || !/^[1-9][0-9]{0,17}$/.test(seq) || writeCursor(list, seq) !== cursor) throw badCursor();
	return seq;
}

export const writeCursor = (list: string, seq: string): string => Buffer.from(`${list} ${seq}`, 'latin1').toString('base64url');

const badCursor = (): GatewayError => invalid('query/cursor', 'cursor must be the nextCursor of a former answer of this list.');

/** @param rows one more than the page holds, if there are more */
export function toPage<R extends { seq: string }, T>(list: string, rows: R[], page: Page, toRow: (row: R) => T): Listed<T> {
	const shown = rows.slice(0, page.limit);
	const last = shown.at(-1);
	return { items: shown.map(toRow), nextCursor: last && rows.length > page.limit ? writeCursor(list, last.seq) : null };
}

/** `seq` of the last row that the reader has, 0 before the first page. */
export const after = (list: string, page: Page): string => (page.cursor === undefined ? '0' : readCursor(list, page.cursor));

/** The same where the last row comes first: beyond any `seq` before the first page. */
export const before = (list: string, page: Page): string => (page.cursor === undefined ? END : readCursor(list, page.cursor));

interface Listing<M extends Model> {
	where: WhereOptions<Attributes<M>>;
	page: Page;
	attributes?: FindOptions<Attributes<M>>['attributes'];
}

/** A page of a table in order of creation. */
export async function listPage<M extends Model & { seq: string }, T>(
	model: ModelStatic<M>,
	{ where, page, attributes }: Listing<M>,
	toRow: (row: M) => T,
): Promise<Listed<T>> {
	const list = model.tableName;
	const beyond = { seq: { [Op.gt]: after(list, page) } } as WhereOptions<Attributes<M>>;
	const rows = await model.findAll({
		where: { [Op.and]: [where, beyond] } as WhereOptions<Attributes<M>>,
		order: [['seq', 'ASC']],
		limit: page.limit + 1,
		raw: true,
		...(attributes && { attributes }),
	});
	return toPage(list, rows, page, toRow);
}
