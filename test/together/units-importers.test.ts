// The files of importers that need no process of their own.

import { runTogether } from '../together.ts';

await runTogether('importers');
