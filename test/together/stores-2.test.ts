// Files whose databases are their own.

import { runTogether } from '../together.ts';

await runTogether('stores-2');
