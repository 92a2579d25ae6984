// The output of tools in the request log, instead of a table of runs beside it, which nobody read.

import type { Migration } from '../migrate.ts';

// Replicas of the release before write to the table of runs until they are replaced, so a later release drops it.
const PRINTED = 'ALTER TABLE request_log ADD COLUMN logs json;';

export const printed: Migration = { name: '0032-printed', statements: [PRINTED] };
