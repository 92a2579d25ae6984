import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { JsonObject } from './nouns.ts';
import { bodyOfSkill, writeSkill } from './skill-document.ts';

const headOf = (document: string): string => /^---\n([\s\S]*?)\n---\n\n/.exec(document)?.[1] ?? assert.fail(document);

const TEXTS = [
	'plain',
	'a: b # c',
	'"quoted" \\ \'',
	'two\nlines\n---\n\nmore',
	'\u007f\u0085\u2028\ufeff',
	'- list',
	'{}',
	'yes',
	'1e5',
	'😀',
	' ',
];

test('the head is YAML that says what was given, and the body comes back as it was', () => {
	for (const text of TEXTS) {
		const frontmatter: JsonObject = { name: 'a-name', description: text, metadata: { [text]: text } };
		const document = writeSkill(frontmatter, text);
		assert.deepEqual(parse(headOf(document)), frontmatter, JSON.stringify(text));
		assert.equal(bodyOfSkill(document), text);
	}
});

test('a name that YAML would take for something else is quoted', () => {
	for (const name of ['null', 'true', 'no', 'on', 'y', '1', '1e5', '0x1f', '007', 'a', 'yes-man', 'find-pet'])
		assert.deepEqual(parse(headOf(writeSkill({ name }, ''))), { name });
	assert.match(writeSkill({ name: 'find-pet' }, ''), /^name: find-pet$/m);
});

test('the bytes are always the same: hashes of them are published', () => {
	const frontmatter = { name: 'find-pet', description: 'Finds.', license: 'MIT', metadata: { a: 'b' } };
	assert.equal(writeSkill(frontmatter, 'x'), '---\nname: find-pet\ndescription: "Finds."\nlicense: "MIT"\nmetadata: {"a":"b"}\n---\n\nx');
});
