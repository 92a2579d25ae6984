// The greatest age of data that a process caches from the store.

/** Every request sees every change that was committed longer ago than this (the specification promises a second). */
export const STALE_MS = 1000;
