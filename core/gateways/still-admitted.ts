// The callers of open event streams, who are checked again whenever something has changed that may have ended their rights.

import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { Caller, Gateway, Log } from '../contract/nouns.ts';
import { isOwnCredential } from '../identity/again.ts';
import { Semaphore } from '../kit/semaphore.ts';
import type { Changes, Topic } from '../store/store.ts';
import type { CallReach } from '../tools/job-desk.ts';
import { ANONYMOUS } from './check-caller.ts';

/** The least time between two checks of one caller, and between an outage and the next. */
const AGAIN_MS = 500;
/** Checks at once, of which each asks the database a few times. */
const AT_ONCE = 4;
/** Timers of Node take no longer times. */
const LONGEST_MS = 2 ** 31 - 1;

/** The caller of a stream, and the plugin that answered it. */
export interface StreamCaller {
	/** `kind:name`. */
	plugin: string;
	organizationId: string;
	/** Null at a fixed address, whose `reach` admitted the caller. */
	gateway: Gateway | null;
	caller: Caller;
	reach?: CallReach | undefined;
}

export interface FollowedCaller {
	/** Aborts when the caller may no longer do all that they could when they came, or their gateway is gone. */
	readonly signal: AbortSignal;
	leave(): void;
}

export interface StillAdmittedParts {
	changes: Pick<Changes, 'subscribe'>;
	log: Pick<Log, 'warn'>;
	/** Returns the caller as they are now. @throws forbidden, not_found when they may come no more, unavailable */
	check(caller: StreamCaller, signal: AbortSignal): Promise<Caller>;
}

/** One caller at one gateway, whose streams share a check. */
interface AdmittedCaller {
	who: StreamCaller;
	streams: number;
	ending: AbortController;
	isDue: boolean;
	isChecking: boolean;
	timer: NodeJS.Timeout | null;
}

export class StillAdmitted {
	readonly #parts: StillAdmittedParts;
	readonly #entries = new Map<string, AdmittedCaller>();
	readonly #checks = new Semaphore(
		AT_ONCE,
		Number.POSITIVE_INFINITY,
		() => new GatewayError('unavailable', 'Too many callers are checked.'),
	);
	readonly #unsubscribe: () => void;

	/** Must be made after the caches of gateways and members, which drop what has changed before anybody is checked. */
	constructor(parts: StillAdmittedParts) {
		this.#parts = parts;
		this.#unsubscribe = parts.changes.subscribe((topics) => this.#hear(topics));
	}

	/** The number of callers who have streams. */
	get size(): number {
		return this.#entries.size;
	}

	follow(who: StreamCaller): FollowedCaller {
		const key = JSON.stringify([who.plugin, who.organizationId, who.gateway?.id, who.reach, who.caller]);
		const entry = this.#entries.get(key) ?? this.#add(key, who);
		entry.streams += 1;
		let isIn = true;
		return {
			signal: entry.ending.signal,
			leave: () => {
				if (isIn) this.#leave(key, entry);
				isIn = false;
			},
		};
	}

	close(): void {
		this.#unsubscribe();
		for (const [key, entry] of this.#entries) this.#drop(key, entry);
	}

	#add(key: string, who: StreamCaller): AdmittedCaller {
		const entry: AdmittedCaller = { who, streams: 0, ending: new AbortController(), isDue: false, isChecking: false, timer: null };
		this.#entries.set(key, entry);
		// A change in the time in which the stream was opened may have been announced before.
		this.#becomesDue(key, entry);
		return entry;
	}

	#leave(key: string, entry: AdmittedCaller): void {
		entry.streams -= 1;
		if (entry.streams === 0) this.#drop(key, entry);
	}

	#drop(key: string, entry: AdmittedCaller): void {
		if (entry.timer) clearTimeout(entry.timer);
		entry.timer = null;
		if (this.#entries.get(key) === entry) this.#entries.delete(key);
	}

	#hear(topics: readonly Topic[]): void {
		const heard = new Set<string>(topics);
		const ofRecords = topics.some((topic) => topic.startsWith('record:'));
		for (const [key, entry] of this.#entries) if (concerns(heard, ofRecords, entry.who)) this.#becomesDue(key, entry);
	}

	#becomesDue(key: string, entry: AdmittedCaller): void {
		entry.isDue = true;
		if (!entry.isChecking) this.#later(key, entry, 0);
	}

	/** Checks after this time, or when the caller's credential ends. */
	#later(key: string, entry: AdmittedCaller, waitMs: number): void {
		if (entry.timer) clearTimeout(entry.timer);
		entry.timer = setTimeout(() => void this.#check(key, entry), Math.min(Math.max(waitMs, 0), LONGEST_MS)).unref();
	}

	async #check(key: string, entry: AdmittedCaller): Promise<void> {
		entry.timer = null;
		entry.isChecking = true;
		entry.isDue = false;
		const ended = await this.#reasonOf(entry);
		if (ended === 'unknown') entry.isDue = true;
		else if (ended) {
			this.#drop(key, entry);
			return entry.ending.abort(ended);
		}
		const { expiresAt } = entry.who.caller;
		// The next one waits, so that a busy organization does not have its callers checked all the time.
		setTimeout(() => {
			entry.isChecking = false;
			if (this.#entries.get(key) !== entry) return;
			if (entry.isDue) this.#later(key, entry, 0);
			else if (expiresAt) this.#later(key, entry, expiresAt.getTime() - Date.now());
		}, AGAIN_MS).unref();
	}

	/** Returns why the caller may come no more; null when they may. */
	async #reasonOf({ who, ending }: AdmittedCaller): Promise<GatewayError | 'unknown' | null> {
		try {
			const now = await this.#checks.run(() => this.#parts.check(who, ending.signal));
			const lost = who.caller.scopes.filter((scope) => !now.scopes.includes(scope));
			return lost.length > 0 ? new GatewayError('forbidden', 'The caller has lost a scope.') : null;
		} catch (thrown) {
			const error = asGatewayError(thrown);
			if (error?.code === 'forbidden' || error?.code === 'not_found' || error?.code === 'unauthorized') return error;
			if (error?.code !== 'unavailable') this.#parts.log.warn({ error: String(thrown) }, 'the caller of a stream could not be checked');
			return error?.code === 'unavailable'
				? 'unknown'
				: new GatewayError('unavailable', 'The caller could not be checked.', { cause: thrown });
		}
	}
}

/** A method with credentials of its own keeps them in records, of which the topic does not tell whose they are. */
const concerns = (heard: ReadonlySet<string>, ofRecords: boolean, { organizationId, caller }: StreamCaller): boolean =>
	heard.has('*') ||
	heard.has(`org:${organizationId}`) ||
	(caller.userId !== undefined && heard.has(`user:${caller.userId}`)) ||
	(ofRecords && caller.subject !== ANONYMOUS && !isOwnCredential(caller));
