// The tree of an XML text, refused documents, and gradual parsing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attributeOf, decodeXml, parseXml, parseXmlGradually, resolveName } from './xml.ts';

const BOUNDS = { maxDepth: 10, maxNodes: 100 };
const signal = new AbortController().signal;

test('elements and attributes have their namespaces, text is whole, and children have their offset in it', () => {
	const root = parseXml('\ufeff\n<a xmlns="u" xmlns:p="v" p:x="1" y="&lt;2">t<p:b/><![CDATA[<c>]]>&#65;<d xmlns=""/></a>', BOUNDS);
	assert.deepEqual([root.uri, root.local, root.text], ['u', 'a', 't<c>A']);
	assert.deepEqual([attributeOf(root, 'x', 'v'), attributeOf(root, 'y'), attributeOf(root, 'x')], ['1', '<2', null]);
	assert.deepEqual(
		root.children.map(({ uri, local, offset }) => [uri, local, offset]),
		[
			['v', 'b', 1],
			['', 'd', 5],
		],
	);
	assert.equal(root.attributes.length, 2, 'declarations are not attributes');
});

test('a name in a value is resolved in its own scope', () => {
	const root = parseXml('<a xmlns="u" xmlns:p="v"><b xmlns:p="w" xmlns=""/></a>', BOUNDS);
	const [child] = root.children;
	assert.deepEqual(
		[resolveName('p:x', root), resolveName(' x ', root), resolveName('q:x', root), resolveName('toString:x', root)],
		[{ uri: 'v', local: 'x' }, { uri: 'u', local: 'x' }, null, null],
	);
	assert.deepEqual(child && [resolveName('p:x', child), resolveName('x', child)], [
		{ uri: 'w', local: 'x' },
		{ uri: '', local: 'x' },
	]);
});

const REFUSED: [what: string, text: string, says: RegExp][] = [
	['a DOCTYPE', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<a>&x;</a>', /line 1, column 5\d: a DOCTYPE is not allowed/],
	['an unknown entity', '<a>&x;</a>', /line 1, column \d+: undefined entity/],
	['too many levels', '<a>'.repeat(11), /nested deeper than 10 levels/],
	['too many elements', `<a>${'<b/>'.repeat(100)}</a>`, /more than 100 elements and attributes/],
	['too many attributes', `<a ${Array.from({ length: 101 }, (_, n) => `a${n}=""`).join(' ')}/>`, /more than 100 elements and attributes/],
	['half a document', '<a><b></b>', /line 1, column \d+: unclosed tag/],
	['an unknown prefix', '<p:a/>', /unbound namespace prefix/],
	['two roots', '<a/><b/>', /documents may contain only one root/],
	['nothing', '', /must contain a root element/],
	['control characters', '<a>\u0001</a>', /disallowed character/],
];

for (const [what, text, says] of REFUSED)
	test(`XML with ${what} is refused, with its line and column`, async () => {
		assert.throws(() => parseXml(text, BOUNDS), says);
		await assert.rejects(parseXmlGradually(text, BOUNDS, signal), says);
	});

test('one element has at most a thousand attributes, however many nodes there may be', () => {
	const bounds = { maxDepth: 10, maxNodes: 100_000 };
	const element = (count: number): string => `<b ${Array.from({ length: count }, (_, n) => `a${n}=""`).join(' ')}/>`;
	assert.equal(parseXml(`<a>${element(1_000)}${element(1_000)}</a>`, bounds).children[1]?.attributes.length, 1_000);
	assert.throws(() => parseXml(element(1_001), bounds), /an element has more than 1000 attributes/);
});

test('parsing gradually gives the same, wherever the slices end, and stops with its signal', async () => {
	const text = `<a>${'<b c="é😀">é&amp;😀</b>'.repeat(20_000)}</a>`;
	const bounds = { maxDepth: 10, maxNodes: 100_000 };
	assert.deepEqual(await parseXmlGradually(text, bounds, signal), parseXml(text, bounds));
	await assert.rejects(parseXmlGradually(text, bounds, AbortSignal.abort(new Error('gone'))), /gone/);
});

test('bytes are decoded by their mark, their header or what they declare, else as UTF-8', () => {
	const declared = (encoding: string): string => `<?xml version="1.0" encoding="${encoding}"?><a>ü</a>`;
	assert.match(decodeXml(Buffer.from(declared('iso-8859-1'), 'latin1')), /ü/);
	assert.match(decodeXml(Buffer.from('<a>ü</a>', 'latin1'), 'text/xml; charset="ISO-8859-1"'), /ü/);
	assert.match(decodeXml(Buffer.from(`\ufeff${declared('iso-8859-1')}`, 'utf16le')), /ü/);
	assert.match(decodeXml(Buffer.from(`\ufeff${declared('iso-8859-1')}`)), /ü/);
	assert.match(decodeXml(Buffer.from(declared('x-nobody'))), /ü/);
});
