// The arguments of a tool: each construct of XML Schema as JSON Schema, and the limits of its size.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertBounded, compileArguments, type Json, type JsonObject } from '../../core/index.ts';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import { content, documentOf, readFixture, readOne } from '../../test/helpers/soap.ts';

/** Returns the arguments of the element `Do` with this content. */
async function parametersOf(inside: string, beside = ''): Promise<JsonObject> {
	return (await readOne(documentOf(content(inside) + beside))).parameters;
}

async function propertyOf(element: string, beside = ''): Promise<Json | undefined> {
	const { properties } = await parametersOf(`<xs:sequence><xs:element name="a" ${element}</xs:sequence>`, beside);
	return (properties as JsonObject)['a'];
}

const named = (inside: string): string => `<xs:simpleType name="T">${inside}</xs:simpleType>`;
const restricted = (base: string, facets: string): string => named(`<xs:restriction base="xs:${base}">${facets}</xs:restriction>`);
const LONG = { type: ['integer', 'string'], pattern: '^[+-]?[0-9]+$' };

const TYPES: [what: string, element: string, beside: string, expected: Json][] = [
	['string', 'type="xs:string"/>', '', { type: 'string' }],
	['long', 'type="xs:long"/>', '', LONG],
	['positiveInteger', 'type="xs:positiveInteger"/>', '', { ...LONG, minimum: 1 }],
	['unsignedByte', 'type="xs:unsignedByte"/>', '', { type: 'integer', minimum: 0, maximum: 255 }],
	['boolean', 'type="xs:boolean"/>', '', { type: 'boolean' }],
	['base64Binary', 'type="xs:base64Binary"/>', '', { type: 'string', contentEncoding: 'base64' }],
	['anyType', 'type="xs:anyType"/>', '', {}],
	['no type', '/>', '', {}],
	['anyURI', 'type="xs:anyURI"/>', '', { type: 'string' }],
	['NMTOKENS', 'type="xs:NMTOKENS"/>', '', { type: 'array', items: { type: 'string' } }],
	['nillable', 'type="xs:int" nillable="true"/>', '', { type: ['integer', 'null'], minimum: -2147483648, maximum: 2147483647 }],
	[
		'nillable of an enumeration',
		'type="t:T" nillable="true"/>',
		restricted('string', '<xs:enumeration value="a"/>'),
		{ type: ['string', 'null'], enum: ['a', null] },
	],
	[
		'a default',
		'type="xs:int" default="5"/>',
		'',
		{ type: 'integer', minimum: -2147483648, maximum: 2147483647, description: 'Default: 5.' },
	],
	[
		'documentation',
		'type="xs:string"><xs:annotation><xs:documentation>Who <b>it</b>\n is.&#x202e;</xs:documentation></xs:annotation></xs:element>',
		'',
		{ type: 'string', description: 'Who it is.' },
	],
	[
		'an enumeration of numbers',
		'type="t:T"/>',
		restricted('int', '<xs:enumeration value="1"/><xs:enumeration value="2"/>'),
		{ type: 'integer', minimum: -2147483648, maximum: 2147483647, enum: [1, 2] },
	],
	[
		'a pattern, anchored, with characters that mean something else elsewhere',
		'type="t:T"/>',
		restricted('string', '<xs:pattern value="a^$|[^$]"/>'),
		{ type: 'string', pattern: '^(?:a\\^\\$|[^$])$' },
	],
	[
		'several patterns',
		'type="t:T"/>',
		restricted('string', '<xs:pattern value="a"/><xs:pattern value="b+"/>'),
		{ type: 'string', pattern: '^(?:a|b+)$' },
	],
	[
		'a pattern of letters, which are those of all alphabets, with escapes that ECMAScript does not know',
		'type="t:T"/>',
		restricted('string', '<xs:pattern value="\\w+\\-[\\w\\-\\@]\\W\\."/>'),
		{ type: 'string', pattern: '^(?:[\\p{L}\\p{M}\\p{N}\\p{S}]+-[\\p{L}\\p{M}\\p{N}\\p{S}\\-@][\\p{P}\\p{Z}\\p{C}]\\.)$' },
	],
	['nillable in digits', 'type="xs:boolean" nillable=" 1 "/>', '', { type: ['boolean', 'null'] }],
	[
		'the type of the head of its substitution group, and of the head of that',
		'type="xs:string" maxOccurs="0"/><xs:element ref="t:a"/>',
		'<xs:element name="a" substitutionGroup="t:b"/><xs:element name="b" substitutionGroup="t:c"/><xs:element name="c" type="xs:boolean"/>',
		{ type: 'boolean' },
	],
	['an enumeration whose white space counts', 'type="t:T"/>', restricted('string', '<xs:enumeration value=" a"/>'), { type: 'string' }],
	[
		'an enumeration whose white space does not',
		'type="t:T"/>',
		restricted('token', '<xs:enumeration value=" a"/>'),
		{ type: 'string', enum: ['a'] },
	],
	[
		'at least endless occurrences',
		'type="xs:boolean" minOccurs="unbounded" maxOccurs="unbounded"/>',
		'',
		{ type: 'array', items: { type: 'boolean' }, minItems: 1 },
	],
	['lengths', 'type="t:T"/>', restricted('string', '<xs:minLength value="1"/><xs:maxLength value="x"/>'), { type: 'string', minLength: 1 }],
	[
		'bounds',
		'type="t:T"/>',
		restricted('short', '<xs:minExclusive value="0"/><xs:maxInclusive value="9"/>'),
		{ type: 'integer', minimum: -32768, maximum: 9, exclusiveMinimum: 0 },
	],
	['a bound that a double cannot hold', 'type="t:T"/>', restricted('long', '<xs:maxInclusive value="9223372036854775807"/>'), LONG],
	[
		'a list with a length',
		'type="t:L"/>',
		'<xs:simpleType name="T"><xs:list itemType="xs:boolean"/></xs:simpleType><xs:simpleType name="L"><xs:restriction base="t:T"><xs:maxLength value="3"/></xs:restriction></xs:simpleType>',
		{ type: 'array', items: { type: 'boolean' }, maxItems: 3 },
	],
	[
		'a union',
		'type="t:T"/>',
		named('<xs:union memberTypes="xs:int xs:string"/>'),
		{ anyOf: [{ type: 'integer', minimum: -2147483648, maximum: 2147483647 }, { type: 'string' }] },
	],
	[
		'a nillable union',
		'type="t:T" nillable="true"/>',
		named('<xs:union memberTypes="xs:boolean xs:string"/>'),
		{ anyOf: [{ type: 'boolean' }, { type: 'string' }, { type: 'null' }] },
	],
	[
		'a list of occurrences',
		'type="xs:boolean" minOccurs="2" maxOccurs="5"/>',
		'',
		{ type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 5 },
	],
	[
		'a type that is restricted twice',
		'type="t:T2"/>',
		`${restricted('string', '<xs:maxLength value="9"/>')}<xs:simpleType name="T2"><xs:restriction base="t:T"><xs:minLength value="2"/></xs:restriction></xs:simpleType>`,
		{ type: 'string', maxLength: 9, minLength: 2 },
	],
];

