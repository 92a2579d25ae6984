// Steps and signals as they are read: with as many of their outputs as one statement reads well, since one may have megabytes, and a run thousands.

import type { Json } from '../../core/contract/nouns.ts';
import type { ReadStep, Run, RunSignal, RunStep, StepsAsked } from '../../core/store/store.ts';
import type { RunPool } from './pool.ts';

/** The stored bytes of outputs that are read: of each, and of all in the order in which their steps began. */
interface Bounds {
	each: number;
	all: number;
}

const MIB = 1024 * 1024;
/** Larger outputs are shown in part at most, and whole when they are asked for by their key. */
const SHOWN: Bounds = { each: MIB / 4, all: 8 * MIB };
const NONE: Bounds = { each: -1, all: 0 };
/** A statement that reads so much stays well within its time; one output may be larger. */
const BATCH_BYTES = 4 * MIB;
const WHOLE = 2 ** 31 - 1;

// The size is known without reading the output.
const STEPS = `
SELECT s.key, s.attempt, s.status, s.once, s.error, s.until, s.started_at AS "startedAt", s.finished_at AS "finishedAt", s.size,
	CASE WHEN s.fits THEN s.output END AS output, NOT s.fits AS "isLeftOut"
FROM (
	SELECT o.*, o.size <= $3 AND sum(o.size) FILTER (WHERE o.size <= $3) OVER (ORDER BY o.started_at, o.key) <= $4 AS fits
	FROM (
		SELECT *, coalesce(pg_column_size(output), 0) AS size FROM run_steps
		WHERE organization_id = $1 AND run_id = $2 AND ($5::text[] IS NULL OR key = ANY($5))
	) AS o
) AS s ORDER BY s.started_at, s.key`;

/** Runs a statement that only reads. */
export type Reads = RunPool['rows'];

/** Reads steps for those who follow a run. */
export const stepsOf = (
	reads: Reads,
	{ organizationId, id }: Pick<Run, 'organizationId' | 'id'>,
	asked: StepsAsked,
): Promise<ReadStep[]> => {
	const bounds = asked.keys ? { each: WHOLE, all: Number.MAX_SAFE_INTEGER } : asked.outputs === false ? NONE : SHOWN;
	return reads<ReadStep>(STEPS, [organizationId, id, bounds.each, bounds.all, asked.keys ?? null]);
};

/** Reads all steps whole, some megabytes at a time. Nobody writes one meanwhile, and a run that is removed meanwhile loses them. */
export async function wholeSteps(
	reads: Reads,
	place: Pick<Run, 'organizationId' | 'id'>,
): Promise<{ steps: RunStep[]; keptChars: number }> {
	const first = await reads<ReadStep>(STEPS, [place.organizationId, place.id, WHOLE, BATCH_BYTES, null]);
	const steps = first.filter(({ isLeftOut }) => !isLeftOut);
	for (const keys of batches(first.filter(({ isLeftOut }) => isLeftOut))) steps.push(...(await stepsOf(reads, place, { keys })));
	return { steps, keptChars: first.reduce((sum, { size }) => sum + size, 0) };
}

const SIGNALS = `
SELECT name AS key, size, CASE WHEN fits THEN payload END AS payload, NOT fits AS "isLeftOut"
FROM (
	SELECT *, sum(size) OVER (ORDER BY name) <= $2 AS fits
	FROM (SELECT name, payload, pg_column_size(payload) AS size FROM run_signals WHERE run_id = $1 AND ($3::text[] IS NULL OR name = ANY($3))) AS o
) AS s`;

/** Reads all signals of a run whole, some megabytes at a time: the end of a child brings its output. */
export async function wholeSignals(reads: Reads, runId: string): Promise<RunSignal[]> {
	const read = (bytes: number, names: string[] | null) =>
		reads<{ key: string; size: number; payload: Json; isLeftOut: boolean }>(SIGNALS, [runId, bytes, names]);
	const first = await read(BATCH_BYTES, null);
	const all = first.filter(({ isLeftOut }) => !isLeftOut);
	for (const names of batches(first.filter(({ isLeftOut }) => isLeftOut))) all.push(...(await read(Number.MAX_SAFE_INTEGER, names)));
	return all.map(({ key: name, payload }) => ({ name, payload }));
}

/** Returns the keys of what is read together. */
function batches(steps: readonly Pick<ReadStep, 'key' | 'size'>[]): string[][] {
	const all: string[][] = [];
	let bytes = Number.POSITIVE_INFINITY;
	for (const { key, size } of steps) {
		bytes += size;
		if (bytes > BATCH_BYTES) {
			all.push([]);
			bytes = size;
		}
		all.at(-1)?.push(key);
	}
	return all;
}
