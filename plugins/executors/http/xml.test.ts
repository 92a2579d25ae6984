// Bodies in XML to the byte: documents that a plan makes of JSON, values that XML cannot carry, and invalid plans.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type Json, parseXml } from '../../../core/index.ts';
import http from './index.ts';
import { buildRequest } from './request.ts';
import type { XmlPlan } from './xml-plan.ts';

const configured = (xml: object, contentType = 'application/xml'): object => ({
	method: 'POST',
	url: 'https://api.example.com/x',
	requestBody: { arg: 'body', contentType, xml },
});

function written(xml: XmlPlan, body: Json, contentType?: string): { type: string | undefined; bytes: Buffer } {
	const { value, error } = http.config.validate(configured(xml, contentType));
	assert.equal(error, undefined);
	const request = buildRequest(value, { body }, null);
	return { type: request.headers?.['content-type'], bytes: Buffer.from(request.body ?? '') };
}

/** Writes a body, has a parser read it, and returns it without the declaration. */
function document(xml: XmlPlan, body: Json): string {
	const [first, ...rest] = written(xml, body).bytes.toString().split('\n');
	assert.equal(first, '<?xml version="1.0" encoding="UTF-8"?>');
	parseXml(rest.join('\n'), { maxDepth: 400, maxNodes: 100_000 });
	return rest.join('\n');
}

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
const PET: XmlPlan = {
	root: { name: 'pet', of: 'Pet' },
	types: {
		Pet: {
			members: {
				id: { as: 'attribute' },
				name: {},
				tags: { items: { name: 'tag' } },
				photos: { as: 'none', items: { name: 'photo' } },
				mother: { of: 'Pet' },
			},
		},
	},
};

