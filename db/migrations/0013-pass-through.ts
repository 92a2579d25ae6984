// The headers of callers' own credentials that are passed on to an API.

import { retell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// Null: none.
const COLUMN = 'ALTER TABLE apis ADD COLUMN pass_through json;';

export const passThrough: Migration = { name: '0013-pass-through', statements: [COLUMN, ...retell(13, 'apis')] };
