// Start of the worker thread, with the service's compile cache, which its empty environment cannot name.

import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { ThreadData } from './thread.ts';

// The main thread passes data of this shape.
const { compileCache } = workerData as ThreadData;
if (compileCache !== null) enableCompileCache(compileCache);
await import('./worker.ts');
