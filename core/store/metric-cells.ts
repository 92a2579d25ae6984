// Sums the lines of a batch into the cells that are kept: per organization, kind, dimension, value and bucket of time, in bounded number.

import { BoundedMap } from '../kit/bounded-map.ts';
import type { AnswerSize, Cell, Dimension, RequestRow, Resolution } from './analytics.ts';
import { BUCKETS, bucketOf } from './histogram.ts';
import type { LineGroup } from './lines.ts';

const MINUTE_MS = 60_000;
const LENGTHS: Record<Resolution, number> = { live: 5000, minute: MINUTE_MS, hour: 60 * MINUTE_MS, day: 24 * 60 * MINUTE_MS };

/**
 * The most values of a dimension that one process counts for an organization in a day; further ones are counted together. A known value takes
 * about 90 bytes, so those of the tools at most 180 kB. Their cells, of about 1.1 kB each, are bounded by the groups of a batch and not by this. The
 * bound of tools is what one statement can still sum over a year of days: nothing is told of a tool beyond it, neither in lists nor by alerts.
 */
const MOST: Record<Dimension, number> = {
	...{ '': 1, gateway: 200, tool: 2000, agent: 200, provider: 100, key: 500, client: 100, error: 500 },
	...{ answer: 1000, field: 5000 },
};
/** The value of all that are counted together. */
export const OTHERS = '*';
/** Organizations whose values are known at a time. */
const ORGANIZATIONS = 10_000;
const MAX_VALUE = 200;
const MAX_CLIENT = 64;

/** Returns the beginning of the bucket of a time. */
export const bucketAt = (resolution: Resolution, atMs: number): number => atMs - (atMs % LENGTHS[resolution]);
export const lengthOf = (resolution: Resolution): number => LENGTHS[resolution];

/** Returns the program of a client: the name that it gave, or the first product of its user agent without the version (RFC 9110 §10.1.5). */
export function clientOf({ clientInfo, userAgent }: Pick<RequestRow, 'clientInfo' | 'userAgent'>): string {
	if (clientInfo) return storedOf(clientInfo.replace(/\/[^/]*$/, '').toLowerCase(), MAX_CLIENT);
	const product = userAgent?.trim().split(/[\s/]/, 1)[0]?.toLowerCase() ?? '';
	return product === '' ? 'unknown' : storedOf(product, MAX_CLIENT);
}

/** Cuts a text, and makes it what PostgreSQL stores of it: two values that are one there would be one row that is written twice. */
const storedOf = (text: string, most: number): string => text.slice(0, most).toWellFormed().replaceAll('\0', '');

type ValuesOfDay = Map<Dimension, Set<string>>;

/** The values that this process has counted today. */
export class KnownValues {
	readonly #known = new BoundedMap<string, ValuesOfDay>(ORGANIZATIONS);

	/** Returns the known values of an organization and a day. */
	of(organizationId: string, day: number): ValuesOfDay {
		const key = `${organizationId} ${day}`;
		const found = this.#known.get(key) ?? new Map<Dimension, Set<string>>();
		if (found.size === 0) this.#known.set(key, found.set('', new Set()));
		return found;
	}
}

/** Returns the value itself, or that of the others when there are as many as may be, or it is not known and may not be added. */
function admitted(ofDay: ValuesOfDay, dimension: Dimension, value: string, mayAdd = true): string {
	if (dimension === '') return value;
	const values = ofDay.get(dimension) ?? new Set();
	if (values.has(value)) return value;
	if (!mayAdd || values.size >= MOST[dimension]) return OTHERS;
	ofDay.set(dimension, values.add(value));
	return value;
}

type Keyed = Pick<Cell, 'organizationId' | 'kind' | 'bucket' | 'resolution'>;

/** The cells of one organization, kind and bucket. */
class Bucketful {
	readonly #of: Keyed;
	readonly #onMade: () => void;
	readonly #cells = new Map<Dimension, Map<string, Cell>>();

	/** @param onMade is called for each new cell */
	constructor(of: Keyed, onMade: () => void) {
		this.#of = of;
		this.#onMade = onMade;
	}

	cell(dimension: Dimension, value: string): Cell {
		return this.#cells.get(dimension)?.get(value) ?? this.#made(dimension, value);
	}

