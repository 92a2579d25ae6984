import assert from 'node:assert/strict';
import { test } from 'node:test';
import { READMES, readReadme, writeTables } from './readme.ts';

test('the READMEs’ tables of kinds, plugins, variables, roles and errors match the code (npm run readme writes them)', async () => {
	const found: string[] = [];
	for (const file of READMES) {
		const readme = readReadme(file);
		assert.equal(readme, await writeTables(readme), file);
		found.push(...[...readme.matchAll(/<!-- (\w+) -->\n\|/g)].map(([, name = '']) => name));
	}
	assert.deepEqual(found.sort(), ['errors', 'kinds', 'plugins', 'roles', 'variables']);
});