for (const [what, element, beside, expected] of TYPES)
	test(`An element of ${what} is a property that accepts its values`, async () => {
		assert.deepEqual(await propertyOf(element, beside), expected);
	});

const FAULTS: [what: string, element: string, beside: string, says: RegExp][] = [
	['an undefined type', 'type="t:Nope"/>', '', /type “\{urn:t\}Nope” is not defined: it accepts anything/],
	['an undefined element', 'type="xs:int"/><xs:element ref="t:Nope"/>', '', /element “\{urn:t\}Nope” is not defined/],
	[
		'a pattern that only backtracking checks',
		'type="t:T"/>',
		restricted('string', '<xs:pattern value="[a-z-[aeiou]]"/>'),
		/pattern “\[a-z-\[aeiou\]\]” cannot be checked in linear time/,
	],
	[
		'a simple type that is derived from itself',
		'type="t:T"/>',
		'<xs:simpleType name="T"><xs:restriction base="t:T"/></xs:simpleType>',
		/derived from itself/,
	],
	[
		'a complex type that is derived from itself',
		'type="t:T"/>',
		'<xs:complexType name="T"><xs:complexContent><xs:extension base="t:T"/></xs:complexContent></xs:complexType>',
		/derived from itself/,
	],
	[
		'a group that holds itself',
		'type="xs:int"/><xs:group ref="t:G"/>',
		'<xs:group name="G"><xs:sequence><xs:group ref="t:G"/></xs:sequence></xs:group>',
		/group “\{urn:t\}G” holds itself/,
	],
	[
		'heads of substitution groups in a circle',
		'type="t:Nope"/><xs:element ref="t:b"/>',
		'<xs:element name="b" substitutionGroup="t:c"/><xs:element name="c" substitutionGroup="t:b"/>',
		/not defined/,
	],
	[
		'a type of more subtypes than are read',
		'type="t:B"/>',
		`<xs:complexType name="B"/>${Array.from({ length: 31 }, (_, n) => `<xs:complexType name="S${n}"><xs:complexContent><xs:extension base="t:B"/></xs:complexContent></xs:complexType>`).join('')}`,
		/More than 30 types are derived from “\{urn:t\}B”: only those can be given/,
	],
	[
		'more substitutes than are read',
		'type="xs:int"/><xs:element ref="t:h"/>',
		`<xs:element name="h"/>${Array.from({ length: 101 }, (_, n) => `<xs:element name="s${n}" substitutionGroup="t:h"/>`).join('')}`,
		/More than 100 elements can be substituted for “\{urn:t\}h”: only those can be given/,
	],
	[
		'groups that double at each step',
		'type="xs:int"/><xs:group ref="t:G0"/>',
		`${Array.from(
			{ length: 40 },
			(_, level) =>
				`<xs:group name="G${level}"><xs:sequence><xs:element name="e${level}" type="xs:int"/><xs:group ref="t:G${level + 1}"/><xs:group ref="t:G${level + 1}"/></xs:sequence></xs:group>`,
		).join('')}<xs:group name="G40"><xs:sequence><xs:element name="z" type="xs:int"/></xs:sequence></xs:group>`,
		/more than 2000 elements/,
	],
];

