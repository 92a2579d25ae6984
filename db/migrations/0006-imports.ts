// What an import did to the operations of its API, kept with the schema that was imported.

import type { Migration } from '../migrate.ts';

// Null: of an import from before, or one that nobody compared.
const CHANGES = 'ALTER TABLE api_schemas ADD COLUMN changes json';

export const imports: Migration = {
	name: '0006-imports',
	statements: [CHANGES],
};
