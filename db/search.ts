// Searches lists for words.

import pg from 'pg';
import { literal, Op, type WhereOptions } from 'sequelize';
import { invalid } from '../core/contract/errors.ts';

const MOST_WORDS = 10;

/**
 * Builds a condition for `where`: each word is in one of the columns, which are SQL. No index serves it: one for parts of words needs an
 * extension that not every server has, and an organization's rows are read in milliseconds.
 * @throws validation_failed
 */
export function search(q: string | undefined, columns: string[]): WhereOptions {
	const words = (q ?? '').split(/\s+/).filter((word) => word !== '');
	if (words.length === 0) return {};
	if (words.length > MOST_WORDS) throw invalid('query/q', `q must hold at most ${MOST_WORDS} words.`);
	if (q?.includes('\0')) throw invalid('query/q', 'q must not contain the NUL character (U+0000).');
	return { [Op.and]: words.map((word) => literal(`(${columns.map(holding(word)).join(' OR ')})`)) };
}

function holding(word: string): (column: string) => string {
	const pattern = pg.escapeLiteral(`%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
	return (column) => `fold(${column}) LIKE fold(${pattern})`;
}
