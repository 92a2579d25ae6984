// The list of logged fields, and the triggers built from it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { administer } from '../test/helpers/postgres.ts';
import { testStore } from '../test/helpers/store.ts';
import { auditTriggers } from './audit-triggers.ts';
import { auditedIn } from './audited.ts';
import { audit } from './migrations/0003-audit.ts';
import { contract } from './migrations/0004-contract.ts';
import { importJobs } from './migrations/0008-import-jobs.ts';
import { code } from './migrations/0009-code.ts';
import { credentialSchemes } from './migrations/0011-credential-schemes.ts';
import { passThrough } from './migrations/0013-pass-through.ts';
import { skills } from './migrations/0020-skills.ts';
import { llmProviders } from './migrations/0022-llm-providers.ts';
import { agents } from './migrations/0024-agents.ts';

/** The statements of released migrations, which databases have executed; a later migration that uses the list is added here. */
const RELEASED = {
	'0003-audit': 'a38433f8f3eca00a',
	'0004-contract': '320d0953d5f96c24',
	'0008-import-jobs': '4f514eb438be21dd',
	'0009-code': '2bdacc9f2436a990',
	'0011-credential-schemes': 'a997063e2906d2a9',
	'0013-pass-through': 'fe50fb6574bfbd5c',
	'0020-skills': 'f7ebff356aa3a46a',
	'0022-llm-providers': '9a108904752fed6d',
	'0024-agents': '8bdce1a24f266469',
};

test('released migrations build the same triggers from the list as before: a new field carries its migration', () => {
	const migrations = [audit, contract, importJobs, code, credentialSchemes, passThrough, skills, llmProviders, agents];
	const hashed = migrations.map(({ name, statements }) => [
		name,
		createHash('sha256').update(statements.join('\n')).digest('hex').slice(0, 16),
	]);
	assert.deepEqual(Object.fromEntries(hashed), RELEASED);
});

test('the triggers of the database log what the list names, and nothing else', async () => {
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
