// The start of a sandbox thread: takes a lower priority than the main thread, and the service's compile cache, before anything costly is
// loaded.

import { enableCompileCache } from 'node:module';
import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import type { ThreadData } from './messages.ts';

const NICENESS = 10;

// On Linux the priority is the thread's own; elsewhere it would be the process's.
if (process.platform === 'linux') setPriority(NICENESS);
// The main thread passes data of this shape.
const { compileCache } = workerData as ThreadData;
if (compileCache !== null) enableCompileCache(compileCache);
await import('./sandbox.ts');
