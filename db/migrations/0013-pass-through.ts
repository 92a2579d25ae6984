// Which headers of callers' own go on to an API.

import { type Audited, auditTriggers, values } from '../audit-triggers.ts';
import type { Migration } from '../migrate.ts';

// Null: none.
const COLUMN = 'ALTER TABLE apis ADD COLUMN pass_through json;';

/** The table's triggers with the new column. */
const AUDITED: Audited = {
	table: 'apis',
	type: 'api',
	fields: [
		...values('name type base_url'),
		['description', 'text', 'description'],
		...values('status'),
		['outbound', 'value', 'readable(outbound)'],
		['passThrough', 'value', 'readable(pass_through)'],
	],
};

const DROP = ['insert', 'update', 'delete'].map((event) => `DROP TRIGGER audit_${event} ON apis;`);

export const passThrough: Migration = { name: '0013-pass-through', statements: [COLUMN, ...DROP, ...auditTriggers(AUDITED)] };
