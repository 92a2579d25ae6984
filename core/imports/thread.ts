// Where a worker thread of imports begins: with the compile cache of the service, before anything costly is loaded. It has no
// environment that would name it.

import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { ThreadData } from './worker.ts';

// The main thread made it of this shape.
const { compileCache } = workerData as ThreadData;
if (compileCache !== null) enableCompileCache(compileCache);
await import('./worker.ts');
