// Start of a thread: with a lower priority than the main thread, and with the service's compile cache.

import { enableCompileCache } from 'node:module';
import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import type { ThreadData } from './messages.ts';

const NICENESS = 10;

// On Linux this sets the priority of the thread; elsewhere it would be that of the process.
if (process.platform === 'linux') setPriority(NICENESS);
// The main thread passes data of this shape.
const { compileCache, does } = workerData as ThreadData;
if (compileCache !== null) enableCompileCache(compileCache);
await (does === 'checks' ? import('./worker-checks.ts') : import('./worker-redactions.ts'));
