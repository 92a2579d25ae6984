// Those who watch records: each is woken by the announcement of a change, and reads the record when it is asked for the next state. Nothing is
// kept for a slow one but that there is news.

import { GatewayError } from '../contract/errors.ts';
import type { StoredRecord } from '../contract/nouns.ts';
import { Semaphore } from '../kit/semaphore.ts';
import type { Changes, FoundRecord, Topic } from '../store/store.ts';
import type { AccountOf } from './accounts.ts';

/** The most watches of one account, and of all together, in this process. */
export interface WatchLimits {
	account: number;
	all: number;
	/** The time after which a watch of a free key reads it again: the coming of a record that is not `watched` is announced to nobody. */
	againMs: number;
}

const LIMITS: WatchLimits = { account: 1_000, all: 10_000, againMs: 60_000 };
/** The most reads of the database at once: after an outage all watches read. */
const READERS = 4;
const RETRY_MS = 500;
/** Timers of Node take no longer times. */
const LONGEST_MS = 2 ** 31 - 1;
const DONE = { done: true, value: undefined } as const;

/** The record that is watched. */
export interface Watched {
	organizationId: string;
	/** Returns the topic of a record that comes under the key. */
	arrival(): Promise<Topic>;
	/** Reads the record, from memory if it is known there. @param query runs what asks the database */
	read(query: <T>(work: () => Promise<T>) => Promise<T>): Promise<FoundRecord | null>;
	/** Returns the record as the plugin gets it. */
	shown(record: StoredRecord): StoredRecord;
	/** Builds the error for a record whose changes are not announced. */
	unwatched(): Error;
}

export interface WatchParts {
	changes: Pick<Changes, 'subscribe' | 'fresh'>;
	accountOf: AccountOf;
}

export class RecordWatches {
	readonly #parts: WatchParts;
	readonly #limits: WatchLimits;
	readonly #watches = new Set<Watch>();
	readonly #byTopic = new Map<Topic, Set<Watch>>();
	readonly #byAccount = new Map<string, number>();
	readonly #readers = new Semaphore(READERS, Number.POSITIVE_INFINITY, tooMany);
	readonly #unsubscribe: () => void;
	#heard = 0;

	/** Must be made after the cache of records, which drops what has changed before a watch reads it. */
	constructor(parts: WatchParts, limits: Partial<WatchLimits> = {}) {
		this.#parts = parts;
		this.#limits = { ...LIMITS, ...limits };
		this.#unsubscribe = parts.changes.subscribe((topics) => this.#hear(topics));
	}

	/** The number of watches under way. */
	get size(): number {
		return this.#watches.size;
	}

	/** The number of announcements about records so far. */
	get heard(): number {
		return this.#heard;
	}

	begin(watched: Watched, signal: AbortSignal): AsyncIterator<StoredRecord | null> {
		return new Watch(this, watched, signal);
	}

