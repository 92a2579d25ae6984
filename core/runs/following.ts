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

/**
 * Yields the run whenever it or its steps may have changed, at last its end; null every few seconds without a change.
 * @param place.only without the changes before the end
 */
export async function* followRun(
	{ queue, changes }: { queue: Pick<RunQueue, 'get'>; changes: Changes },
	{ organizationId, id, only }: RunPlace & { only?: 'ended' },
	signal: AbortSignal,
): AsyncGenerator<Run | null, void> {
	const wakeup = new Wakeup();
	const topic: Topic = only ? `run:${only}:${id}` : `run:${id}`;
	const unsubscribe = changes.subscribe((topics) => {
		if (topics.includes(topic) || topics.includes('*')) wakeup.notify();
	});
	try {
		for (let isNews = true; !signal.aborted; isNews = await wakeup.wait(IDLE_MS, signal)) {
			const run = await queue.get(organizationId, id).catch(unlessAway);
			if (run === null) return;
			yield run && (isNews || hasRunEnded(run)) ? run : null;
			if (run && hasRunEnded(run)) return;
		}
	} finally {
		unsubscribe();
	}
}

/** Ignores that the database is unavailable for a moment, so that the caller retries. */
function unlessAway(error: unknown): undefined {
	if (!isOfDatabase(error)) throw error;
}
