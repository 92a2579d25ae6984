// Tests of the place of a path among gateways: whatever has one is a gateway's path for limits and CORS too, and nothing else is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOf, withoutLastSlashes } from './places.ts';
import { reservedSegments } from './reserved.ts';

const reserved = reservedSegments(['acme-hooks']);
const placed = (path: string): string | null => {
	const place = placeOf(path);
	return place && [place.organization, place.endpoint, place.suffix, place.path].join(' ');
};

const SPELLINGS: [path: string, place: string][] = [
	['/acme/main', 'acme main  /'],
	['/acme/main/', 'acme main  /'],
	['/acme/main//', 'acme main  /'],
	['/acme/main/tools/x', 'acme main  /tools/x'],
	['/acme/main/tools/x//', 'acme main  /tools/x'],
	['/@acme/main', 'acme main  /'],
	['/@acme/main/tools', 'acme main  /tools'],
	['/acme/main.git', 'acme main .git /'],
	['/acme/main.git/info/refs', 'acme main .git /info/refs'],
	['/@acme/main.git/info/refs', 'acme main .git /info/refs'],
	['/acme/main.git.git', 'acme main .git.git /'],
	['/acme/main/.well-known/x', 'acme main  /.well-known/x'],
	['/.well-known/x/acme/main', 'acme main  /.well-known/x'],
	['/.well-known/x/@acme/main', 'acme main  /.well-known/x'],
	['/.well-known/x/@acme/main.git', 'acme main .git /.well-known/x'],
	['/acme/main/%2e%2e/y', 'acme main  /%2e%2e/y'],
];

for (const [path, place] of SPELLINGS)
	test(`${path} is at a gateway`, () => {
		assert.equal(placed(path), place);
		assert.equal(reserved.isGatewayPath(path), true);
	});

const NONE = ['/', '/acme', '/@acme', '//acme/main', '/@/main', '/.well-known/x', '/.well-known/x/acme', '/.well-known/x/acme/main/more'];
for (const path of [...NONE, '/.well-known/x/acme/', '/.well-known/x//main', '/.well-known/x/@/main'])
	test(`${path} is at none`, () => {
		assert.equal(placed(path), null);
		assert.equal(reserved.isGatewayPath(path), false);
	});

const RESERVED = [
	'/apis/x',
	'/@apis/x',
	'/APIS/x',
	'/@APIS/x',
	'/acme-hooks/x',
	'/@acme-hooks/x',
	'/@@acme/main',
	'/@.well-known/x/acme/main',
];
for (const path of [...RESERVED, '/.well-known/x/apis/main', '/.well-known/x/@apis/main', '/.well-known/x/@@acme/main', '/.acme/main'])
	test(`${path} is no gateway’s`, () => assert.equal(reserved.isGatewayPath(path), false));

test('slashes at the end are removed, however many stand elsewhere', () => {
	// An expression that begins anew at each slash would not come to an end.
	const many = '/'.repeat(1_000_000);
	assert.equal(withoutLastSlashes(`/a${many}b//`), `/a${many}b`);
	assert.deepEqual(['/a', '/a/', '//', ''].map(withoutLastSlashes), ['/a', '/a', '', '']);
});