	#made(dimension: Dimension, value: string): Cell {
		const cells = this.#cells.get(dimension) ?? new Map<string, Cell>();
		const cell = emptyCell({ ...this.#of, dimension, value });
		this.#cells.set(dimension, cells.set(value, cell));
		this.#onMade();
		return cell;
	}

	*[Symbol.iterator](): Generator<Cell> {
		for (const cells of this.#cells.values()) yield* cells.values();
	}
}

/** The cells of one resolution. A line looks for its bucket once, however many cells it adds to. */
class Cells {
	readonly #resolution: Resolution;
	readonly #buckets = new Map<string, Bucketful>();
	count = 0;

	constructor(resolution: Resolution) {
		this.#resolution = resolution;
	}

	at({ organizationId, kind }: Pick<RequestRow, 'organizationId' | 'kind'>, atMs: number): Bucketful {
		const bucket = bucketAt(this.#resolution, atMs);
		const key = `${organizationId} ${kind} ${bucket}`;
		const found = this.#buckets.get(key);
		if (found) return found;
		const made = new Bucketful({ organizationId, kind, bucket, resolution: this.#resolution }, () => void this.count++);
		this.#buckets.set(key, made);
		return made;
	}

	/** Adds the sums of shorter buckets. */
	add(cells: Iterable<Cell>): this {
		for (const cell of cells) {
			const sum = this.at(cell, cell.bucket).cell(cell.dimension, cell.value);
			merge(sum, cell);
			sum.sample = cell.sample ?? sum.sample;
		}
		return this;
	}

	*[Symbol.iterator](): Generator<Cell> {
		for (const bucket of this.#buckets.values()) yield* bucket;
	}
}

/** The sum of the lines of one group and one shortest bucket of time, added once to their cells, however many these are. */
interface Tally {
	live: number;
	sum: Cell;
	cells: readonly Cell[];
	/** The cell of their answers; null before the first one. */
	answer: Cell | null;
}

/** The sums of a batch. */
export class Sums {
	readonly #known: KnownValues;
	readonly #live = new Cells('live');
	readonly #minutes = new Cells('minute');
	readonly #hours = new Cells('hour');
	readonly #tallies = new Map<LineGroup, Tally[]>();

	constructor(known: KnownValues) {
		this.#known = known;
	}

	add(row: RequestRow, group: LineGroup): void {
		const live = bucketAt('live', row.startedAt);
		const tally = this.#tallies.get(group)?.find((one) => one.live === live) ?? this.#begin(row, group, live);
		count(tally.sum, row);
		if (!row.isOnlyCounted) tally.sum.sample = row.requestId ?? tally.sum.sample;
		if (row.answer) this.#countAnswer(row, row.answer, tally);
	}

	/** The number of the cells to which the lines add, or somewhat more: each minute as if it were alone in its hour and day. */
	get count(): number {
		return this.#live.count + 3 * this.#minutes.count + 2 * this.#hours.count;
	}

	/** Returns the cells to which the lines add, once. @param lost the number of lost lines by organization */
	cells(lost: ReadonlyMap<string, number>, nowMs: number): Cell[] {
		const [live, minutes, hours] = [this.#live, this.#minutes, this.#hours];
		for (const tallies of this.#tallies.values()) for (const tally of tallies) addTo(tally);
		for (const [organizationId, count] of lost) minutes.at({ organizationId, kind: 'gateway' }, nowMs).cell('', '').lost += count;
		hours.add(minutes);
		return [...live, ...minutes, ...hours, ...new Cells('day').add(hours)];
	}

	#begin(row: RequestRow, group: LineGroup, live: number): Tally {
		const { organizationId, kind } = row;
		const sum = emptyCell({ organizationId, kind, bucket: 0, resolution: 'live', dimension: '', value: '' });
		const cells = cellsFor(row, this.#known, { live: this.#live, minutes: this.#minutes });
		const tally = { live, sum, cells, answer: null };
		this.#tallies.set(group, [...(this.#tallies.get(group) ?? []), tally]);
		return tally;
	}

	/** Counts the size of an answer, and of its fields, in tokens and characters: by the hour and by the day, since nobody asks for less. */
	#countAnswer(row: RequestRow, { tokens, fields }: AnswerSize, tally: Tally): void {
		const of = `${row.gatewayId} ${row.toolId}`;
		const cell = (dimension: Dimension, value: string): Cell =>
			this.#hours.at(row, row.startedAt).cell(dimension, admitted(ofDayOf(row, this.#known), dimension, value));
		tally.answer ??= cell('answer', of);
		tally.answer.calls++;
		tally.answer.outputTokens += tokens;
		fall(tally.answer, tokens);
		for (const [path, chars] of fields ?? []) {
			const field = cell('field', storedOf(`${of} ${path}`, MAX_VALUE));
			field.calls++;
			field.bytesOut += chars;
		}
	}
}

const ofDayOf = ({ organizationId, startedAt }: RequestRow, known: KnownValues): ValuesOfDay =>
	known.of(organizationId, bucketAt('day', startedAt));

function addTo({ sum, cells }: Tally): void {
	for (const cell of cells) {
		merge(cell, sum);
		if (cell.dimension === 'error') cell.sample = sum.sample ?? cell.sample;
	}
}

/**
 * Returns the cells to which a line adds. A request whose caller was not admitted makes no client known, since whoever is refused may name
 * as many as they like, which would leave none for the day to those who are admitted.
 */
function cellsFor(row: RequestRow, known: KnownValues, { live, minutes }: { live: Cells; minutes: Cells }): Cell[] {
	const bucket = minutes.at(row, row.startedAt);
	const ofDay = ofDayOf(row, known);
	const isOfNobody = row.kind === 'gateway' && row.method === null;
	const added = valuesOf(row).map(([dimension, value]) =>
		bucket.cell(dimension, admitted(ofDay, dimension, value, dimension !== 'client' || !isOfNobody)),
	);
	return [live.at(row, row.startedAt).cell('', ''), ...added];
}

const emptyCell = (of: Pick<Cell, 'organizationId' | 'kind' | 'bucket' | 'resolution' | 'dimension' | 'value'>): Cell => ({
	...of,
	...{ calls: 0, failed: 0, lost: 0, durationMs: 0, upstreamMs: 0, waitingMs: 0, bytesIn: 0, bytesOut: 0 },
	...{ inputTokens: 0, outputTokens: 0, cachedTokens: 0, costMicroUsd: 0, unpriced: 0 },
	histogram: new Array<number>(BUCKETS).fill(0),
	sample: null,
});

function valuesOf(row: RequestRow): [Dimension, string][] {
	const values: [Dimension, string][] = [['', '']];
	if (row.gatewayId !== null) values.push(['gateway', row.gatewayId]);
	if (row.toolId !== null) values.push(['tool', row.toolId]);
	if (row.agentId !== null) values.push(['agent', row.agentId]);
	if (row.providerId !== null) values.push(['provider', row.providerId]);
	if (row.caller !== null) values.push(['key', storedOf(row.caller, MAX_VALUE)]);
	values.push(['client', clientOf(row)]);
	if (row.outcome !== 'success') values.push(['error', storedOf(`${row.outcome} ${targetOf(row) ?? ''}`, MAX_VALUE)]);
	return values;
}

/** Returns the id of what failed. */
function targetOf({ kind, gatewayId, toolId, agentId, providerId }: RequestRow): string | null {
	if (kind === 'gateway') return gatewayId;
	if (kind === 'tool') return toolId;
	return kind === 'agent' ? agentId : providerId;
}

function count(cell: Cell, row: RequestRow): void {
	cell.calls++;
	if (row.outcome !== 'success') cell.failed++;
	cell.upstreamMs += row.upstreamMs ?? 0;
	cell.waitingMs += row.waitingMs ?? 0;
	cell.bytesIn += row.bytesIn ?? 0;
	cell.bytesOut += row.bytesOut ?? 0;
	cell.inputTokens += row.inputTokens ?? 0;
	cell.outputTokens += row.outputTokens ?? 0;
	cell.cachedTokens += row.cachedTokens ?? 0;
	cell.costMicroUsd += row.costMicroUsd ?? 0;
	if (row.kind === 'model' && row.costMicroUsd === null) cell.unpriced++;
	if (row.isOpenEnded) return;
	cell.durationMs += row.durationMs;
	fall(cell, row.durationMs);
}

function fall(cell: Cell, size: number): void {
	const bucket = bucketOf(size);
	cell.histogram[bucket] = (cell.histogram[bucket] ?? 0) + 1;
}

const NUMBERS = [
	...['calls', 'failed', 'lost', 'durationMs', 'upstreamMs', 'waitingMs', 'bytesIn', 'bytesOut'],
	...['inputTokens', 'outputTokens', 'cachedTokens', 'costMicroUsd', 'unpriced'],
] as readonly (keyof { [K in keyof Cell as Cell[K] extends number ? K : never]: 0 } & keyof Cell)[];

/** Adds the numbers of a cell to another. */
function merge(sum: Cell, cell: Cell): void {
	for (const name of NUMBERS) (sum[name] as number) += cell[name] as number;
	for (let at = 0; at < BUCKETS; at++) sum.histogram[at] = (sum.histogram[at] ?? 0) + (cell.histogram[at] ?? 0);
}
