// Adds batches to the request log and to its sums.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { BUCKETS } from '../../core/store/histogram.ts';
import type { AlikeMembers, Lines, OwnNumber } from '../../core/store/lines.ts';
import { clientOf } from '../../core/store/metric-cells.ts';
import type { Analytics, Cell } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { lenient } from '../text.ts';
import { type ColumnType, columnText, fromColumns } from './arrays.ts';
import { ALIKE, LOG_COLUMNS, OWN, SUM_COLUMNS } from './columns.ts';

type Column = readonly [name: string, type: ColumnType];
const GROUP_COLUMNS: readonly Column[] = [['organization_id', 'uuid'], ...ALIKE.map((field): Column => LOG_COLUMNS[field])];
const LINE_COLUMNS: readonly Column[] = [
	['member_of', 'integer'],
	['started_ms', 'bigint'],
	['logs', 'json'],
	...OWN.map((field): Column => LOG_COLUMNS[field]),
];
const STORED = [...ALIKE, ...OWN].map((field) => LOG_COLUMNS[field][0]);

const SUMMED = Object.values(SUM_COLUMNS).map(([column]) => column);

/** Cells are sent as they are: an object made for each would cost more than the statement. */
const SENT = Object.entries(SUM_COLUMNS).map(([field, [, type]]) => `"${field}" ${type}`);
const SENT_SUMS = Object.keys(SUM_COLUMNS).map((field) => `c."${field}"`);

/** The number of the first bound value of lines. */
const FIRST = 4;
const KEY = 'organization_id, resolution, kind, dimension, bucket, value';
const SUMS_ADDED = SUMMED.map((column) => `${column} = m.${column} + excluded.${column}`).join(', ');
const COUNTS_ADDED = Array.from({ length: BUCKETS }, (_, at) => `m.histogram[${at + 1}] + excluded.histogram[${at + 1}]`).join(', ');

/**
 * Everything or nothing, once: a batch that was written before finds its id, and so no organizations. These are locked, so that none is removed
 * before the statement ends; rows of cells in the same order everywhere, so that replicas do not deadlock.
 */
const ADD = `
WITH batch AS (
	INSERT INTO request_batches (id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id
), known AS (
	SELECT o.id FROM organizations o JOIN batch ON true
	WHERE o.id IN (SELECT value::uuid FROM json_array_elements_text($2::json) AS value) ORDER BY o.id FOR KEY SHARE OF o
), logged AS (
	INSERT INTO request_log (organization_id, started_at, logs, ${STORED.join(', ')})
	SELECT known.id, to_timestamp(r.started_ms / 1000.0), r.logs, ${STORED.join(', ')}
	FROM ${fromColumns(LINE_COLUMNS, { alias: 'r', first: FIRST })}
	JOIN ${fromColumns(GROUP_COLUMNS, { alias: 'g', first: FIRST + LINE_COLUMNS.length, numbered: 'number' })} ON g.number = r.member_of
	JOIN known ON known.id = g.organization_id
)
INSERT INTO metrics AS m (${KEY}, ${SUMMED.join(', ')}, histogram, sample)
SELECT known.id, c.resolution, c.kind, c.dimension, to_timestamp(c.bucket / 1000) AS began, c.value, ${SENT_SUMS.join(', ')}, c.histogram, c.sample
FROM json_to_recordset($3::json) AS c ("organizationId" uuid, resolution text, kind text, dimension text, bucket bigint, value text,
	${SENT.join(', ')}, histogram integer[], sample text)
JOIN known ON known.id = c."organizationId"
ORDER BY known.id, c.resolution, c.kind, c.dimension, began, c.value
ON CONFLICT (${KEY}) DO UPDATE SET ${SUMS_ADDED}, histogram = ARRAY[${COUNTS_ADDED}], sample = coalesce(excluded.sample, m.sample)`;

export const createWrites = ({ records }: Database): Pick<Analytics, 'add'> => ({
	async add({ id, lines, cells }) {
		const organizations = [...new Set(cells.map(({ organizationId }) => uuid(organizationId)))];
		const values = [id, JSON.stringify(organizations), JSON.stringify(cells.map(storable)), ...(await columnsOf(lines))];
		await records({ name: 'add-lines', text: ADD, values });
	},
});

/** The number of values that are written before requests have their turn, in whole columns. */
const PIECE = 4000;

/** Returns an array of each column: those of lines, then those of groups. */
async function columnsOf(lines: Lines): Promise<(string | null)[]> {
	const written: (string | null)[] = [];
	const columns = Math.max(1, Math.floor(PIECE / Math.max(1, lines.length)));
	for (let at = 0; at < WRITTEN.length; at += columns) {
		written.push(...WRITTEN.slice(at, at + columns).map(([type, value]) => columnText(lines.length, type, (line) => value(lines, line))));
		await nextTurn();
	}
	const { groups } = lines;
	const ofGroups = (type: ColumnType, value: (group: AlikeMembers) => string | number | null): string | null =>
		columnText(groups.length, type, (at) => value(groups[at] as AlikeMembers));
	return [
		...written,
		ofGroups('uuid', ({ organizationId }) => organizationId),
		...ALIKE.map((field) => ofGroups(LOG_COLUMNS[field][1], field === 'client' ? clientOf : (group) => group[field])),
	];
}

type ValueAt = (lines: Lines, at: number) => string | number | null | undefined;

const numberAt =
	(name: OwnNumber): ValueAt =>
	({ numbers }, at) => {
		const value = numbers[name][at] as number;
		if (Number.isNaN(value)) return null;
		// A thousandth of a millisecond is precise enough.
		return name.endsWith('Ms') ? Math.round(value * 1000) / 1000 : value;
	};

function valueAtOf(field: (typeof OWN)[number]): ValueAt {
	if (field === 'requestId') return ({ requestId }, at) => requestId[at];
	if (field === 'arguments' || field === 'result') return ({ texts }, at) => texts.get(at)?.[field];
	return numberAt(field);
}

/** The columns of lines, in their order. */
const WRITTEN: readonly (readonly [type: ColumnType, value: ValueAt])[] = [
	// PostgreSQL counts from 1.
	['integer', ({ groupOf }, at) => (groupOf[at] as number) + 1],
	['bigint', ({ startedAt }, at) => startedAt[at]],
	[
		'json',
		({ texts }, at) => {
			const logs = texts.get(at)?.logs;
			return logs && JSON.stringify(logs);
		},
	],
	...OWN.map((field) => [LOG_COLUMNS[field][1], valueAtOf(field)] as const),
];

/** Returns a cell whose text PostgreSQL can store. */
function storable(cell: Cell): Cell {
	const { organizationId, value, sample } = cell;
	const stored = { organizationId: uuid(organizationId), value: lenient(value), sample: sample && lenient(sample) };
	const isSame = stored.organizationId === organizationId && stored.value === value && stored.sample === sample;
	return isSame ? cell : { ...cell, ...stored };
}
