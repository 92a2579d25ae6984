// Columns for results: their size, and whether an API keeps its word about them; whether a tool runs only when the user confirms it; titles
// of operations, and icons.

import { retell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// Null: no limit of its own; `confirm`: the user is not asked.
const COLUMNS = `
ALTER TABLE operations ADD COLUMN title text;
ALTER TABLE apis ADD COLUMN strict_output boolean NOT NULL DEFAULT false, ADD COLUMN icon text;
ALTER TABLE gateways ADD COLUMN max_result_bytes integer CHECK (max_result_bytes > 0), ADD COLUMN icon text;
ALTER TABLE gateway_tools
	ADD COLUMN max_result_bytes integer CHECK (max_result_bytes > 0),
	ADD COLUMN confirm text CHECK (confirm IN ('destructive', 'always'));
`;

const TOLD = ['apis', 'gateways', 'gateway_tools'];

export const results: Migration = { name: '0021-results', statements: [COLUMNS, ...TOLD.flatMap((table) => retell(21, table))] };
