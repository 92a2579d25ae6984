// Tests which files of tests run in one process, on sources that are made for this and on the current tree.

import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { allSources, ROOT, type Source } from './rooms.ts';
import { divided, fileOfGroup, GROUPS, needsProcess, sharing, testsIn } from './together.ts';

const source = (file: string, text = '', ...loads: string[]): Source => ({ file, text, loads, imports: loads });
const why = (...sources: Source[]): string | null => needsProcess('core/a.test.ts', new Map(sources.map((each) => [each.file, each])));

test('a file needs no process of its own if it reaches nothing outside of the process', () => {
	assert.equal(why(source('core/a.test.ts', 'test()', 'core/a.ts', 'node:test'), source('core/a.ts', 'await x', 'joi')), null);
});

test('a file that reaches a database, Redis or a process needs one of its own, however far they are', () => {
	for (const name of ['pg', 'ioredis', 'node:child_process'])
		assert.equal(
			why(source('core/a.test.ts', '', 'test/helpers/b.ts'), source('test/helpers/b.ts', '', 'core/c.ts'), source('core/c.ts', '', name)),
			`it reaches ${name}`,
		);
});

test('a file that changes or measures the whole process needs one of its own', () => {
	for (const text of [
		"process.env['X'] = 'y';",
		'\tprocess.env.X = value;',
		"delete process.env['X'];",
		"process.once('exit', end);",
		'process.memoryUsage()',
		'return processCpuMs(work)',
		'process.threadCpuUsage()',
	])
		assert.notEqual(why(source('core/a.test.ts', text)), null, text);
	for (const text of ["const x = process.env['X'];", "assert.ok(process.env['X'] === 'y');", "const code = 'process.exit(0);';"])
		assert.equal(why(source('core/a.test.ts', text)), null, text);
});

test('a file that waits at its top level, or whose helper does, needs one of its own, since `require` refuses it', () => {
	for (const text of [
		'await start();',
		'const a = await start();',
		'for await (const a of b) test(a);',
		'for (const a of b) {\n\tlist.push(await a);\n}',
	])
		assert.notEqual(why(source('core/a.test.ts', `import x;\n${text}\n`)), null, text);
	assert.notEqual(why(source('core/a.test.ts', '', 'test/helpers/b.ts'), source('test/helpers/b.ts', 'export const b = await c();')), null);
	for (const text of [
		"// Those await.\ntest('x', async () => {\n\tawait start();\n});",
		"for (const a of b)\n\ttest('x', async () => {\n\t\tif (a) {\n\n\t\t\tawait start();\n\t\t}\n\t});",
		'export async function f(\n\ta: string,\n): Promise<void> {\n\tawait start();\n}',
		'const f = async () => await start();',
		'const code = "await start();";\nconst more = `\nawait start();\n`;',
		'const [one, other] = [/["\'`]/, /^https?:\\/\\//];\ntest(`x`, async () => {\n\tawait start();\n});',
	])
		assert.equal(why(source('core/a.test.ts', text)), null, text);
});

test('files that start nothing but stores share processes, and so do others that reach out', () => {
	const helper = source('test/helpers/store.ts', 'export async function testStore() { spawn(); }', 'pg');
	const kind = (...sources: Source[]) => sharing('core/a.test.ts', new Map([helper, ...sources].map((each) => [each.file, each])));
	const file = (text: string, ...loads: string[]) => source('core/a.test.ts', text, 'test/helpers/store.ts', ...loads);
	assert.equal(kind(file("test('x', async () => {\n\tawait testStore();\n});")), 'stores');
	for (const text of ['testStore(); fork(x);', 'sharedService()', 'nothing()']) assert.equal(kind(file(text)), 'services', text);
	assert.equal(kind(file('testStore()', 'test/helpers/b.ts'), source('test/helpers/b.ts', 'spawn(node)')), 'services');
	for (const text of ['testStore(); t.mock.timers.enable();', 'const a = await testStore();', 'process.exit()'])
		assert.equal(kind(file(text)), null, text);
	assert.equal(kind(file('startTestService()', 'test/helpers/b.ts'), source('test/helpers/b.ts', 'export const b = await c();')), null);
});

test('each file of the tree runs once: in the group of its room, or alone', () => {
	const sources = allSources();
	const { together, apart } = divided(testsIn(sources), sources);
	const groups = GROUPS.map((group) => together[group]);
	assert.deepEqual([...groups.flat(), ...apart].sort(), testsIn(sources).sort());
	assert.ok(groups.every((files) => files.length > 5) && groups.flat().length > 100, `${groups.map((files) => files.length)}`);
	for (const group of ['core', 'importers', 'plugins'] as const) assert.ok(together[group].every((file) => file.startsWith(`${group}/`)));
	assert.ok(apart.includes('test/flows/metrics-workers.test.ts') && together.core.includes('core/kit/race.test.ts'));
	const stores = [...together['stores-1'], ...together['stores-2']];
	assert.ok(stores.includes('db/lists.test.ts') && !stores.includes('db/outages.test.ts'));
	assert.ok(together['stores-found'].includes('db/people/members.test.ts'));
	assert.deepEqual(globSync('test/together/*', { cwd: ROOT }).sort(), GROUPS.map(fileOfGroup).sort());
});
