// Configs of the `http` executor that are accepted and refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { config } from './config.ts';

const OK = { method: 'GET', url: 'https://api.example.com/pets' };

const REFUSED: [what: string, config: object, names: RegExp][] = [
	['no method', { url: OK.url }, /"method" is required/],
	['no url', { method: 'GET' }, /"url" is required/],
	['a method that is none', { ...OK, method: 'FETCH' }, /"method" must be one of/],
	['TRACE', { ...OK, method: 'TRACE' }, /"method" must be one of/],
	['an unknown field', { ...OK, retries: 3 }, /"retries" is not allowed/],
	['a placeholder as scheme', { ...OK, url: '{scheme}://api.example.com/' }, /"url" must be/],
	['a placeholder in the host', { ...OK, url: 'https://{tenant}.example.com/' }, /"url" must be/],
	['a placeholder as the end of the host', { ...OK, url: 'https://api.example.com{path}' }, /"url" must be/],
	['a placeholder as port', { ...OK, url: 'https://api.example.com:{port}/' }, /"url" must be/],
	['userinfo', { ...OK, url: 'https://user:pass@api.example.com/' }, /"url" must be/],
	['another scheme', { ...OK, url: 'file:///etc/passwd' }, /"url" must be/],
	['a host without scheme', { ...OK, url: '//api.example.com/' }, /"url" must be/],
	['a path without slash', { ...OK, url: 'pets' }, /"url" must be/],
	['a backslash', { ...OK, url: 'https://api.example.com\\pets' }, /"url" must be/],
	['a fragment', { ...OK, url: 'https://api.example.com/#x' }, /"url" must be/],
	['a space', { ...OK, url: 'https://api.example.com/a b' }, /"url" must be/],
	['an unclosed placeholder', { ...OK, url: '/pets/{id' }, /"url" must be/],
	['a bad port', { ...OK, url: 'https://api.example.com:99999/' }, /"url" must be/],
	['dot segments', { ...OK, url: '/pets/../admin' }, /"url" may not contain \. or \.\. segments/],
	['encoded dot segments', { ...OK, url: '/pets/%2E%2e/admin' }, /"url" may not contain/],
	['a reserved header', { ...OK, headers: { Host: 'x' } }, /"Host", which is set by the gateway itself/],
	['a header that frames the message', { ...OK, headers: { 'content-length': '1' } }, /which is set by the gateway itself/],
	['a header name with a space', { ...OK, headers: { 'a b': 'x' } }, /which is not a header name/],
	['a header name that looks like a template', { ...OK, headers: { '{{#label}}': 'x' } }, /"\{\{#label\}\}", which is not a header name/],
	['a header value with a line break', { ...OK, headers: { a: 'b\r\nc: d' } }, /must be text of one line/],
	[
		'a header parameter of a reserved name',
		{ ...OK, parameters: [{ arg: 'h', name: 'Transfer-Encoding', in: 'header' }] },
		/set by the gateway itself/,
	],
	[
		'a style that its place does not have',
		{ ...OK, parameters: [{ arg: 'a', name: 'a', in: 'query', style: 'matrix' }] },
		/must be one of form, spaceDelimited/,
	],
	['a parameter in no place', { ...OK, parameters: [{ arg: 'a', name: 'a', in: 'body' }] }, /must be one of/],
	['a media type with a line break', { ...OK, requestBody: { arg: 'b', contentType: 'a/b\r\nc: d' } }, /media type/],
	['two bodies', { ...OK, body: {}, requestBody: { arg: 'b', contentType: 'a/b' } }, /must not exist simultaneously/],
	['a credential type that does not exist', { ...OK, security: [['password']] }, /must be one of/],
	['no patience', { ...OK, timeoutMs: 0 }, /"timeoutMs"/],
	['too much patience', { ...OK, timeoutMs: 120_001 }, /"timeoutMs"/],
	['a nested query', { ...OK, query: { a: { b: 1 } } }, /"query.a"/],
];

for (const [what, given, names] of REFUSED)
	test(`A config with ${what} is refused`, () => {
		assert.match(config.validate(given).error?.message ?? 'accepted', names);
	});

test('The method is upper-cased and the time limit defaults to 30 seconds', () => {
	assert.deepEqual(config.validate({ ...OK, method: 'post' }).value, { ...OK, method: 'POST', timeoutMs: 30_000 });
});

test('A URL may have placeholders in path and query', () => {
	for (const url of ['https://api.example.com:8443/{a}/x.{b}?c={d}', 'http://[::1]:4000/{a}', 'HTTPS://api.example.com?c={d}', '/{a}', '/'])
		assert.equal(config.validate({ ...OK, url }).error, undefined, url);
});

test('Every field says what it is for', () => {
	const undescribed: string[] = [];
	const visit = (path: string, description: { flags?: { description?: string }; keys?: object; items?: object[] }): void => {
		if (path !== '' && !path.endsWith('[]') && !description.flags?.description) undescribed.push(path);
		for (const [key, value] of Object.entries(description.keys ?? {})) visit(`${path}/${key}`, value);
		for (const item of description.items ?? []) visit(`${path}[]`, item);
	};
	visit('', config.describe());
	assert.deepEqual(undescribed, []);
});
