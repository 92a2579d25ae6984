// Writes the request log and its sums in batches, after the answer was sent: a call never waits for its line, and none fails for it.

import { randomUUID } from 'node:crypto';
import { asGatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { TimeSlice } from '../kit/time-slice.ts';
import type { Analytics, RequestBatch, RequestRow } from './analytics.ts';
import { KnownValues, Sums } from './metric-cells.ts';
import { PayloadShare, payloadChars } from './payload-share.ts';

/** A process that is killed loses the lines of this time, and those that it was just writing. */
const FLUSH_MS = 500;
/** The most lines of one write. As many do not wait for the time. */
export const BATCH = 1000;
/** The most lines that are summed at a time, and the time in which further ones are, before requests have their turn. */
const [PIECE, SLICE_MS] = [50, 0.5];
/** The number of lines held while the database is away; beyond it the oldest are dropped, and counted. */
const HELD = 20_000;
/** The most characters of arguments and results in one write. */
const MAX_BATCH_CHARS = 1024 * 1024;

export class RequestLog {
	readonly #analytics: Pick<Analytics, 'add'>;
	readonly #log: Log;
	readonly #timer: NodeJS.Timeout;
	readonly #known = new KnownValues();
	readonly #payloads = new PayloadShare();
	#pending: RequestRow[] = [];
	/** The write that was not confirmed: it is repeated unchanged, since it may have taken effect. */
	#unconfirmed: RequestBatch | null = null;
	#lost = new Map<string, number>();
	#writing: Promise<void> | null = null;

	constructor(analytics: Pick<Analytics, 'add'>, log: Log) {
		this.#analytics = analytics;
		this.#log = log;
		this.#timer = setInterval(() => this.#flush(), FLUSH_MS).unref();
	}

	add(row: RequestRow): void {
		this.#payloads.admit(row);
		const waiting = this.#pending.push(row);
		if (waiting > HELD) this.#lose(this.#take(BATCH), 'the database is unavailable');
		else if (waiting === BATCH) this.#flush();
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#writing;
		this.#flush();
		await this.#writing;
	}

	#flush(): void {
		if (this.#writing || (this.#pending.length === 0 && !this.#unconfirmed)) return;
		this.#writing = this.#write().finally(() => {
			this.#writing = null;
		});
	}

	async #write(): Promise<void> {
		for (let batch = await this.#next(); batch; batch = await this.#next()) {
			try {
				await this.#analytics.add(batch);
			} catch (error) {
				if (asGatewayError(error)?.code === 'unavailable') {
					this.#log.warn(
						{ error: String(error), held: this.#pending.length + batch.rows.length },
						'the request log could not be written yet',
					);
					return;
				}
				this.#log.error({ error: String(error) }, 'lines of the request log cannot be written');
				this.#lose(batch.rows, 'they cannot be written');
			}
			this.#unconfirmed = null;
		}
	}

	async #next(): Promise<RequestBatch | null> {
		if (this.#unconfirmed) return this.#unconfirmed;
		const rows = this.#take(batchLength(this.#pending));
		if (rows.length === 0) return null;
		const sums = new Sums(this.#known);
		const slice = new TimeSlice(SLICE_MS);
		for (let at = 0; at < rows.length; at += PIECE) {
			sums.add(rows.slice(at, at + PIECE));
			if (slice.isOverNow) await slice.next();
		}
		const lost = this.#lost;
		this.#lost = new Map();
		this.#unconfirmed = { id: randomUUID(), rows, cells: sums.cells(lost, Date.now()) };
		return this.#unconfirmed;
	}

	#take(count: number): RequestRow[] {
		const rows = this.#pending.splice(0, count);
		this.#payloads.release(rows);
		return rows;
	}

	/** Counts lines that are given up; the next write tells their organizations. */
	#lose(rows: readonly RequestRow[], reason: string): void {
		for (const { organizationId } of rows) this.#lost.set(organizationId, (this.#lost.get(organizationId) ?? 0) + 1);
		this.#log.error({ lost: rows.length }, `lines of the request log were dropped: ${reason}`);
	}
}

/** Returns how many of these lines are one write: at least one. */
function batchLength(rows: readonly RequestRow[]): number {
	let chars = 0;
	for (const [at, row] of rows.entries()) {
		chars += payloadChars(row);
		if (at === BATCH || (at > 0 && chars > MAX_BATCH_CHARS)) return at;
	}
	return rows.length;
}
