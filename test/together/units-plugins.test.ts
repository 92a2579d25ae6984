// The files of plugins that need no process of their own.

import { runTogether } from '../together.ts';

await runTogether('plugins');
