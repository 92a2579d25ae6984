// Tests the page of each kind of plugin: its example is the template of `npm create gatehouse-plugin`, which is compiled and run by another test.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { KIND_NAMES } from '../core/features.ts';
import { ROOT } from './rooms.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const EXAMPLE = /<!-- example -->\n```ts\n([\s\S]*?)```\n<!-- \/example -->/g;

test('every kind has a page, which the reference links, and a template; no other has one', () => {
	const kinds = [...KIND_NAMES].sort();
	assert.deepEqual(readdirSync(join(ROOT, 'docs/plugins')).sort(), kinds.map((kind) => `${kind}.md`).sort());
	assert.deepEqual(
		readdirSync(join(ROOT, 'create/templates'))
			.filter((name) => name !== 'common')
			.sort(),
		kinds,
	);
	const reference = read('plugins/README.md');
	for (const kind of kinds) assert.ok(reference.includes(`[${kind}](../docs/plugins/${kind}.md)`), kind);
});

test('the example of a test is that of the template of transports', () => {
	const [, example] = /<!-- testing -->\n```ts\n([\s\S]*?)```\n<!-- \/testing -->/.exec(read('plugins/README.md')) ?? [];
	assert.equal(example, read('create/templates/transport/test/index.test.ts'));
});

for (const kind of KIND_NAMES) {
	test(`the example of ${kind} is the source of its template`, () => {
		const examples = [...read(`docs/plugins/${kind}.md`).matchAll(EXAMPLE)].map(([, code]) => code);
		assert.deepEqual(examples, [read(`create/templates/${kind}/src/index.ts`)]);
	});
}
