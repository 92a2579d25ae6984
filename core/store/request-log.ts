// Writes the request log and its sums in batches, after the answer was sent: a call never waits for its line, and none fails for it.

import { randomUUID } from 'node:crypto';
import { asGatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import type { Analytics, RequestBatch, RequestRow } from './analytics.ts';
import { LineGroups, Lines } from './lines.ts';
import { KnownValues, Sums } from './metric-cells.ts';
import { PayloadShare, payloadChars } from './payload-share.ts';

/** A process that is killed loses the lines of this time, and those that it was just writing. */
const FLUSH_MS = 500;
/** The most lines of one write. As many do not wait for the time. */
export const BATCH = 4000;
/** The most groups of one write, each of which has sums of its own. */
const MAX_GROUPS = 500;
/** So many cells are added up and written as JSON in one go in about 15 ms. A measured answer has up to 60. */
export const MAX_CELLS = 3000;
/** The number of lines held while the database is away; beyond it the oldest are dropped, and counted. */
const HELD = 20_000;
/** The most characters of arguments and results in one write. */
const MAX_BATCH_CHARS = 1024 * 1024;

/** The most characters of a user agent, as in the audit log: a header has up to 16 kB, and whoever is refused leaves lines, too. */
const MAX_USER_AGENT = 300;

/** The numbers that clients, upstreams and providers tell. */
const TOLD = ['bytesIn', 'bytesOut', 'inputTokens', 'outputTokens', 'cachedTokens'] as const;
/** The most of each in a line: all lines of a day add up to less than PostgreSQL's bigint holds, so that none keeps its batch from being written. */
const MAX_TOLD = 2 ** 32;
const bounded = (told: number | null): number | null =>
	Number.isSafeInteger(told) && Number(told) >= 0 ? Math.min(Number(told), MAX_TOLD) : null;

/** Lines that are written together, summed and put into columns as they come. */
export class Batch {
	readonly #groups = new LineGroups();
	readonly #lines = new Lines();
	readonly #sums: Sums;
	/** The number of its lines, those that are only counted too. */
	count = 0;
	payloadChars = 0;

	constructor(known: KnownValues) {
		this.#sums = new Sums(known);
	}

	add(row: RequestRow): void {
		const group = this.#groups.of(row);
		this.#sums.add(row, group);
		if (!row.isOnlyCounted) this.#lines.add(row, group);
		this.count++;
		this.payloadChars += payloadChars(row);
	}

	get isFull(): boolean {
		return this.count >= BATCH || this.#groups.all.length >= MAX_GROUPS || this.#sums.count >= MAX_CELLS;
	}

	/** Whether the line would make the batch too long. */
	hasNoRoom(row: RequestRow): boolean {
		return this.count > 0 && this.payloadChars + payloadChars(row) > MAX_BATCH_CHARS;
	}

	/** Adds the numbers of its lines by organization. */
	countInto(counts: Map<string, number>): void {
		for (const { of, lines } of this.#groups.all) counts.set(of.organizationId, (counts.get(of.organizationId) ?? 0) + lines);
	}

	/** Returns what is written, once. @param lost the number of lost lines by organization */
	written(lost: ReadonlyMap<string, number>, nowMs: number): RequestBatch {
		return { id: randomUUID(), lines: this.#lines, cells: this.#sums.cells(lost, nowMs) };
	}
}

interface Write {
	batch: Batch;
	/** The lost lines by organization that it tells. */
	lost: ReadonlyMap<string, number>;
	written: RequestBatch;
}

export class RequestLog {
	readonly #analytics: Pick<Analytics, 'add'>;
	readonly #log: Log;
	readonly #timer: NodeJS.Timeout;
	readonly #known = new KnownValues();
	readonly #payloads = new PayloadShare();
	/** Batches that are full, oldest first, and the one that lines are added to. */
	readonly #full: Batch[] = [];
	#open: Batch;
	#held = 0;
	/** The write that was not confirmed: it is repeated unchanged, since it may have taken effect. */
	#unconfirmed: Write | null = null;
	#lost = new Map<string, number>();
	#writing: Promise<void> | null = null;

	constructor(analytics: Pick<Analytics, 'add'>, log: Log) {
		this.#analytics = analytics;
		this.#log = log;
		this.#open = new Batch(this.#known);
		this.#timer = setInterval(() => this.#flush(), FLUSH_MS).unref();
	}

	add(row: RequestRow): void {
		for (const name of TOLD) row[name] = bounded(row[name]);
		row.userAgent = row.userAgent?.slice(0, MAX_USER_AGENT) ?? null;
		this.#payloads.admit(row);
		if (this.#open.hasNoRoom(row)) this.#close();
		this.#open.add(row);
		this.#held++;
		if (this.#open.isFull) this.#close();
		const oldest = this.#held > HELD ? this.#full[0] : undefined;
		if (oldest) this.#lose(this.#take(oldest), 'the database is unavailable');
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#writing;
		this.#flush();
		await this.#writing;
	}

	/** Begins another batch. */
	#close(): void {
		this.#full.push(this.#open);
		this.#open = new Batch(this.#known);
		this.#flush();
	}

	#flush(): void {
		if (this.#writing || (this.#held === 0 && !this.#unconfirmed)) return;
		this.#writing = this.#write().finally(() => {
			this.#writing = null;
		});
	}

	async #write(): Promise<void> {
		for (let next = this.#next(); next; next = this.#next()) {
			try {
				await this.#analytics.add(next.written);
			} catch (error) {
				if (asGatewayError(error)?.code === 'unavailable') {
					this.#log.warn({ error: String(error), held: this.#held + next.batch.count }, 'the request log could not be written yet');
					return;
				}
				this.#log.error({ error: String(error) }, 'lines of the request log cannot be written');
				for (const [organizationId, count] of next.lost) this.#lost.set(organizationId, (this.#lost.get(organizationId) ?? 0) + count);
				this.#lose(next.batch, 'they cannot be written');
			}
			this.#unconfirmed = null;
		}
	}

	#next(): Write | null {
		if (this.#unconfirmed) return this.#unconfirmed;
		const batch = this.#full[0] ?? this.#open;
		if (batch.count === 0) return null;
		this.#take(batch);
		const lost = this.#lost;
		this.#lost = new Map();
		this.#unconfirmed = { batch, lost, written: batch.written(lost, Date.now()) };
		return this.#unconfirmed;
	}

	/** Takes the oldest batch out of those that wait. */
	#take(oldest: Batch): Batch {
		if (oldest === this.#open) this.#open = new Batch(this.#known);
		else this.#full.shift();
		this.#held -= oldest.count;
		this.#payloads.release(oldest.payloadChars);
		return oldest;
	}

	/** Counts lines that are given up; the next write tells their organizations. */
	#lose(batch: Batch, reason: string): void {
		batch.countInto(this.#lost);
		this.#log.error({ lost: batch.count }, `lines of the request log were dropped: ${reason}`);
	}
}
