// The times of schedules, and what is done at each: whoever moves a schedule to its next time starts its run.

import { Cron } from 'croner';
import { invalid } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import type { DueSchedule, RunQueue, RunSchedule } from '../store/store.ts';
import { isOfDatabase } from './faults.ts';

/** A time that is later than this was missed: no replica ran, or all were busy. */
const MISSED_MS = 60_000;

/**
 * Returns the first time after this one; null: never again. A time that the clocks skip is an hour later, one that they repeat comes once.
 * @throws validation_failed
 */
export function nextTime({ cron, timeZone }: Pick<RunSchedule, 'cron' | 'timeZone'>, after: Date): Date | null {
	return nextOf(parse(cron, timeZone), after);
}

/** Returns the next times after this one. @throws validation_failed */
export function nextTimes({ cron, timeZone }: Pick<RunSchedule, 'cron' | 'timeZone'>, after: Date, count: number): Date[] {
	const times = parse(cron, timeZone);
	const found: Date[] = [];
	for (let next = nextOf(times, after); next && found.length < count; next = nextOf(times, next)) found.push(next);
	return found;
}

/** Clocks repeat at most some hours: croner is asked again so many times, each so much later. */
const [ASKED, LATER_MS] = [200, 15 * 60_000];

/** Returns what croner does, which may be before `after` where that lies in an hour that the clocks repeat: a schedule would be due again at once, for all of it. */
function nextOf(times: Cron, after: Date): Date | null {
	let next = times.nextRun(after);
	for (let asked = 1; next && next <= after; asked++) {
		if (asked > ASKED) return null;
		next = times.nextRun(new Date(after.getTime() + asked * LATER_MS));
	}
	return next;
}

function parse(cron: string, timeZone: string): Cron {
	try {
		// A zone is looked up when a time is computed.
		const times = new Cron(cron, { timezone: timeZone, paused: true });
		times.nextRun();
		return times;
	} catch (error) {
		// From month to month, none of which has the day, croner calls itself.
		if (error instanceof RangeError && /call stack/i.test(error.message))
			throw invalid('/cron', 'cron must name a time that is still to come.');
		throw invalid('/cron', `cron must be five or six fields, and timeZone an IANA name: ${error instanceof Error ? error.message : ''}`);
	}
}

/** Tells whether a due time starts a run. */
export const starts = ({ overlap, missed, isBusy, lateMs }: Pick<DueSchedule, 'overlap' | 'missed' | 'isBusy' | 'lateMs'>): boolean => {
	if (overlap === 'skip' && isBusy) return false;
	return missed === 'once' || lateMs <= MISSED_MS;
};

type Due = Pick<RunQueue, 'dueSchedules' | 'fire'>;

interface Pass {
	log: Log;
	/** Ends the pass before the next schedule. */
	signal?: AbortSignal;
	/** The time from which the next times are counted. */
	now?(): number;
}

/** Starts the runs of all schedules that are due, a page of them at a time. One that fails is left for the next pass, and keeps nobody waiting. */
export async function fireDue(queue: Due, kinds: readonly string[], { log, signal, now = Date.now }: Pass): Promise<void> {
	for (let page = await queue.dueSchedules(kinds, null); page.length > 0; page = await queue.dueSchedules(kinds, page.at(-1) ?? null)) {
		for (const due of page) {
			if (signal?.aborted) return;
			try {
				// From now on: several missed times are one.
				await queue.fire(due, nextTime(due, new Date(Math.max(now(), due.dueAt.getTime()))), starts(due));
			} catch (error) {
				log.warn({ err: error, schedule: due.key, organizationId: due.organizationId }, 'a schedule could not start its run');
			}
		}
	}
}

/** Fires schedules beside the one who finds that some are due, one pass at a time: thousands of them take long. */
export class Firing {
	readonly #queue: Due;
	readonly #pass: Pass;
	#passing: Promise<void> | null = null;

	constructor(queue: Due, pass: Pass) {
		this.#queue = queue;
		this.#pass = pass;
	}

	/** Begins a pass, unless one is under way. */
	begin(kinds: readonly string[]): void {
		this.#passing ??= fireDue(this.#queue, kinds, this.#pass)
			.catch((error: unknown) => {
				if (!isOfDatabase(error)) this.#pass.log.warn({ err: error }, 'the schedules that are due could not be looked up');
			})
			.finally(() => {
				this.#passing = null;
			});
	}

	/** Resolves when the pass that is under way is over. */
	async settled(): Promise<void> {
		await this.#passing;
	}
}
