// Names in XML, characters that no document may contain, and the spelling of numbers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError } from '../contract/errors.ts';
import { escapeXml, escapeXmlAttribute, isNcName, xmlDecimal, xmlScalar, xmlText } from './xml-text.ts';

test('names are those of XML’s own productions, without a colon', () => {
	for (const name of ['a', '_', 'A-1.b', 'ü', 'é1', 'a·b', '日本', '\u{10000}', 'x\u0300', 'x'.repeat(500)])
		assert.ok(isNcName(name), name);
	for (const name of [
		'',
		'1a',
		'-a',
		'.a',
		'a b',
		'a:b',
		'a>',
		'a"',
		'ª',
		'µ',
		'×',
		'a²',
		'\u0300',
		'\u2028',
		'\ud800',
		'a\n',
		'x'.repeat(501),
	])
		assert.ok(!isNcName(name), JSON.stringify(name));
});

test('text is escaped for content and for attributes', () => {
	assert.deepEqual([escapeXml('plain "é"\n\t'), escapeXml('<&>\r')], ['plain "é"\n\t', '&lt;&amp;&gt;&#13;']);
	assert.equal(escapeXmlAttribute('a"<\n\t\r'), 'a&quot;&lt;&#10;&#9;&#13;');
});

test('numbers are decimals, and a value that XML cannot represent is named by its pointer, which is computed only then', () => {
	assert.deepEqual(
		[0, -1.5, 1e-7, 123456789012345, 2 ** 53 - 1].map((number) => xmlDecimal(number, '/a')),
		['0', '-1.5', '0.0000001', '123456789012345', '9007199254740991'],
	);
	assert.deepEqual([xmlScalar(true, assert.fail), xmlText('ok\t\n\r😀', assert.fail)], ['true', 'ok\t\n\r😀']);
	const refused: (() => unknown)[] = [
		() => xmlDecimal(2 ** 53, '/a'),
		() => xmlScalar({}, () => '/a'),
		() => xmlScalar(null, '/a'),
		...['\u0000', '\u001f', '\ud800', '\ufffe'].map((text) => () => xmlText(text, () => '/a')),
	];
	for (const refuse of refused) assert.throws(refuse, (error) => asGatewayError(error)?.details[0]?.path === '/a');
});
