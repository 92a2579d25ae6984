// Arguments that no message can be made of, and values that try to become markup.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import { asGatewayError, type JsonObject, parseXml } from '../../../core/index.ts';
import importer from '../../../importers/soap/index.ts';
import { longestTurnMs, threadCpuMs } from '../../../test/helpers/clock.ts';
import { apiAt, loopbackCall, recorder } from '../../../test/helpers/executor.ts';
import { content, documentOf, readOne } from '../../../test/helpers/soap.ts';
import { written } from '../../../test/helpers/soap-messages.ts';
import type { SoapConfig } from './config.ts';
import { writeEnvelope } from './envelope.ts';
import soap from './index.ts';

const CHOICE =
	content(
		'<xs:sequence><xs:choice><xs:element name="a" type="xs:int"/><xs:sequence><xs:element name="b" type="xs:int"/><xs:element name="c" type="xs:int"/></xs:sequence></xs:choice><xs:element name="any" type="xs:anyType" minOccurs="0"/><xs:element name="list" minOccurs="0"><xs:simpleType><xs:list itemType="xs:string"/></xs:simpleType></xs:element><xs:element name="long" type="xs:long" minOccurs="0"/><xs:element name="base" type="t:Base" minOccurs="0"/><xs:element name="more" type="t:More" minOccurs="0"/></xs:sequence>',
	) +
	'<xs:complexType name="More"><xs:sequence/><xs:anyAttribute/></xs:complexType><xs:complexType name="Base" abstract="true"/><xs:complexType name="Sub"><xs:complexContent><xs:extension base="t:Base"><xs:sequence><xs:element name="must" type="xs:int"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>';

const REFUSED: [what: string, args: JsonObject, path: string, says: RegExp][] = [
	['two alternatives of a choice', { a: 1, b: 2, c: 3 }, '/a', /the service accepts one alternative of a choice/],
	['no alternative of a choice', {}, '', /must hold one of: a, b, c\./],
	['half of an alternative', { b: 2 }, '/c', /required/],
	['a control character', { a: 1, any: 'x\u0000y' }, '/any', /control characters/],
	['an escape character in a name', { a: 1, any: { 'x\u001b': 1 } }, '/any/x\u001b', /name that is valid in XML/],
	['markup in a name', { a: 1, any: { 'x><evil': 1 } }, '/any/x><evil', /name that is valid in XML/],
	['markup in a namespace', { a: 1, any: { '{u"><evil>}x': 1 } }, '/any/{u"><evil>}x', /name that is valid in XML/],
	['markup in the name of an attribute', { a: 1, any: { '@x="1" y': 1 } }, '/any/@x="1" y', /name that is valid in XML/],
	['a declaration of a namespace', { a: 1, any: { '@xmlns': 'u' } }, '/any/@xmlns', /name that is valid in XML/],
	[
		'a declaration of a prefix',
		{ a: 1, any: { '@{http://www.w3.org/2000/xmlns/}x': 'u' } },
		'/any/@{http:~1~1www.w3.org~12000~1xmlns~1}x',
		/name that is valid in XML/,
	],
	['a control character in a namespace', { a: 1, any: { '{u\u0001}x': 1 } }, '/any/{u\u0001}x', /control characters/],
	['half a surrogate pair', { a: 1, any: '\ud800' }, '/any', /control characters/],
	['white space in an item of a list', { a: 1, list: ['x y'] }, '/list/0', /without white space/],
	['a number that has lost digits', { a: 1, long: 9007199254740992 * 2 }, '/long', /string of digits/],
	['an abstract type', { a: 1, base: {} }, '/base/@xsi:type', /one of Sub/],
	['another type', { a: 1, base: { '@xsi:type': 'Nope' } }, '/base/@xsi:type', /one of Sub/],
	['a subtype without what it requires', { a: 1, base: { '@xsi:type': 'Sub' } }, '/base/must', /required/],
	['an unknown member', { a: 1, base: { '@xsi:type': 'Sub', must: 1, _xml: '<evil/>' } }, '/base/_xml', /is unknown/],
	['an unknown attribute', { a: 1, base: { '@xsi:type': 'Sub', must: 1, '@x': '1' } }, '/base/@x', /not a known attribute/],
	['an element where any attribute may be', { a: 1, more: { '@x': '1', y: 2 } }, '/more/y', /is unknown/],
	['an object for a text', { a: { x: 1 } }, '/a', /must be a string, number or boolean/],
	['null where none may be', { a: null }, '/a', /must not be null/],
	['a list where one may be', { a: [1, 2] }, '/a', /must be a string, number or boolean/],
];

