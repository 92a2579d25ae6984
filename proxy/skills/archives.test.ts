// Tests that no archive can write outside of its folder, and that one with anything but plain files is refused as a whole.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { writeTar } from '../../adapters/skills/tar.ts';
import { writeZip } from '../../adapters/skills/zip.ts';
import { readArchive } from './archives.ts';

const SKILL: [string, Buffer] = ['SKILL.md', Buffer.from('---\nname: a\n---\n')];

/** Makes an archive by hand. @param type of the entry; `2` is a symbolic link */
function tarWith(path: string, type = '0', target = ''): Buffer {
	const tar = writeTar(new Map([SKILL, ['x'.repeat(90), Buffer.from('hello')]]));
	const at = tar.indexOf('x'.repeat(90));
	const header = tar.subarray(at, at + 512);
	header.fill(0, 0, 100);
	header.write(path, 0);
	header.write(type, 156);
	header.write(target, 157);
	return gzipSync(tar);
}

test('archives of the service are read, in both formats', async () => {
	const files = new Map([SKILL, ['scripts/call.mjs', Buffer.from('1')], [`${'long/'.repeat(30)}name.md`, Buffer.from('ü')]]);
	for (const archive of [gzipSync(writeTar(files)), await writeZip(files)]) {
		const read = readArchive(archive);
		assert.deepEqual([...read].sort(), [...files].sort());
	}
});

const OUTSIDE = [
	...['../x', 'a/../../x', '/etc/x', './x', 'a//x', '..', 'a\\..\\x', 'C:x', 'a/', 'con', 'a/nul.txt', 'x.', 'a /b', 'a\u0007b'],
	...['skill.md', 'SKILL.md/x', 'SKILL.MD'],
];

for (const path of OUTSIDE) {
	test(`a file ${JSON.stringify(path)} refuses the archive`, () => {
		assert.throws(() => readArchive(tarWith(path)), /nothing was written\.$/);
	});
}

for (const type of ['1', '2', '3', '4', '6', 'L', 'x', 'g']) {
	test(`an entry of type ${type} refuses the archive`, () => {
		assert.throws(() => readArchive(tarWith('link', type, '/etc/passwd')), /no plain file: nothing was written/);
	});
}

test('a zip with a path outside or a link is refused', async () => {
	const zip = await writeZip(new Map([SKILL, ['abcdef', Buffer.from('hello')]]));
	for (const path of ['../abc', '/abcde', 'a/../b']) {
		const other = Buffer.from(zip.toString('latin1').replaceAll('abcdef', path), 'latin1');
		assert.throws(() => readArchive(other), /nothing was written/, path);
	}
	const link = Buffer.from(zip);
	for (let at = link.indexOf('PK\u0001\u0002'); at >= 0; at = link.indexOf('PK\u0001\u0002', at + 4))
		link.writeUInt32LE((0o120777 << 16) >>> 0, at + 38);
	assert.throws(() => readArchive(link), /no plain file/);
});

test('what is cut, no archive, without SKILL.md, or a bomb is refused', () => {
	const whole = tarWith('ok');
	for (const bytes of [
		Buffer.alloc(0),
		Buffer.from('nothing'),
		whole.subarray(0, whole.length / 2),
		Buffer.from('PK\u0003\u0004 and no more'),
	])
		assert.throws(() => readArchive(bytes), /cannot be read|is cut off/);
	assert.throws(() => readArchive(gzipSync(writeTar(new Map([['a', Buffer.from('1')]])))), /has no SKILL\.md/);
	assert.throws(() => readArchive(gzipSync(Buffer.alloc(65 * 1024 * 1024))), /cannot be read/);
	const many = new Map([SKILL, ...Array.from({ length: 2001 }, (_none, at): [string, Buffer] => [`f${at}`, Buffer.alloc(0)])]);
	assert.throws(() => readArchive(gzipSync(writeTar(many))), /more than 2,000 files/);
});
