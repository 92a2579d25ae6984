// The files of core that need no process of their own.

import { runTogether } from '../together.ts';

await runTogether('core');
