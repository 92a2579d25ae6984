// The request log and its sums.

import type { Analytics } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { createLog } from './log.ts';
import { createNames } from './names.ts';
import { createPartitions } from './partitions.ts';
import { createReads } from './reads.ts';
import { createWrites } from './writes.ts';

export const createAnalytics = (database: Database): Analytics => ({
	...createWrites(database),
	...createReads(database),
	...createLog(database),
	...createNames(database),
	...createPartitions(database),
});