for (const [what, args, path, says] of REFUSED)
	test(`A message with ${what} is refused by its pointer, and nothing is sent`, async (t) => {
		const upstream = await recorder(t);
		const api = apiAt(upstream.origin);
		const { executionConfig } = importer.tool(await readOne(documentOf(CHOICE)), api);
		// The schema, which would refuse most of them already, is bypassed.
		const config = await soap.config.validateAsync(executionConfig);
		await assert.rejects(soap.execute(args, config, loopbackCall(t, { api })), (error) => {
			const ours = asGatewayError(error);
			assert.match(ours?.message ?? String(error), says);
			assert.equal(ours?.details[0]?.path, path);
			return ours?.code === 'validation_failed';
		});
		assert.equal(upstream.count(), 0);
	});

test('A parser reads from the message exactly the value of the argument', async (t) => {
	const evil = '</n0:a></soap:Body><x/>]]><![CDATA[<!--&lt;&#x0;<?xml?>';
	const text = await written(
		t,
		content('<xs:sequence><xs:element name="a" type="xs:string"/></xs:sequence><xs:attribute name="b" type="xs:string"/>'),
		{ a: evil, b: evil },
	);
	assert.deepEqual(text.match(/<[^>]*>/g)?.length, 4, text);
	const root = parseXml(`<r xmlns:n0="u">${text}</r>`, { maxDepth: 9, maxNodes: 99 });
	assert.deepEqual([root.children[0]?.children[0]?.text, root.children[0]?.attributes[0]?.value], [evil, evil]);
});

const ELEMENTS = Array.from({ length: 500 }, (_, index) => `<xs:element name="e${index}" type="xs:int" minOccurs="0"/>`).join('');
const COSTLY: [what: string, inside: string, args: JsonObject][] = [
	['a choice among many', `<xs:choice maxOccurs="unbounded">${ELEMENTS}</xs:choice>`, { e499: Array(20_000).fill(1) }],
	['a long sequence', `<xs:sequence maxOccurs="unbounded">${ELEMENTS}</xs:sequence>`, { e499: Array(20_000).fill(1) }],
	[
		'a large type',
		`<xs:sequence><xs:element name="a" maxOccurs="unbounded"><xs:complexType><xs:sequence>${ELEMENTS}</xs:sequence></xs:complexType></xs:element></xs:sequence>`,
		{ a: Array(20_000).fill({}) },
	],
];

for (const [what, inside, args] of COSTLY)
	test(`Values that would be compared with ${what} too often are refused, without blocking the event loop`, async (t) => {
		const { executionConfig } = importer.tool(await readOne(documentOf(content(inside))), apiAt('http://127.0.0.1'));
		const config: SoapConfig = Joi.attempt(executionConfig, soap.config);
		const longestMs = await longestTurnMs(() =>
			assert.rejects(writeEnvelope(config, args, ''), (error) => /too many values/.test(asGatewayError(error)?.message ?? '')),
		);
		t.diagnostic(`longest turn ${longestMs.toFixed(0)} ms`);
		assert.ok(longestMs < 100, `${longestMs} ms`);
	});

test('Namespaces in arguments get a prefix each, whatever their name, and many of them cost little time', async (t) => {
	const schema = content('<xs:sequence><xs:any/></xs:sequence>');
	const text = await written(t, schema, { '{constructor}a': 1, '{urn:x}b': 2, '{constructor}c': 3 });
	assert.equal(text, '<n0:Do><n1:a>1</n1:a><n2:b>2</n2:b><n1:c>3</n1:c></n0:Do>');
	const many = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`{u${index}}a`, 1]));
	const numbers = content('<xs:sequence><xs:element name="a" type="xs:decimal" maxOccurs="unbounded"/></xs:sequence>');
	const cpuMs = await threadCpuMs(async () => {
		assert.match(await written(t, schema, many), /<n40000:a>1<\/n40000:a><\/n0:Do>$/);
		await written(t, numbers, { a: Array(100_000).fill(1.5) });
	});
	assert.ok(cpuMs < 5_000, `${cpuMs} ms`);
});

test('A member named __proto__ is refused like any that is unknown, also where arguments have other names in the message', async () => {
	const { executionConfig } = importer.tool(await readOne(documentOf(CHOICE)), apiAt('http://127.0.0.1:1'));
	const config = await soap.config.validateAsync(executionConfig);
	const renaming = { ...config, request: { ...config.request, arguments: { first: 'a' } } };
	const args = (name: string): JsonObject => JSON.parse(`{"${name}": 1, "__proto__": {"any": "x"}}`);
	await assert.rejects(writeEnvelope(renaming, args('first'), ''), /__proto__ is unknown/);
	await assert.rejects(writeEnvelope(config, args('a'), ''), /__proto__ is unknown/);
});