const WRITTEN: [what: string, plan: XmlPlan, body: Json, xml: string][] = [
	[
		'members in the plan’s order, others after them',
		PET,
		{ other: 1, name: 'Rex', id: 7 },
		'<pet id="7"><name>Rex</name><other>1</other></pet>',
	],
	[
		'a list in its element, and one without',
		PET,
		{ tags: ['a', 'b'], photos: ['c', 'd'] },
		'<pet><tags><tag>a</tag><tag>b</tag></tags><photo>c</photo><photo>d</photo></pet>',
	],
	['lists without items', PET, { tags: [], photos: [] }, '<pet><tags/></pet>'],
	['one item where a list is meant', PET, { photos: 'c' }, '<pet><photo>c</photo></pet>'],
	[
		'what holds itself',
		PET,
		{ mother: { name: 'Lassie', mother: { id: 1 } } },
		'<pet><mother><name>Lassie</name><mother id="1"/></mother></pet>',
	],
	[
		'null: an element that is nil, no attribute, no item of a list',
		PET,
		{ id: null, name: null, photos: null },
		`<pet ${XSI}><name xsi:nil="true"/></pet>`,
	],
	['an item that is null', PET, { tags: ['a', null] }, `<pet ${XSI}><tags><tag>a</tag><tag xsi:nil="true"/></tags></pet>`],
	['nothing', PET, {}, '<pet/>'],
	['null alone', PET, null, `<pet ${XSI} xsi:nil="true"/>`],
	[
		'what must be escaped',
		PET,
		{ id: '<"&\t\n\r>', name: '<a b="c">&amp;]]>\r\n\t' },
		'<pet id="&lt;&quot;&amp;&#9;&#10;&#13;&gt;"><name>&lt;a b="c"&gt;&amp;amp;]]&gt;&#13;\n\t</name></pet>',
	],
	['characters of every plane', PET, { name: 'ü€😀\ufffd' }, '<pet><name>ü€😀\ufffd</name></pet>'],
	[
		'numbers and booleans',
		{ root: { name: 'n' } },
		{ a: 1, b: -0.5, c: 1e-7, d: 1e15, e: true, f: false, g: -0 },
		'<n><a>1</a><b>-0.5</b><c>0.0000001</c><d>1000000000000000</d><e>true</e><f>false</f><g>0</g></n>',
	],
	[
		'values that the plan does not describe',
		{ root: { name: 'n' } },
		{ a: { b: [1, { c: 2 }, [3]] } },
		'<n><a><b>1</b><b><c>2</c></b><b>3</b></a></n>',
	],
	[
		'members of any name',
		{ root: { name: 'map', others: { items: { name: 'v' } } } },
		{ x: [1], y: [2] },
		'<map><x><v>1</v></x><y><v>2</v></y></map>',
	],
	[
		'items called as their list',
		{ root: { name: 'd', members: { animals: { items: {} } } } },
		{ animals: ['dog'] },
		'<d><animals><animals>dog</animals></animals></d>',
	],
	[
		'a list at the root',
		{ root: { name: 'pets', items: { name: 'pet', of: 'P' } }, types: { P: { members: { id: { as: 'attribute' } } } } },
		[{ id: 1 }, { id: 2 }],
		'<pets><pet id="1"/><pet id="2"/></pets>',
	],
	[
		'text beside attributes',
		{ root: { name: 'a', members: { kind: { as: 'attribute' }, text: { as: 'text' } } } },
		{ text: 'x<', kind: 'k' },
		'<a kind="k">x&lt;</a>',
	],
	[
		'a CDATA section',
		{ root: { name: 'a', members: { html: { as: 'cdata' } } } },
		{ html: '<b>]]>\r&' },
		'<a><![CDATA[<b>]]]]><![CDATA[>]]>&#13;<![CDATA[&]]></a>',
	],
	[
		'items by their place',
		{ root: { name: 'r', first: [{ as: 'text' }, { name: 'data' }], items: { name: 'more' } } },
		['Some ', 42, 1, 2],
		'<r>Some <data>42</data><more>1</more><more>2</more></r>',
	],
	['a node in a node', { root: { name: 'out', inner: { name: 'in', members: {} } } }, { a: 1 }, '<out><in><a>1</a></in></out>'],
	[
		'an object in place',
		{ root: { name: 'a', members: { o: { as: 'none', members: { x: { as: 'attribute' }, y: {} } } } } },
		{ o: { x: 1, y: 2 } },
		'<a x="1"><y>2</y></a>',
	],
	['a root that its only member is', { root: { as: 'none', members: { Config: {} } } }, { Config: { a: 1 } }, '<Config><a>1</a></Config>'],
	[
		'prefixes, declared once',
		{ root: { name: 'P', members: { a: { prefix: 's', ns: 'urn:s?a&b' }, b: { prefix: 's', ns: 'urn:s?a&b', as: 'attribute' } } } },
		{ a: 1, b: 2 },
		'<P xmlns:s="urn:s?a&amp;b" s:b="2"><s:a>1</s:a></P>',
	],
	['a prefix that nothing uses', { root: { name: 'P', members: { a: { prefix: 's', ns: 'urn:s' } } } }, {}, '<P/>'],
	['a prefixed root', { root: { name: 'P', prefix: 's', ns: 'urn:s' } }, { a: 1 }, '<s:P xmlns:s="urn:s"><a>1</a></s:P>'],
	[
		'a default namespace, declared where it changes',
		{ root: { name: 'P', ns: 'urn:p', members: { a: { ns: 'urn:p' }, b: { ns: 'urn:b', members: { c: { ns: 'urn:b' } } } } } },
		{ a: 1, b: { c: 2 } },
		'<P xmlns="urn:p"><a>1</a><b xmlns="urn:b"><c>2</c></b></P>',
	],
	['xml:lang', { root: { name: 'P', members: { lang: { as: 'attribute', prefix: 'xml' } } } }, { lang: 'de' }, '<P xml:lang="de"/>'],
];

for (const [what, plan, body, xml] of WRITTEN) test(`XML is written of ${what}`, () => assert.equal(document(plan, body), xml));

test('the charset is UTF-8, or the one that the media type names', () => {
	assert.deepEqual(written(PET, {}), {
		type: 'application/xml; charset=utf-8',
		bytes: Buffer.from('<?xml version="1.0" encoding="UTF-8"?>\n<pet/>'),
	});
	assert.equal(written(PET, {}, 'application/vnd.x+xml; v="1"').type, 'application/vnd.x+xml; v="1"; charset=utf-8');
	const latin = written(PET, { name: 'ü' }, 'text/xml; charset=ISO-8859-1');
	assert.equal(latin.type, 'text/xml; charset=ISO-8859-1');
	assert.equal(latin.bytes.toString('latin1'), '<?xml version="1.0" encoding="ISO-8859-1"?>\n<pet><name>ü</name></pet>');
	assert.throws(
		() => written(PET, { name: '€' }, 'text/xml; charset=ISO-8859-1'),
		/\/body holds characters that cannot be written as iso-8859-1/,
	);
});

test('a text is sent as the document, and an absent argument is no body', () => {
	assert.deepEqual(written(PET, '<pet/>'), { type: 'application/xml', bytes: Buffer.from('<pet/>') });
	const { value } = http.config.validate(configured(PET));
	assert.equal(buildRequest(value, {}, null).body, null);
});

