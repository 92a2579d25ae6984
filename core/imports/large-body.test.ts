// Large bodies of imports: read as the parser of JSON reads them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../http/body.ts';
import { takeContent } from './large-body.ts';
import { readImportRequest } from './request.ts';

const LARGE = 'x'.repeat(1024 * 1024);
const TEXT = `{"a": "b\\n\\u00e4"}\n\t\r\b\f/\\ ä€😀\ufeff${LARGE}`;

/** Writes escapes that JSON.stringify does not write by itself. */
const bodyOf = (text: string, more = ''): Buffer => Buffer.from(`{"schemaContent":${JSON.stringify(text).replaceAll('/', '\\/')}${more}}`);

test('the document at the beginning of a large body is taken as the parser reads it, with its bytes', () => {
	for (const more of ['', ',"generateTools":true,"tags":["a","ä"]', ' , "options" : {"depth":[1,{}]} ']) {
		const parsed = parseJson(bodyOf(TEXT, more)) as { schemaContent: string };
		const request = readImportRequest(bodyOf(TEXT, more));
		assert.equal(request.schemaContent === parsed.schemaContent && parsed.schemaContent === TEXT, true);
		assert.ok(request.contentBytes?.equals(Buffer.from(TEXT)));
		assert.deepEqual(request.generation, more.includes('tags') ? { tags: ['a', 'ä'] } : null);
	}
	const spaced = Buffer.from(` {\n"schemaContent" :\t${JSON.stringify(TEXT)} }`);
	assert.equal(takeContent(spaced)?.content.toString() === TEXT, true);
});

test('any other body is left to the parser as it is', () => {
	const bodies = {
		small: Buffer.from('{"schemaContent":"x"}'),
		'begins otherwise': Buffer.from(`{"allowEmpty":true,"schemaContent":"${LARGE}"}`),
		'is not a text': Buffer.from(`{"schemaContent":["${LARGE}"]}`),
		'has \\u': Buffer.from(`{"schemaContent":"\\u0000${LARGE}"}`),
		'has a control character': Buffer.from(`{"schemaContent":"\n${LARGE}"}`),
		'has no such escape': Buffer.from(`{"schemaContent":"\\x${LARGE}"}`),
		'ends within': Buffer.from(`{"schemaContent":"${LARGE}`),
		'ends within an escape': Buffer.from(`{"schemaContent":"${LARGE}\\`),
		'has a second one': bodyOf(TEXT, ',"schemaContent":"y"'),
		'has an escaped name': bodyOf(TEXT, ',"schema\\u0043ontent":"y"'),
		'is not JSON': bodyOf(TEXT, ',"a":'),
		'has more behind': Buffer.concat([bodyOf(TEXT), Buffer.from('{}')]),
		'is not UTF-8': Buffer.concat([Buffer.from(`{"schemaContent":"${LARGE}`), Buffer.from([0xff]), Buffer.from('"}')]),
	};
	for (const [name, body] of Object.entries(bodies)) {
		const before = Buffer.from(body);
		assert.equal(takeContent(body), null, name);
		assert.ok(body.equals(before), name);
	}
});
