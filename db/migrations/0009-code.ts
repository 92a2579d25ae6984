// What tools that run code need: whether an organization lets them send requests, and what they printed, beside their runs.

import { auditTriggers, values } from '../audit-triggers.ts';
import type { Migration } from '../migrate.ts';

const COLUMNS = `
ALTER TABLE organizations ADD COLUMN code_may_fetch boolean NOT NULL DEFAULT false;
ALTER TABLE tool_runs ADD COLUMN logs json;
`;

const dropTriggers = (table: string): string[] => ['insert', 'update', 'delete'].map((event) => `DROP TRIGGER audit_${event} ON ${table};`);

export const code: Migration = {
	name: '0009-code',
	statements: [
		COLUMNS,
		...dropTriggers('organizations'),
		...auditTriggers({
			table: 'organizations',
			type: 'organization',
			fields: values('name slug code_may_fetch'),
			organizations: 'ARRAY[id]',
		}),
	],
};
