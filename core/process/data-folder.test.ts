// The folder of SVC_DATA_DIR, usable and unusable.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ownSecrets, prepareFolder } from './data-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-data-'));
after(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, 'file'), '');

test('every missing level is created, for this user only', () => {
	prepareFolder(join(folder, 'a', 'b'));
	for (const made of ['a', 'a/b']) assert.equal(statSync(join(folder, made)).mode & 0o777, 0o700);
	prepareFolder(join(folder, 'a', 'b'));
});

const WRONG: [place: string, said: RegExp][] = [
	[join(folder, 'file'), /file is not a folder\.$/],
	[join(folder, 'file', 'below'), /file is not a folder\.$|a part of its path is not a folder\.$/],
	['/proc/nothing', /the system cannot create it\.$/],
	['/proc/nothing/below', /the system cannot create it\.$/],
	['/sys/nothing', /may not write to it\.$|read-only file system\.$/],
];
for (const [place, said] of WRONG) {
	test(`${place.replace(folder, '…')} is refused in a sentence that names the variable`, { skip: process.platform !== 'linux' }, () => {
		assert.throws(
			() => prepareFolder(place),
			({ message }: Error) => {
				assert.match(message, /^SVC_DATA_DIR must be a folder that the service may write to, and /);
				assert.ok(message.includes(place) && !message.includes('\n'), message);
				assert.match(message, said);
				return true;
			},
		);
	});
}

test('a folder that this user may not write to is refused', { skip: process.getuid?.() === 0 }, () => {
	const shut = join(folder, 'shut');
	mkdirSync(shut, { mode: 0o500 });
	assert.throws(() => prepareFolder(shut), /SVC_DATA_DIR .*this user may not write to it/);
});

test('a damaged secrets file is reported without its content', () => {
	const spoilt = join(folder, 'spoilt');
	prepareFolder(spoilt);
	writeFileSync(join(spoilt, 'secrets.json'), '{"jwtSecret": "very-secret-indeed');
	assert.throws(
		() => ownSecrets(spoilt),
		({ message }: Error) => message.startsWith('SVC_DATA_DIR ') && message.includes('secrets.json') && !message.includes('very'),
	);
});
