// How old may be what a process remembers of the store.

/** Every change committed longer ago than this is seen by every request (a promise of the specification's readers: a second). */
export const STALE_MS = 1000;
