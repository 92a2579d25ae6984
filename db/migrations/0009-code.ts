// Columns for tools that run code: whether an organization lets them send requests, and the output that they printed, stored with their
// runs.

import { retell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

const COLUMNS = `
ALTER TABLE organizations ADD COLUMN code_may_fetch boolean NOT NULL DEFAULT false;
ALTER TABLE tool_runs ADD COLUMN logs json;
`;

export const code: Migration = {
	name: '0009-code',
	statements: [COLUMNS, ...retell(9, 'organizations')],
};
