// The list of what is told, and the triggers that tell it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administer } from '../test/helpers/postgres.ts';
import { testStore } from '../test/helpers/store.ts';
import { auditTriggers } from './audit-triggers.ts';
import { auditedIn } from './audited.ts';

test('the triggers of the database tell what the list names, and nothing else', async () => {
	await using store = await testStore();
	const rows = await administer(
		store.database,
		`SELECT c.relname AS place, t.tgname AS name, encode(t.tgargs, 'hex') AS arguments
		FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid WHERE p.proname = 'audit'`,
	);
	const made = rows.map((row) => {
		const [action, type, query] = Buffer.from(String(row['arguments']), 'hex').toString().split('\0');
		return `${row['place']} ${row['name']} ${action} ${type} ${query}`;
	});
	const listed = auditedIn().flatMap((audited) =>
		auditTriggers(audited).map((statement) => {
			const [, name] = /^CREATE TRIGGER (\w+)/.exec(statement) ?? assert.fail(statement);
			const [, action, type, query] =
				/FUNCTION audit\('(\w+)', '(\w+)', \$query\$(.*)\$query\$\);$/s.exec(statement) ?? assert.fail(statement);
			return `${audited.table} ${name} ${action} ${type} ${query}`;
		}),
	);
	assert.ok(listed.length > 36);
	assert.deepEqual(made.sort(), listed.sort());
});
