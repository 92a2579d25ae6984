// Reads the request log by its indexes, newest first.

import { invalid } from '../../core/contract/errors.ts';
import type { Analytics, LoggedRequest, RequestFilter } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { lenient } from '../text.ts';
import { LOG_COLUMNS } from './columns.ts';

/** The most lines that are looked at for one page: a filter that matches few lines finds them over several pages. */
export const LOOKED_AT = 5000;
const columns = (payloads: boolean): string =>
	Object.entries(LOG_COLUMNS)
		.map(([field, [column, type]]) => {
			const isLeftOut = !payloads && (PAYLOADS as readonly string[]).includes(field);
			return `${isLeftOut ? 'NULL' : `l.${column}`}${type === 'bigint' ? '::float' : ''} AS "${field}"`;
		})
		.join(', ');
/** Large columns, which lists do not read. */
const PAYLOADS = ['arguments', 'result'] as const satisfies (keyof typeof LOG_COLUMNS)[];

/** Before every line in the order of the list. */
const START: Position = { at: 'infinity', seq: '9223372036854775807' };
const CURSOR = /^requests (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([1-9]\d{0,17})$/;
const AT = `to_char(l.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at`;

/** A place in the list. Times are text here, since a date of JavaScript loses the microseconds. */
interface Position {
	at: string;
	seq: string;
}

type Found = LoggedRequest & Position;

/** Fields with an index of their own, whose lines are walked in order. */
const INDEXED = { toolId: 'tool_id', requestId: 'request_id' } as const;
const OTHERS = {
	...{ kind: 'kind', gatewayId: 'gateway_id', agentId: 'agent_id', providerId: 'provider_id' },
	...{ keyId: 'key_id', userId: 'user_id', client: 'client', outcome: 'outcome' },
} as const;

/** The conditions of a filter: those by which lines are walked, and those that they are compared with one by one. */
class Conditions {
	readonly bind: unknown[];
	readonly walked: string[] = [];
	readonly matched: string[] = [];

	constructor(organizationId: string, from: Position, filter: RequestFilter) {
		this.bind = [uuid(organizationId), from.at, from.seq];
		for (const [name, column] of Object.entries(INDEXED)) this.#equal(this.walked, name, column, filter);
		for (const [name, column] of Object.entries(OTHERS)) this.#equal(this.matched, name, column, filter);
		if (filter.failed === true || (filter.outcome ?? 'success') !== 'success') this.walked.push(`l.outcome <> 'success'`);
		if (filter.failed === false) this.matched.push(`l.outcome = 'success'`);
		if (filter.since) this.walked.push(`l.started_at >= ${this.value(filter.since)}`);
		if (filter.until) this.walked.push(`l.started_at < ${this.value(filter.until)}`);
	}

	value(given: unknown): string {
		return `$${this.bind.push(given)}`;
	}

	#equal(conditions: string[], name: string, column: string, filter: RequestFilter): void {
		const given = filter[name as keyof RequestFilter];
		if (given === undefined) return;
		conditions.push(
			`l.${column} = ${this.value(column.endsWith('_id') && column !== 'request_id' ? uuid(String(given)) : lenient(String(given)))}`,
		);
	}

	/** The second comparison tells the planner which partitions it needs. */
	get walk(): string {
		const conditions = [
			'l.organization_id = $1',
			'(l.started_at, l.seq) < ($2::timestamptz, $3::bigint)',
			'l.started_at <= $2::timestamptz',
		];
		return `FROM request_log l WHERE ${[...conditions, ...this.walked].join(' AND ')} ORDER BY l.started_at DESC, l.seq DESC`;
	}
}

function find(conditions: Conditions, limit: number, payloads = false): string {
	const { walk, matched } = conditions;
	const looked = matched.length === 0 ? limit : LOOKED_AT;
	return `
SELECT ${columns(payloads)}, l.organization_id AS "organizationId", l.started_at AS "startedAt", ${AT}, l.seq
FROM (SELECT * ${walk} LIMIT ${looked}) l ${matched.length === 0 ? '' : `WHERE ${matched.join(' AND ')}`}
ORDER BY l.started_at DESC, l.seq DESC LIMIT ${limit}`;
}

/** The last line that was looked at, if as many were as may be. */
const lastLooked = ({ walk }: Conditions): string => `SELECT ${AT}, l.seq ${walk} OFFSET ${LOOKED_AT - 1} LIMIT 1`;

export function createLog({ ordinary }: Database): Pick<Analytics, 'requests'> {
	const look = (organizationId: string, from: Position, filter: RequestFilter, limit: number): Promise<Found[]> => {
		const conditions = new Conditions(organizationId, from, filter);
		return rows<Found>(ordinary, find(conditions, limit, filter.payloads), conditions.bind);
	};
	/** Looks at the latest days first, since a statement over all of them is planned for longer than it runs. */
	const newest = async (organizationId: string, from: Position, filter: RequestFilter, limit: number): Promise<Found[]> => {
		const since = latestDays(from);
		if (!filter.since || filter.since < since) {
			const found = await look(organizationId, from, { ...filter, since }, limit);
			if (found.length === limit) return found;
		}
		return look(organizationId, from, filter, limit);
	};
	return {
		async requests(organizationId, filter, { limit, cursor }) {
			const from = cursor === undefined ? START : read(cursor);
			const conditions = new Conditions(organizationId, from, filter);
			const found = await newest(organizationId, from, filter, limit + 1);
			const items = found.slice(0, limit);
			const last = items.at(-1);
			const shown = items.map(({ at: _at, seq: _seq, ...row }) => row);
			if (last && found.length > limit) return { items: shown, nextCursor: write(last) };
			if (conditions.matched.length === 0) return { items: shown, nextCursor: null };
			const walk = new Conditions(organizationId, from, walkedOnly(filter));
			const [end] = await rows<Position>(ordinary, lastLooked(walk), walk.bind);
			return { items: shown, nextCursor: end ? write(end) : null };
		},
	};
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns the beginning of the day before a place, or before now. */
function latestDays({ at }: Position): Date {
	const known = Date.parse(at);
	const top = Number.isNaN(known) ? Date.now() : Math.min(known, Date.now());
	return new Date((Math.floor(top / DAY_MS) - 1) * DAY_MS);
}

/** Returns the part of a filter by which lines are walked: each bound value must be used. */
function walkedOnly({ toolId, requestId, since, until, failed, outcome }: RequestFilter): RequestFilter {
	const isFailed = failed === true || (outcome ?? 'success') !== 'success';
	const all = { toolId, requestId, since, until, ...(isFailed && { failed: true }) };
	return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function read(cursor: string): Position {
	const [, at, seq] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
	if (at === undefined || seq === undefined || Number.isNaN(Date.parse(at)) || write({ at, seq }) !== cursor)
		throw invalid('query/cursor', 'cursor must be the nextCursor of a former answer of this list, in the same order.');
	return { at, seq };
}

const write = ({ at, seq }: Position): string => Buffer.from(`requests ${at} ${seq}`).toString('base64url');