const many = (count: number): Json => Array.from({ length: count }, () => 1);
const REFUSED: [what: string, body: Json, path: string, says: RegExp, plan?: XmlPlan][] = [
	['control characters', { name: 'a\u0000' }, '/body/name', /must not contain control characters/],
	['half a surrogate pair', { tags: ['a', '\ud800'] }, '/body/tags/1', /must not contain control characters/],
	['a character that is none, in an attribute', { id: '\ufffe' }, '/body/id', /must not contain control characters/],
	['a member that no element can be called', { mother: { 'a b': 1 } }, '/body/mother/a b', /must have a name/],
	['a member that would be markup', { 'a><b': 1 }, '/body/a><b', /must have a name/],
	['a member that would declare a namespace', { xmlns: 'urn:x' }, '/body/xmlns', /must have a name/],
	['a member with a prefix', { 'x:y': 1 }, '/body/x:y', /must have a name/],
	['an object in an attribute', { id: { a: 1 } }, '/body/id', /must be a string, number or boolean/],
	['an integer that has lost digits', { name: 2 ** 60 }, '/body/name', /must be given as a string of digits/],
	['two roots', { a: 1, b: 2 }, '/body', /must hold exactly one member/, { root: { as: 'none' } }],
	['no root', {}, '/body', /must hold exactly one member/, { root: { as: 'none' } }],
	['a list as the root', [{ a: 1 }, { a: 1 }], '/body', /must hold exactly one member/, { root: { as: 'none', items: { name: 'x' } } }],
	[
		'two attributes of one name',
		{ a: 1, b: 2 },
		'/body/b',
		/a second attribute called x/,
		{ root: { name: 'r', members: { a: { as: 'attribute', name: 'x' }, b: { as: 'attribute', name: 'x' } } } },
	],
	['more values than are written', { tags: many(20_000) }, '/body', /holds more than 20000 values/],
	[
		'more text than is written',
		{ tags: Array.from({ length: 50 }, () => 'x'.repeat(100_000)) },
		'/body',
		/makes more than 4194304 characters/,
	],
	[
		'a plan that leads to itself',
		'none',
		'/body',
		/nested too deeply/,
		{ root: { as: 'none', of: 'L' }, types: { L: { items: { as: 'none', of: 'L' } } } },
	],
];

for (const [what, body, path, says, plan = PET] of REFUSED)
	test(`XML is not written of ${what}`, () => {
		const { value } = http.config.validate(configured(plan));
		// A text at the root would be the document itself.
		const args = body === 'none' ? { body: 1 } : { body };
		assert.throws(
			() => buildRequest(value, args, null),
			(error) => {
				const ours = asGatewayError(error);
				assert.equal(ours?.code, 'validation_failed', String(error));
				assert.match(ours.message, says);
				assert.equal(ours.details[0]?.path, path);
				return true;
			},
		);
	});

const deep = (levels: number): object => (levels === 0 ? {} : { items: deep(levels - 1) });
const BAD: [what: string, plan: object, says: RegExp][] = [
	['no root', {}, /must be a plan with a root/],
	['a name that is none', { root: { name: 'a b' } }, /"a b" is not valid in XML/],
	['a name with markup', { root: { name: 'a><b' } }, /is not valid in XML/],
	['a declaration', { root: { name: 'a', members: { x: { as: 'attribute', name: 'xmlns' } } } }, /"xmlns" is not valid in XML/],
	['an unknown kind', { root: { name: 'a', as: 'comment' } }, /not one of attribute, text, cdata, none/],
	['an unknown field', { root: { name: 'a', nmae: 'b' } }, /unknown member "nmae"/],
	['an unknown type', { root: { name: 'a', of: 'toString' } }, /has no type "toString"/],
	['a prefix without a namespace', { root: { name: 'a', prefix: 'p' } }, /prefix "p" without a namespace/],
	[
		'a prefix of two namespaces',
		{ root: { name: 'a', prefix: 'p', ns: 'u', items: { prefix: 'p', ns: 'v' } } },
		/two namespaces for the prefix "p"/,
	],
	['a prefix that is taken', { root: { name: 'a', prefix: 'xsi', ns: 'u' } }, /two namespaces for the prefix "xsi"/],
	['a namespace with blanks', { root: { name: 'a', ns: 'a b' } }, /where a namespace is expected/],
	['endless nesting', { root: { name: 'a', ...deep(200) } }, /nests deeper than 100/],
	['a node in a type', { root: { name: 'a' }, types: { T: { items: 1 } } }, /node that is not an object/],
];

for (const [what, plan, says] of BAD)
	test(`A plan with ${what} is refused`, () => {
		assert.match(http.config.validate(configured(plan)).error?.message ?? '', says);
	});
