// The start of a sandbox thread: takes a lower priority than the main thread before anything costly is loaded.

import { setPriority } from 'node:os';

const NICENESS = 10;

// On Linux the priority is the thread's own; elsewhere it would be the process's.
if (process.platform === 'linux') setPriority(NICENESS);
await import('./sandbox.ts');
