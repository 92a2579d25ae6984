// Tests that credentials are read exactly as RFC 7617 says, and a little more strictly.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBasic } from './credentials.ts';

const encoded = (text: string | Buffer): string => Buffer.from(text).toString('base64');
const read = (text: string | Buffer) => readBasic(`Basic ${encoded(text)}`);

test('the first colon splits; what comes after it, colons too, is the password (RFC 7617 §2)', () => {
	assert.deepEqual(read('a@x.example:p'), { email: 'a@x.example', password: 'p' });
	assert.deepEqual(read('a@x.example:p:q:'), { email: 'a@x.example', password: 'p:q:' });
	assert.deepEqual(read('a:::'), { email: 'a', password: '::' });
	for (const text of ['a@x.example', ':p', 'a:', ':', '']) assert.equal(read(text), null, text);
});

test('the scheme’s name is read in any case, with as many spaces as there are (RFC 9110 §11)', () => {
	for (const scheme of ['Basic ', 'basic ', 'BASIC ', 'bAsIc    ']) {
		assert.deepEqual(readBasic(`${scheme}${encoded('a:p')} `), { email: 'a', password: 'p' });
	}
	for (const header of ['Basic', 'Basic ', `Basic${encoded('a:p')}`, `Basic\t${encoded('a:p')}`, `Digest ${encoded('a:p')}`, '']) {
		assert.equal(readBasic(header), null, header);
	}
});

test('only canonical base64 with its padding is read', () => {
	for (const text of ['YTpw=', 'YTpwcQ', 'YTpwcQ=', 'YTpwcR==', 'YTpw YTpw', 'YTpw,YTpw', 'YTpw====', 'YT-w', 'YTpw\n', '=', '====']) {
		assert.equal(readBasic(`Basic ${text}`), null, text);
	}
	assert.deepEqual(readBasic('Basic YTpwcQ=='), { email: 'a', password: 'pq' });
});

test('the text is UTF-8, as the challenge says; other bytes are refused (RFC 7617 §2.1)', () => {
	assert.deepEqual(read('é@x.example:päss😀'), { email: 'é@x.example', password: 'päss😀' });
	assert.equal(read(Buffer.from('a:p\u00e4ss', 'latin1')), null);
	for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
		assert.equal(read(Buffer.concat([Buffer.from('a:'), Buffer.from(bytes)])), null);
	}
});

test('control characters are refused in either part (RFC 7617 §2)', () => {
	for (const control of ['\0', '\t', '\r', '\n', '\x1f', '\x7f']) {
		assert.equal(read(`a${control}:p`), null);
		assert.equal(read(`a:p${control}`), null);
	}
});

test('a header longer than an e-mail address and a password can be is not decoded', () => {
	assert.ok(read(`a:${'p'.repeat(700)}`));
	assert.equal(read(`a:${'p'.repeat(800)}`), null);
});
