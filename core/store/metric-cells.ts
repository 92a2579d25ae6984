// Sums the lines of a batch into the cells that are kept: per organization, kind, dimension, value and bucket of time, in bounded number.

import { BoundedMap } from '../kit/bounded-map.ts';
import type { Cell, Dimension, RequestRow, Resolution } from './analytics.ts';
import { BUCKETS, bucketOf } from './histogram.ts';

const MINUTE_MS = 60_000;
const LENGTHS: Record<Resolution, number> = { live: 5000, minute: MINUTE_MS, hour: 60 * MINUTE_MS, day: 24 * 60 * MINUTE_MS };

/** The most values of a dimension that one process counts for an organization in a day; further ones are counted together. */
const MOST: Record<Dimension, number> = { '': 1, gateway: 200, tool: 500, agent: 200, provider: 100, key: 500, client: 100, error: 500 };
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
	if (clientInfo)
		return clientInfo
			.replace(/\/[^/]*$/, '')
			.toLowerCase()
			.slice(0, MAX_CLIENT);
	const product = userAgent?.trim().split(/[\s/]/, 1)[0]?.toLowerCase() ?? '';
	return product === '' ? 'unknown' : product.slice(0, MAX_CLIENT);
}

/** The values that this process has counted today. */
export class KnownValues {
	readonly #known = new BoundedMap<string, Map<Dimension, Set<string>>>(ORGANIZATIONS);

	/** Returns the value itself, or that of the others when there are as many as may be. */
	admit(organizationId: string, day: number, dimension: Dimension, value: string): string {
		const key = `${organizationId} ${day}`;
		const ofDay = this.#known.get(key) ?? new Map<Dimension, Set<string>>();
		if (ofDay.size === 0) this.#known.set(key, ofDay);
		const values = ofDay.get(dimension) ?? new Set();
		if (values.size === 0) ofDay.set(dimension, values);
		if (values.has(value)) return value;
		if (values.size >= MOST[dimension]) return OTHERS;
		values.add(value);
		return value;
	}
}

/** Returns the cells to which these lines add. @param lost the number of lost lines by organization */
export function cellsOf(rows: readonly RequestRow[], lost: ReadonlyMap<string, number>, known: KnownValues, nowMs: number): Cell[] {
	const live = new Map<string, Cell>();
	const minutes = new Map<string, Cell>();
	for (const row of rows) {
		count(cellAt(live, row, { resolution: 'live', dimension: '', value: '' }), row);
		for (const [dimension, value] of valuesOf(row)) {
			const admitted = dimension === '' ? '' : known.admit(row.organizationId, bucketAt('day', row.startedAt), dimension, value);
			const cell = cellAt(minutes, row, { resolution: 'minute', dimension, value: admitted });
			count(cell, row);
			if (dimension === 'error' && !row.isOnlyCounted) cell.sample = row.requestId ?? cell.sample;
		}
	}
	for (const [organizationId, count] of lost) {
		const row = { organizationId, kind: 'gateway' as const, startedAt: nowMs };
		cellAt(minutes, row, { resolution: 'minute', dimension: '', value: '' }).lost += count;
	}
	const hours = summed(minutes.values(), 'hour');
	return [...live.values(), ...minutes.values(), ...hours, ...summed(hours, 'day')];
}

type Keyed = Pick<RequestRow, 'organizationId' | 'kind' | 'startedAt'>;

function cellAt(cells: Map<string, Cell>, row: Keyed, of: Pick<Cell, 'resolution' | 'dimension' | 'value'>): Cell {
	return cellIn(cells, { organizationId: row.organizationId, kind: row.kind, bucket: bucketAt(of.resolution, row.startedAt), ...of });
}

function cellIn(
	cells: Map<string, Cell>,
	of: Pick<Cell, 'organizationId' | 'kind' | 'bucket' | 'resolution' | 'dimension' | 'value'>,
): Cell {
	const key = `${of.organizationId} ${of.kind} ${of.dimension} ${of.bucket} ${of.value}`;
	const cell = cells.get(key) ?? emptyCell(of);
	cells.set(key, cell);
	return cell;
}

const emptyCell = (of: Pick<Cell, 'organizationId' | 'kind' | 'bucket' | 'resolution' | 'dimension' | 'value'>): Cell => ({
	...of,
	...{ calls: 0, failed: 0, lost: 0, durationMs: 0, upstreamMs: 0, waitingMs: 0, bytesIn: 0, bytesOut: 0 },
	...{ inputTokens: 0, outputTokens: 0, cachedTokens: 0, costMicroUsd: 0, unpriced: 0 },
	histogram: new Array<number>(BUCKETS).fill(0),
	sample: null,
});

function* valuesOf(row: RequestRow): Generator<[Dimension, string]> {
	yield ['', ''];
	if (row.gatewayId !== null) yield ['gateway', row.gatewayId];
	if (row.toolId !== null) yield ['tool', row.toolId];
	if (row.agentId !== null) yield ['agent', row.agentId];
	if (row.providerId !== null) yield ['provider', row.providerId];
	if (row.caller !== null) yield ['key', row.caller.slice(0, MAX_VALUE)];
	yield ['client', clientOf(row)];
	if (row.outcome !== 'success') yield ['error', `${row.outcome} ${targetOf(row) ?? ''}`.slice(0, MAX_VALUE)];
}

/** Returns the id of what failed. */
const targetOf = ({ kind, gatewayId, toolId, agentId, providerId }: RequestRow): string | null =>
	({ gateway: gatewayId, tool: toolId, agent: agentId, model: providerId })[kind];

function count(cell: Cell, row: RequestRow): void {
	cell.calls++;
	if (row.outcome !== 'success') cell.failed++;
	cell.durationMs += row.durationMs;
	cell.upstreamMs += row.upstreamMs ?? 0;
	cell.waitingMs += row.waitingMs ?? 0;
	cell.bytesIn += row.bytesIn ?? 0;
	cell.bytesOut += row.bytesOut ?? 0;
	cell.inputTokens += row.inputTokens ?? 0;
	cell.outputTokens += row.outputTokens ?? 0;
	cell.cachedTokens += row.cachedTokens ?? 0;
	cell.costMicroUsd += row.costMicroUsd ?? 0;
	if (row.kind === 'model' && row.costMicroUsd === null) cell.unpriced++;
	const bucket = bucketOf(row.durationMs);
	if (!row.isOpenEnded) cell.histogram[bucket] = (cell.histogram[bucket] ?? 0) + 1;
}

const NUMBERS = [
	...['calls', 'failed', 'lost', 'durationMs', 'upstreamMs', 'waitingMs', 'bytesIn', 'bytesOut'],
	...['inputTokens', 'outputTokens', 'cachedTokens', 'costMicroUsd', 'unpriced'],
] as readonly (keyof { [K in keyof Cell as Cell[K] extends number ? K : never]: 0 } & keyof Cell)[];

/** Sums cells into longer buckets. */
function summed(cells: Iterable<Cell>, resolution: Resolution): Cell[] {
	const sums = new Map<string, Cell>();
	for (const cell of cells) {
		const { organizationId, kind, dimension, value, bucket } = cell;
		const sum = cellIn(sums, { organizationId, kind, dimension, value, resolution, bucket: bucketAt(resolution, bucket) });
		for (const name of NUMBERS) (sum[name] as number) += cell[name] as number;
		for (const [at, count] of cell.histogram.entries()) sum.histogram[at] = (sum.histogram[at] ?? 0) + count;
		sum.sample = cell.sample ?? sum.sample;
	}
	return [...sums.values()];
}
