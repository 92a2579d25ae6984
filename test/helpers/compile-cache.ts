// The cache of compiled code of a run of tests, for the programs that tests start: they run in folders of their own, and most with no other
// environment than theirs. A start of the service without it takes twice the time of the processor.

import { resolve } from 'node:path';
import { ROOT } from '../rooms.ts';

const given = process.env['NODE_COMPILE_CACHE'];

/** The variable that names it; nothing where the run has none. */
export const COMPILE_CACHE: Readonly<Record<string, string>> = given ? { NODE_COMPILE_CACHE: resolve(ROOT, given) } : {};
