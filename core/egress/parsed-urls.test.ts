// Tests URLs that were parsed before.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownUrl, urlParts } from './parsed-urls.ts';

test('a text is parsed once, and one that is no URL stays none', () => {
	assert.equal(knownUrl('https://a.example/b?c=1'), knownUrl('https://a.example/b?c=1'));
	assert.equal(knownUrl('https://a.example/b?c=1')?.search, '?c=1');
	assert.deepEqual([knownUrl('no URL'), knownUrl('no URL')], [null, null]);
});

test('long texts are not kept, and of many the first ones are given up', () => {
	const long = `https://a.example/${'x'.repeat(2000)}`;
	assert.notEqual(knownUrl(long), knownUrl(long));
	const first = knownUrl('https://first.example/');
	for (let at = 0; at < 1000; at++) knownUrl(`https://a.example/${at}`);
	assert.notEqual(knownUrl('https://first.example/'), first);
});

test('the parts of a URL are those of its getters', () => {
	const url = new URL('https://user@A.example:8443/b%20c/?d=e#f');
	assert.deepEqual(urlParts(url), { href: url.href, origin: url.origin, host: 'a.example:8443', target: '/b%20c/?d=e' });
	assert.equal(urlParts(url), urlParts(url));
});
