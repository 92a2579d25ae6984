import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readReadme, writeTables } from './readme.ts';

test('the README’s tables of plugins, variables, roles and errors match the code (npm run readme writes them)', async () => {
	const readme = readReadme();
	assert.equal(readme, await writeTables(readme));
	for (const name of ['plugins', 'variables', 'roles', 'errors']) assert.match(readme, new RegExp(`<!-- ${name} -->\n\\|`));
});