for (const [what, element, beside, says] of FAULTS)
	test(`An operation with ${what} is degraded, and says so`, async () => {
		const { outcome, reasons, parameters } = await readOne(
			documentOf(content(`<xs:sequence><xs:element name="a" ${element}</xs:sequence>`) + beside),
		);
		assert.equal(outcome, 'degraded');
		assert.match(reasons.join(' '), says);
		assert.doesNotThrow(() => compileArguments(parameters));
	});

test('Required and optional members, and choices, are expressed where possible', async () => {
	const choice = '<xs:choice><xs:element name="x" type="xs:int"/><xs:element name="y" type="xs:int"/></xs:choice>';
	const inside = `<xs:sequence><xs:element name="must" type="xs:int"/><xs:element name="may" type="xs:int" minOccurs="0"/>${choice}</xs:sequence><xs:attribute name="u" use="required"/><xs:attribute name="f" use="required" fixed="1"/><xs:attribute name="p" use="prohibited"/>`;
	const root = await parametersOf(inside);
	assert.deepEqual([root['required'], root['oneOf'], root['description']], [['u', 'must'], undefined, 'One of: x, y.']);
	assert.deepEqual(Object.keys(root['properties'] as JsonObject), ['u', 'f', 'must', 'may', 'x', 'y']);
	const nested = await parametersOf(
		'<xs:sequence><xs:element name="a" type="t:T"/></xs:sequence>',
		`<xs:complexType name="T">${inside}</xs:complexType>`,
	);
	const { T } = nested['$defs'] as { T: JsonObject };
	assert.deepEqual(
		[T['required'], T['oneOf'], T['additionalProperties']],
		[['@u', 'must'], [{ required: ['x'] }, { required: ['y'] }], false],
	);
	const check = compileArguments(nested);
	assert.deepEqual(check({ a: { '@u': '1', must: 1, x: 1 } }), []);
	for (const bad of [
		{ '@u': '1', must: 1, x: 1, y: 1 },
		{ '@u': '1', must: 1 },
		{ must: 1, x: 1 },
	])
		assert.notDeepEqual(check({ a: bad }), []);
});

/** Returns the schema of a type in the arguments of the shop's PlaceOrder. */
async function orderType(id: string): Promise<JsonObject> {
	const { operations } = await readFixture('shop.wsdl');
	const order = operations.find(({ name }) => name === 'PlaceOrder') ?? assert.fail('no PlaceOrder');
	return (order.parameters['$defs'] as { [id: string]: JsonObject })[id] ?? assert.fail(id);
}

