// The entry point of a process of imports: it enables the compile cache of the service before anything costly is loaded.

import { enableCompileCache } from 'node:module';

// Ctrl-C in a terminal and service managers signal all processes: the service decides when this one ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
const [, , compileCache] = process.argv;
if (compileCache !== undefined) enableCompileCache(compileCache);
await import('./worker.ts');
