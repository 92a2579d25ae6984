// Tests of trees and packets: their form, and work that grows with what they hold and no faster.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Objects, putFiles, reach } from './objects.ts';
import { FLUSH, line, readPackets } from './packets.ts';

/** Returns the names of a tree with their modes. */
function entriesOf(objects: Objects, id: string): [mode: string, name: string, id: string][] {
	const { data } = objects.get(id) ?? assert.fail(id);
	const entries: [string, string, string][] = [];
	for (let at = 0; at < data.length; ) {
		const end = data.indexOf(0, at);
		const [mode = '', name = ''] = data.toString('utf8', at, end).split(' ');
		entries.push([mode, name, data.toString('hex', end + 1, end + 21)]);
		at = end + 21;
	}
	return entries;
}

test('a tree has its files and folders in the order of git, scripts may be run', async () => {
	const objects: Objects = new Map();
	const paths = ['skills/a/SKILL.md', 'skills/a/scripts/run.mjs', 'skills/a.b/SKILL.md', 'skills/a/scripts.md', 'README.md'];
	const { tree, blobs } = await putFiles(objects, new Map(paths.map((path) => [path, Buffer.from(path)])));
	const [, [, , skills = ''] = []] = entriesOf(objects, tree);
	assert.deepEqual(
		entriesOf(objects, tree).map(([mode, name]) => `${mode} ${name}`),
		['100644 README.md', '40000 skills'],
	);
	const [, [, , a = ''] = []] = entriesOf(objects, skills);
	assert.deepEqual(
		entriesOf(objects, skills).map(([, name]) => name),
		['a.b', 'a'],
	);
	assert.deepEqual(
		entriesOf(objects, a).map(([mode, name]) => `${mode} ${name}`),
		['100644 SKILL.md', '100644 scripts.md', '40000 scripts'],
	);
	const found = new Set<string>();
	reach(objects, tree, found);
	assert.ok(Object.values(blobs).every((id) => found.has(id)));
	assert.equal(found.size, objects.size);
});

test('thousands of folders are one pass over their files', async () => {
	const looked = { count: 0 };
	const files = new Map<string, Buffer>();
	for (let skill = 0; skill < 50; skill++)
		for (let at = 0; at < 64; at++) files.set(`skills/s${skill}/f${at}/x/y/z.md`, Buffer.from(`${skill} ${at}`));
	const counted = {
		[Symbol.iterator]: function* () {
			for (const entry of files) {
				looked.count++;
				yield entry;
			}
		},
	};
	const objects: Objects = new Map();
	const { tree } = await putFiles(objects, counted as typeof files);
	assert.equal(looked.count, files.size);
	const found = new Set<string>();
	reach(objects, tree, found);
	assert.equal(found.size, objects.size);
});

test('a request has at most twenty thousand packets, which are all that a body has room for if they name commits', () => {
	assert.equal(readPackets(Buffer.from(line('want x\n') + FLUSH)).length, 2);
	assert.equal(readPackets(Buffer.from(FLUSH.repeat(20_000))).length, 20_000);
	assert.throws(() => readPackets(Buffer.from(FLUSH.repeat(20_001))), { code: 'validation_failed' });
});
