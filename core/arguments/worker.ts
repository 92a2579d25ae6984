// A checking thread begins here: behind the main thread, which answers everybody, and with the compile cache of the service.

import { enableCompileCache } from 'node:module';
import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import type { ThreadData } from './messages.ts';

const NICENESS = 10;

// On Linux it is the thread's own; elsewhere it would be the process's.
if (process.platform === 'linux') setPriority(NICENESS);
// The main thread made it of this shape.
const { compileCache } = workerData as ThreadData;
if (compileCache !== null) enableCompileCache(compileCache);
await import('./worker-checks.ts');
