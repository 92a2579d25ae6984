// Files that are clients of the shared service.

import { runTogether } from '../together.ts';

await runTogether('guests-1');
