// The sources of imported descriptions, by which they are read again as they were imported.

import type { Migration } from '../migrate.ts';

// Those of imports before are not known: nothing fills the table. `schema_id` is no foreign key: the row of an earlier schema counts for nothing.
const SOURCES = `
CREATE TABLE api_sources (
	organization_id uuid NOT NULL,
	api_id uuid NOT NULL,
	schema_id uuid NOT NULL,
	repetition text,
	digest text,
	PRIMARY KEY (organization_id, api_id),
	FOREIGN KEY (organization_id, api_id) REFERENCES apis (organization_id, id) ON DELETE CASCADE
);
`;

export const sources: Migration = { name: '0034-sources', statements: [SOURCES] };