test('An extension has the members of its bases, a restriction only its own', async () => {
	const Customer = await orderType('Customer');
	assert.deepEqual(Object.keys(Customer['properties'] as JsonObject), ['@source', '@grade', 'zid', 'name', 'phone', 'mail', 'address']);
	assert.deepEqual(Customer['required'], ['zid', 'name']);
	const base =
		'<xs:complexType name="B"><xs:sequence><xs:element name="x" type="xs:int"/><xs:element name="y" type="xs:int" minOccurs="0"/></xs:sequence><xs:attribute name="k"/></xs:complexType>';
	const restriction =
		'<xs:complexContent><xs:restriction base="t:B"><xs:sequence><xs:element name="x" type="xs:int"/></xs:sequence><xs:attribute name="k" use="prohibited"/></xs:restriction></xs:complexContent>';
	assert.deepEqual(Object.keys((await parametersOf(restriction, base))['properties'] as JsonObject), ['x']);
});

test('Subtypes are one object with the members that each adds, distinguished by @xsi:type', async () => {
	const Animal = await orderType('Animal');
	const properties = Animal['properties'] as JsonObject;
	assert.deepEqual(properties['@xsi:type'], { enum: ['Dog', 'Cat', 'Puppy'], description: 'Which type the value is of.' });
	assert.deepEqual(Animal['required'], ['@xsi:type', 'name']);
	assert.match(JSON.stringify(properties['weeks']), /Only with @xsi:type Puppy/);
});

test('The type of the arguments themselves has subtypes, too', async () => {
	const base = '<xs:complexType name="B" abstract="1"><xs:sequence><xs:element name="a" type="xs:int"/></xs:sequence></xs:complexType>';
	const sub =
		'<xs:complexType name="S"><xs:complexContent><xs:extension base="t:B"><xs:sequence><xs:element name="b" type="xs:boolean"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>';
	const { parameters, outputSchema } = await readOne(documentOf(`<xs:element name="Do" type="t:B"/>${base}${sub}`));
	assert.deepEqual(parameters['required'], ['xsi_type', 'a']);
	const properties = parameters['properties'] as JsonObject;
	assert.deepEqual(properties['xsi_type'], { enum: ['S'], description: 'Which type the value is of.' });
	assert.deepEqual(properties['b'], { type: 'boolean', description: 'Only with xsi_type S.' });
	assert.deepEqual(Object.keys(outputSchema?.['properties'] as JsonObject), ['@xsi:type', 'a', 'b']);
});

test('Subtypes of subtypes of subtypes cost a validator no more than one type', async () => {
	const types = Array.from(
		{ length: 25 },
		(_, n) =>
			`<xs:complexType name="S${n}"><xs:complexContent><xs:extension base="t:B"><xs:sequence><xs:element name="e${n}" type="t:B" minOccurs="0"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>`,
	);
	const base = '<xs:complexType name="B"><xs:sequence><xs:element name="next" type="t:B" minOccurs="0"/></xs:sequence></xs:complexType>';
	const parameters = await parametersOf('<xs:sequence><xs:element name="a" type="t:B"/></xs:sequence>', base + types.join(''));
	assert.doesNotThrow(() => assertBounded(parameters, '/parameters'));
	let value: JsonObject = {};
	for (let depth = 0; depth < 50; depth++) value = { '@xsi:type': 'S1', next: value };
	const check = compileArguments(parameters);
	const cpuMs = await threadCpuMs(() => assert.deepEqual(check({ a: value }), []));
	assert.ok(cpuMs < 200, `${cpuMs} ms`);
});

test('Two types of one name in two namespaces both get a hash, and names fit a pointer', async () => {
	const text = documentOf(
		`${content(
			'<xs:sequence><xs:element name="a" type="t:Größe"/><xs:element name="b" xmlns:u="urn:u" type="u:T"/><xs:element name="c" type="t:T"/></xs:sequence>',
		)}<xs:complexType name="Größe"/><xs:complexType name="T"/>`,
	).replace('</types>', '<xs:schema targetNamespace="urn:u"><xs:complexType name="T"/></xs:schema></types>');
	const { parameters } = await readOne(text);
	for (const id of Object.keys(parameters['$defs'] as JsonObject)) assert.match(id, /^(?:Gr__e|T)_[0-9a-f]{8}$/);
	assert.equal(Object.keys(parameters['$defs'] as JsonObject).length, 3);
});
