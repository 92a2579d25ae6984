// A log that keeps nothing.

import type { Log } from '../../core/contract/nouns.ts';

export const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
