// Tests of the page for people who open the address of a server in a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Incoming } from '../../../core/index.ts';
import { prefersHtml } from './accept.ts';
import { pageFor } from './page.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
const AT = { url: 'https://gatehouse.example/acme/main', name: 'Main' };
// No other member of the request is read.
const visit = (change: Partial<Incoming> = {}): Incoming =>
	({ method: 'GET', path: '/', headers: { accept: BROWSER }, ...change }) as Partial<Incoming> as Incoming;
const textOf = (at = AT): string => String(pageFor({ status: 401 }, visit(), at)?.body);

const PREFERRED = [
	BROWSER,
	'text/html',
	'TEXT/HTML; charset=utf-8',
	'text/html, application/json;q=0.9',
	'text/*, application/json;q=0.1, text/event-stream;q=0',
];
const NOT = [
	undefined,
	'',
	'*/*',
	'application/json, text/event-stream',
	'text/html, */*',
	'text/html;q=0',
	'application/json, text/html;q=0.9',
	'text/html;q=0.5, */*',
	';;',
	'text/html;q=x, application/json',
];
for (const [accept, isPreferred] of [...PREFERRED.map((text) => [text, true] as const), ...NOT.map((text) => [text, false] as const)])
	test(`Accept: ${accept} ${isPreferred ? 'gets a page' : 'gets the protocol’s answer'}`, () =>
		assert.equal(prefersHtml(accept), isPreferred));

test('a browser gets the page with the status that it would get anyway', () => {
	for (const status of [401, 405, 406]) assert.equal(pageFor({ status }, visit(), AT)?.status, status);
	for (const status of [400, 403, 404, 429, 500]) assert.equal(pageFor({ status }, visit(), AT), null);
	assert.equal(pageFor({ status: 401 }, visit({ method: 'POST' }), AT), null);
	assert.equal(pageFor({ status: 404 }, visit({ path: '/other' }), AT), null);
});

test('it has the line for each program, under a name made of the address', () => {
	const text = textOf();
	for (const line of [
		'claude mcp add --transport http acme-main https://gatehouse.example/acme/main',
		'&quot;acme-main&quot;: {',
		'code --add-mcp &#39;{&quot;name&quot;:&quot;acme-main&quot;,&quot;type&quot;:&quot;http&quot;,&quot;url&quot;:&quot;https://gatehouse.example/acme/main&quot;}&#39;',
	])
		assert.ok(text.includes(line), line);
	assert.ok(textOf({ url: 'https://tools.example:8443/mcp', name: 'All' }).includes(' tools-example-mcp https://tools.example:8443/mcp'));
});

test('a name is text, and nothing on the page runs or loads', () => {
	const text = textOf({ ...AT, name: '<script>alert(1)</script> "&\u202e' });
	assert.ok(text.includes('&lt;script&gt;alert(1)&lt;/script&gt; &quot;&amp;'));
	assert.doesNotMatch(text, /<script|\u202e|src=|href=/);
	const { headers = {} } = pageFor({ status: 401 }, visit(), AT) ?? {};
	assert.match(headers['content-security-policy'] ?? '', /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'none'/);
	assert.ok(textOf({ ...AT, name: '\u200b' }).includes(`<bdi>${AT.url}</bdi>`), 'a name that shows nothing');
});
