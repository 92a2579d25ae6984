// The changes that an import made to the operations of its API, stored with the imported schema.

import type { Migration } from '../migrate.ts';

// Null for an older import, or one that compared nothing.
const CHANGES = 'ALTER TABLE api_schemas ADD COLUMN changes json';

export const imports: Migration = {
	name: '0006-imports',
	statements: [CHANGES],
};
