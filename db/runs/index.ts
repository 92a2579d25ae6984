// Puts runs together: our rows, and the engine that decides whose turn it is.

import type { Log } from '../../core/contract/nouns.ts';
import type { Carrier } from '../../core/store/carrier.ts';
import type { RunQueue, Topic } from '../../core/store/store.ts';
import type { ChangeFeed } from '../changes.ts';
import type { Endpoint } from '../connection.ts';
import { guard } from '../errors.ts';
import { Bell } from './bell.ts';
import { Engine } from './engine.ts';
import { createExpiry } from './expiry.ts';
import { createJointRuns, type JointRuns } from './joint.ts';
import { createRunPool } from './pool.ts';
import { createWorker, type RunParts } from './queue.ts';
import { RunRows } from './rows.ts';
import { adder, createDesk, type DeskParts } from './runs.ts';
import { createSchedules } from './schedules.ts';

interface QueueParts extends Pick<DeskParts, 'reads'> {
	changes: Pick<ChangeFeed, 'say'>;
	log: Log;
	carrier?: Carrier | null | undefined;
}

/** Opens no connection before the first verb. */
export function createRunQueue(
	endpoint: Endpoint,
	{ changes, reads, log, carrier = null }: QueueParts,
): { runQueue: RunQueue; jointRuns: JointRuns; announce: (...topics: Topic[]) => void } {
	const pool = createRunPool(endpoint, log);
	const engine = new Engine(pool, log);
	const parts: RunParts = { pool, engine, rows: new RunRows(engine), bell: new Bell(pool, { say: changes.say, log, carrier }) };
	carrier?.listen((text) => changes.say(topicsOf(text)));
	const desk = { ...parts, reads, add: adder(parts) };
	const verbs = guard({
		...createWorker(parts),
		...createDesk(desk),
		expire: createExpiry(parts),
		...createSchedules(desk),
		async close() {
			await parts.bell.close();
			await engine.close();
			await pool.close();
		},
	});
	const runQueue = { ...verbs, onEnd: parts.bell.onEnd.bind(parts.bell) };
	return { runQueue, jointRuns: createJointRuns(parts), announce: (...topics) => parts.bell.ring(...topics) };
}

/** Others may write into that Redis, too: nothing but runs and work is announced there. */
const topicsOf = (text: string): Topic[] => text.split('\n').filter((topic): topic is Topic => /^(run|work):/.test(topic));
