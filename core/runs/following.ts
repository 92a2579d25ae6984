// Following a run on whichever replica it is: woken by announcements, and reading again every few seconds in case one was lost.

import type { Changes, Run, RunQueue, Topic } from '../store/store.ts';
import { isOfDatabase } from './faults.ts';
import { Wakeup } from './wakeup.ts';

export interface RunPlace {
	organizationId: string;
	id: string;
}

const IDLE_MS = 5_000;

export const hasRunEnded = ({ finishedAt }: Pick<Run, 'finishedAt'>): boolean => finishedAt !== null;

interface Followed<T> {
	changes: Changes;
	topic: Topic;
	read(): Promise<T | null>;
}

/** A look at a row. */
interface Look<T> {
	/** Undefined: the database is unavailable for a moment. */
	row: T | undefined;
	/** Whether a change was announced since the last one that showed the row. */
	isNews: boolean;
}

/** Looks at a row at once, whenever its topic is announced, and every few seconds, until it has ended or is gone, or the signal aborts. */
export async function* look<T extends Pick<Run, 'finishedAt'>>(
	{ changes, topic, read }: Followed<T>,
	signal: AbortSignal,
): AsyncGenerator<Look<T>, void> {
	const wakeup = new Wakeup();
	const unsubscribe = changes.subscribe((topics) => {
		if (topics.includes(topic) || topics.includes('*')) wakeup.notify();
	});
	try {
		for (let isNews = true; !signal.aborted; ) {
			const row = await read().catch(unlessAway);
			if (row === null) return;
			yield { row, isNews };
			if (row && hasRunEnded(row)) return;
			const isWoken = await wakeup.wait(IDLE_MS, signal);
			isNews = isWoken || (isNews && row === undefined);
		}
	} finally {
		unsubscribe();
	}
}

/** Yields a row whenever it or its steps may have changed, at last its end; null every few seconds without a change. */
export async function* follow<T extends Pick<Run, 'finishedAt'>>(
	followed: Followed<T>,
	signal: AbortSignal,
): AsyncGenerator<T | null, void> {
	for await (const { row, isNews } of look(followed, signal)) yield row && (isNews || hasRunEnded(row)) ? row : null;
}

/** Follows a run. @param place.only without the changes before the end */
export function followRun(
	{ queue, changes }: { queue: Pick<RunQueue, 'get'>; changes: Changes },
	{ organizationId, id, only }: RunPlace & { only?: 'ended' },
	signal: AbortSignal,
): AsyncGenerator<Run | null, void> {
	const topic: Topic = only ? `run:${only}:${id}` : `run:${id}`;
	return follow({ changes, topic, read: () => queue.get(organizationId, id) }, signal);
}

/** Ignores that the database is unavailable for a moment, so that the caller retries. */
function unlessAway(error: unknown): undefined {
	if (!isOfDatabase(error)) throw error;
}
