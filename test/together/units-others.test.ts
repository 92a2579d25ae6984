// The files of the other rooms that need no process of their own.

import { runTogether } from '../together.ts';

await runTogether('others');
