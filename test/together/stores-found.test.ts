// Files of stores on the server that the machine has.

import { runTogether } from '../together.ts';

await runTogether('stores-found');
