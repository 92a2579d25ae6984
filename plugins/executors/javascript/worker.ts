// Where a sandbox's thread begins: behind the main thread, which answers everybody, before anything costly is loaded.

import { setPriority } from 'node:os';

const NICENESS = 10;

// On Linux it is the thread's own; elsewhere it would be the process's.
if (process.platform === 'linux') setPriority(NICENESS);
await import('./sandbox.ts');