	/** Counts a watch until `leave`. @returns its account. @throws rate_limited, unavailable */
	async enter(watch: Watch, organizationId: string): Promise<string> {
		const account = await this.#parts.accountOf(organizationId);
		const count = this.#byAccount.get(account) ?? 0;
		if (count >= this.#limits.account || this.#watches.size >= this.#limits.all) throw tooMany();
		this.#byAccount.set(account, count + 1);
		this.#watches.add(watch);
		return account;
	}

	leave(watch: Watch, account: string): void {
		this.#watches.delete(watch);
		const left = (this.#byAccount.get(account) ?? 1) - 1;
		if (left > 0) this.#byAccount.set(account, left);
		else this.#byAccount.delete(account);
	}

	follow(topic: Topic, watch: Watch): void {
		const followers = this.#byTopic.get(topic) ?? new Set();
		this.#byTopic.set(topic, followers.add(watch));
	}

	unfollow(topic: Topic, watch: Watch): void {
		const followers = this.#byTopic.get(topic);
		followers?.delete(watch);
		if (followers?.size === 0) this.#byTopic.delete(topic);
	}

	/** Tells whether anyone waits for the topic. */
	follows(topic: Topic): boolean {
		return this.#byTopic.has(topic);
	}

	/** Returns the time at which a watch of a free key reads it again, by the clock of `performance`: not the same for all of them. */
	again(): number {
		return performance.now() + this.#limits.againMs * (0.5 + Math.random() / 2);
	}

	query<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
		return this.#readers.run(work, signal);
	}

	close(): void {
		this.#unsubscribe();
		for (const watch of this.#watches) watch.end();
	}

	#hear(topics: readonly Topic[]): void {
		const heard = topics.filter((topic) => topic === '*' || topic.startsWith('record:'));
		if (heard.length === 0) return;
		this.#heard++;
		const isAny = heard.includes('*') || heard.includes('record:*') || heard.includes('record:new:*');
		if (isAny) for (const watch of this.#watches) watch.changed();
		else for (const topic of heard) for (const watch of this.#byTopic.get(topic) ?? []) watch.changed();
	}
}

/** One watch. It is counted from the first `next` to its end. */
class Watch implements AsyncIterator<StoredRecord | null> {
	readonly #watches: RecordWatches;
	readonly #watched: Watched;
	/** Aborts at the end, by whatever it comes. */
	readonly #ending = new AbortController();
	readonly #onAbort = (): void => this.end();
	readonly #signal: AbortSignal;
	/** The topic of whatever comes under the key, then that of the record that was read last. */
	readonly #topics: Topic[] = [];
	#account: string | null = null;
	#turn: Promise<unknown> = Promise.resolve();
	#hasNews = true;
	#wake: (() => void) | null = null;
	/** The version that was yielded last; null before the first. */
	#version: string | null = null;
	/** The time at which the record is read again without any news, by the clock of `performance`: when it expires. */
	#againMs: number | null = null;

	constructor(watches: RecordWatches, watched: Watched, signal: AbortSignal) {
		this.#watches = watches;
		this.#watched = watched;
		this.#signal = signal;
		signal.addEventListener('abort', this.#onAbort, { once: true });
		if (signal.aborted) this.end();
	}

	next(): Promise<IteratorResult<StoredRecord | null, undefined>> {
		const turn = this.#turn.then(() => this.#advance());
		this.#turn = turn.catch(() => undefined);
		return turn;
	}

	async return(): Promise<IteratorResult<StoredRecord | null, undefined>> {
		this.end();
		return DONE;
	}

	changed(): void {
		this.#hasNews = true;
		this.#wake?.();
	}

	end(): void {
		if (this.#ending.signal.aborted) return;
		this.#ending.abort();
		this.#signal.removeEventListener('abort', this.#onAbort);
		for (const topic of this.#topics) this.#watches.unfollow(topic, this);
		if (this.#account !== null) this.#watches.leave(this, this.#account);
		this.#wake?.();
	}

	async #advance(): Promise<IteratorResult<StoredRecord | null, undefined>> {
		try {
			return await this.#nextState();
		} catch (error) {
			const wasEnded = this.#ending.signal.aborted;
			this.end();
			if (wasEnded) return DONE;
			throw error;
		}
	}

	async #nextState(): Promise<IteratorResult<StoredRecord | null, undefined>> {
		if (this.#account === null) await this.#begin();
		for (;;) {
			if (this.#ending.signal.aborted) return DONE;
			if (!this.#hasNews) {
				await this.#pause(this.#againMs === null ? null : this.#againMs - performance.now());
				continue;
			}
			this.#hasNews = false;
			const found = await this.#read();
			if (found && found.topic === null) throw this.#watched.unwatched();
			const version = found ? `${found.topic} ${found.record.revision}` : '';
			const isNew = version !== this.#version;
			this.#version = version;
			if (isNew && !this.#ending.signal.aborted) return { done: false, value: found && this.#watched.shown(found.record) };
		}
	}

	async #begin(): Promise<void> {
		if (this.#ending.signal.aborted) return;
		const account = await this.#watches.enter(this, this.#watched.organizationId);
		// It may have ended while its account was looked up.
		if (this.#ending.signal.aborted) return this.#watches.leave(this, account);
		this.#account = account;
		this.#follow(await this.#watched.arrival());
	}

	/** Reads the record. Once a state was yielded, an outage is waited for. @throws unavailable, and whatever else a read throws */
	async #read(): Promise<FoundRecord | null> {
		for (;;) {
			const { heard } = this.#watches;
			try {
				const found = await this.#watched.read((work) => this.#watches.query(work, this.#ending.signal));
				// A change between the read and now was announced under a topic that was not followed yet.
				if (this.#follow(found?.topic ?? null) && heard !== this.#watches.heard) this.#hasNews = true;
				this.#againMs = found ? expiryOf(found.record) : this.#watches.again();
				return found;
			} catch (error) {
				if (this.#version === null || (error as { code?: unknown }).code !== 'unavailable') throw error;
				await this.#pause(RETRY_MS);
				this.#ending.signal.throwIfAborted();
			}
		}
	}

	/** @returns whether the topic is a new one */
	#follow(topic: Topic | null): boolean {
		if (topic === null || this.#topics.includes(topic) || this.#ending.signal.aborted) return false;
		for (const former of this.#topics.splice(1)) this.#watches.unfollow(former, this);
		this.#topics.push(topic);
		this.#watches.follow(topic, this);
		return true;
	}

	/** Waits for news or the end; after this time there is news, too. */
	async #pause(ms: number | null): Promise<void> {
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#wake = resolve;
		const timer = ms === null ? undefined : setTimeout(() => this.changed(), Math.min(Math.max(ms, 1), LONGEST_MS));
		if (this.#ending.signal.aborted) resolve();
		await promise;
		clearTimeout(timer);
		this.#wake = null;
	}
}

const expiryOf = ({ expiresAt, readAt }: StoredRecord): number | null =>
	expiresAt && performance.now() + expiresAt.getTime() - readAt.getTime();

const tooMany = (): GatewayError =>
	new GatewayError('rate_limited', 'Too many records are being watched. Try again later.', { headers: { 'retry-after': '10' } });
