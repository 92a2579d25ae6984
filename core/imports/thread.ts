// The entry point of a worker thread of imports: it enables the compile cache of the service before anything costly is loaded. The worker's
// environment is empty and cannot name the cache.

import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { ThreadData } from './worker.ts';

// The main thread passes data of this shape.
const { compileCache } = workerData as ThreadData;
if (compileCache !== null) enableCompileCache(compileCache);
await import('./worker.ts');
