// Files that start services and programs, or use the shared service.

import { runTogether } from '../together.ts';

await runTogether('services-3');
