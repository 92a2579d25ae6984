// The entry point of a process of imports: it enables the compile cache of the service before anything costly is loaded.

import { enableCompileCache } from 'node:module';
import { Worker } from 'node:worker_threads';

// Ctrl-C in a terminal and service managers signal all processes: the service decides when this one ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
// A document that is read without a pause keeps this thread from hearing of the service's end. The system gives an orphan another parent.
const WATCH = 'const { ppid, pid } = process; setInterval(() => process.ppid === ppid || process.kill(pid, "SIGKILL"), 1000);';
new Worker(WATCH, { eval: true, env: {} }).unref();
const [, , compileCache] = process.argv;
if (compileCache !== undefined) enableCompileCache(compileCache);
await import('./worker.ts');
