// Tests of XML bodies, from the document to the bytes that the executor sends: which become an object, which stay text, and the report.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject, Operation } from '../../../core/index.ts';
import http from '../../../plugins/executors/http/index.ts';
import { buildRequest } from '../../../plugins/executors/http/request.ts';
import { type Reading, readWith } from '../../../test/helpers/importer.ts';
import importer from '../index.ts';

const api = { id: 'a', organizationId: 'o', name: 'x', type: 'openapi', baseUrl: 'https://api.example.com' };

interface Taken {
	schema: object;
	schemas?: object;
	version?: string;
	types?: string[];
}

function read({ schema, schemas = {}, version = '3.0.4', types = ['application/xml'] }: Taken): Promise<Reading> {
	const content = Object.fromEntries(types.map((type) => [type, { schema }]));
	const post = { operationId: 'put', requestBody: { required: true, content }, responses: { 200: { description: 'ok' } } };
	const document = { openapi: version, info: { title: 'x', version: '1' }, paths: { '/x': { post } }, components: { schemas } };
	return readWith(importer, JSON.stringify(document));
}

const bodyOf = ({ parameters }: Operation): JsonObject => (parameters['properties'] as { body: JsonObject }).body;

function sentBy(operation: Operation, body: Json): string {
	const { value, error } = http.config.validate(importer.tool(operation, api).executionConfig);
	assert.equal(error, undefined);
	return String(buildRequest(value, { body }, api).body).replace('<?xml version="1.0" encoding="UTF-8"?>\n', '');
}

async function sent(taken: Taken, body: Json): Promise<string> {
	const [operation] = (await read(taken)).operations;
	assert.deepEqual([operation?.outcome, operation?.reasons], ['converted', []]);
	return sentBy(operation ?? assert.fail(), body);
}

const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` });
const text = { type: 'string' };
const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
const list = (items: object, xml?: object): object => ({ type: 'array', items, ...(xml && { xml }) });
const named = (name: string): object => ({ ...text, xml: { name } });
const attribute = { ...text, xml: { attribute: true } };

test('a body that exists only in XML is an object to the model, and every XML keyword counts', async () => {
	const schema = object(
		{
			id: { type: 'integer', xml: { attribute: true } },
			title: { type: 'string', xml: { name: 'Title', namespace: 'urn:t', prefix: 't' } },
			tags: list(named('tag'), { wrapped: true, name: 'Tags' }),
			notes: list(text),
		},
		{ required: ['title'], xml: { name: 'Book', namespace: 'urn:book' } },
	);
	const { operations, warnings } = await read({ schema });
	const [operation = assert.fail()] = operations;
	assert.deepEqual([operation.outcome, bodyOf(operation)['type'], bodyOf(operation)['required']], ['converted', 'object', ['title']]);
	assert.doesNotMatch(JSON.stringify(operation.parameters), /"xml"/);
	assert.deepEqual(
		warnings.map(({ message }) => message),
		['XML bodies that are written from JSON arguments, by the XML Objects of their schemas: 1.'],
	);
	assert.equal(
		sentBy(operation, { notes: ['a', 'b'], tags: ['x', 'y'], title: 'A & B', id: 7 }),
		'<Book xmlns:t="urn:t" xmlns="urn:book" id="7"><t:Title>A &amp; B</t:Title><Tags><tag>x</tag><tag>y</tag></Tags><notes>a</notes><notes>b</notes></Book>',
	);
});

/** Every example of a list in OpenAPI 3.0.4 §4.7.26.3 and 3.1.1 §4.8.26.3; 3.2.1 §4.26.6 has the same. */
const LISTS: [animals: object, xml: string][] = [
	[list(text), '<animals>dog</animals><animals>cat</animals>'],
	[list(named('animal')), '<animal>dog</animal><animal>cat</animal>'],
	[list(named('animal'), { name: 'aliens' }), '<animal>dog</animal><animal>cat</animal>'],
	[list(text, { wrapped: true }), '<animals><animals>dog</animals><animals>cat</animals></animals>'],
	[list(named('animal'), { wrapped: true }), '<animals><animal>dog</animal><animal>cat</animal></animals>'],
	[list(named('animal'), { name: 'aliens', wrapped: true }), '<aliens><animal>dog</animal><animal>cat</animal></aliens>'],
	[list(text, { name: 'aliens', wrapped: true }), '<aliens><aliens>dog</aliens><aliens>cat</aliens></aliens>'],
];

test('lists are written as the specification’s own examples', async () => {
	for (const [animals, xml] of LISTS) {
		const schema = object({ animals }, { xml: { name: 'd' } });
		for (const version of ['3.0.4', '3.1.1', '3.2.1'])
			assert.equal(await sent({ schema, version }, { animals: ['dog', 'cat'] }), `<d>${xml}</d>`, `${version} ${JSON.stringify(animals)}`);
	}
});

test('the root has the name of its schema, else of its component, and references have the names of their properties before 3.2', async () => {
	const schemas = {
		Person: object({ id: { type: 'integer', xml: { attribute: true } }, home: ref('Address'), work: ref('Office') }),
		Address: object({ city: text }),
		Office: object({ city: text }, { xml: { name: 'office' } }),
		Alias: { allOf: [ref('Person')], nullable: true, description: 'The same.' },
		Renamed: object({ a: text }, { xml: { name: 'person' } }),
	};
	const value = { id: 1, home: { city: 'Ulm' }, work: { city: 'Bonn' } };
	const before = '<Person id="1"><home><city>Ulm</city></home><office><city>Bonn</city></office></Person>';
	assert.equal(await sent({ schema: ref('Person'), schemas }, value), before);
	assert.equal(await sent({ schema: ref('Person'), schemas, version: '3.1.1' }, value), before);
	assert.equal(await sent({ schema: ref('Person'), schemas, version: '3.2.1' }, value), before.replaceAll('home', 'Address'));
	assert.equal(await sent({ schema: ref('Alias'), schemas }, value), before.replaceAll('Person', 'Alias'));
	assert.equal(await sent({ schema: ref('Renamed'), schemas }, { a: 'x' }), '<person><a>x</a></person>');
	const siblings = { schema: { ...ref('Renamed'), xml: { name: 'own' } }, schemas };
	assert.equal(await sent(siblings, { a: 'x' }), '<person><a>x</a></person>', 'siblings of $ref are ignored in 3.0');
	assert.equal(await sent({ ...siblings, version: '3.1.1' }, { a: 'x' }), '<own><a>x</a></own>');
});

test('the node types of 3.2 are written as the specification’s own examples', async () => {
	const version = '3.2.1';
	const animal = {
		xml: { name: 'animal' },
		properties: { kind: { ...text, xml: { nodeType: 'attribute' } }, name: { ...text, xml: { nodeType: 'text' } } },
	};
	assert.equal(
		await sent({ version, schema: list(animal, { nodeType: 'element', name: 'animals' }) }, [{ kind: 'Cat', name: 'Fluffy' }]),
		'<animals><animal kind="Cat">Fluffy</animal></animals>',
	);
	const html = object({ content: { ...text, xml: { nodeType: 'cdata' } } });
	const docs = { version, schema: ref('Documentation'), schemas: { Documentation: html } };
	assert.equal(await sent(docs, { content: '<html>' }), '<Documentation><![CDATA[<html>]]></Documentation>');
	const stored = { ...ref('Documentation'), xml: { nodeType: 'element', name: 'StoredDocument' } };
	const bare = { Documentation: { ...html, xml: { nodeType: 'none' } } };
	assert.equal(await sent({ version, schema: stored, schemas: bare }, { content: 'x' }), '<StoredDocument><![CDATA[x]]></StoredDocument>');
	assert.equal(
		await sent({ ...docs, schema: stored }, { content: 'x' }),
		'<StoredDocument><Documentation><![CDATA[x]]></Documentation></StoredDocument>',
	);
	const prefixItems = [
		{ ...text, xml: { nodeType: 'text' } },
		{ type: 'number', xml: { name: 'data' } },
		{ ...text, xml: { nodeType: 'text' } },
	];
	const report = { type: 'array', xml: { nodeType: 'element', name: 'Report' }, prefixItems };
	assert.equal(await sent({ version, schema: report }, ['Some ', 42, ' more.']), '<Report>Some <data>42</data> more.</Report>');
	const nulls = object(
		{ count: { type: ['number', 'null'], xml: { nodeType: 'attribute' } }, related: { type: ['object', 'null'] } },
		{ xml: { name: 'p' } },
	);
	assert.equal(
		await sent({ version, schema: nulls }, { count: null, related: null }),
		'<p xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><related xsi:nil="true"/></p>',
	);
});

test('inherited elements come first, alternatives are merged where they can be, and a schema may be recursive', async () => {
	const schemas = {
		Base: object({ id: attribute, name: text }, { xml: { name: 'base' } }),
		Dog: { properties: { bark: text, name: { ...text, maxLength: 9 } }, allOf: [ref('Base')] },
		Owner: object({
			pet: { oneOf: [object({ cat: text }), object({ dog: text }), { type: 'null' }] },
			friends: list(ref('Owner')),
			any: {},
		}),
	};
	assert.equal(
		await sent({ schema: ref('Dog'), schemas }, { bark: 'w', name: 'n', id: 1 }),
		'<Dog id="1"><name>n</name><bark>w</bark></Dog>',
	);
	assert.equal(
		await sent({ schema: ref('Owner'), schemas, version: '3.1.1' }, { friends: [{ pet: { dog: 'Rex' } }, { any: { x: [1, 2] } }] }),
		'<Owner><friends><pet><dog>Rex</dog></pet></friends><friends><any><x>1</x><x>2</x></any></friends></Owner>',
	);
	const Node = { oneOf: [object({ next: ref('Node'), v: text }), { type: 'null' }] };
	assert.equal(
		await sent({ schema: ref('Node'), schemas: { Node }, version: '3.1.1' }, { next: { next: { v: 'x' } } }),
		'<Node><next><next><v>x</v></next></next></Node>',
	);
	const map = object({}, { xml: { name: 'map' }, additionalProperties: list(named('v'), { wrapped: true }) });
	assert.equal(await sent({ schema: map }, { a: ['x'] }), '<map><a><v>x</v></a></map>');
});

test('a namespace of an attribute gets a prefix, and a prefix the namespace that it has elsewhere', async () => {
	const schema = object(
		{
			kind: { ...text, xml: { attribute: true, namespace: 'urn:k' } },
			lang: { ...text, xml: { attribute: true, name: 'xml:lang' } },
			type: { ...text, xml: { attribute: true, name: 'type', prefix: 'xsi' } },
			one: { ...text, xml: { prefix: 'p', namespace: 'urn:p' } },
			two: { ...text, xml: { prefix: 'p' } },
		},
		{ xml: { name: 'r' } },
	);
	assert.equal(
		await sent({ schema }, { kind: 'a', lang: 'b', type: 'c', two: 'd' }),
		'<r xmlns:ns1="urn:k" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:p="urn:p" ns1:kind="a" xml:lang="b" xsi:type="c"><p:two>d</p:two></r>',
	);
});

test('XML bodies of Swagger 2.0, such as those of the pet store, are written', async () => {
	const Tag = object({ id: { type: 'integer' }, name: text }, { xml: { name: 'Tag' } });
	const Pet = object(
		{
			id: { type: 'integer' },
			category: { $ref: '#/definitions/Category' },
			photoUrls: list(text, { name: 'photoUrl', wrapped: true }),
			tags: list({ $ref: '#/definitions/Tag' }, { name: 'tag', wrapped: true }),
		},
		{ xml: { name: 'Pet' } },
	);
	const document = {
		swagger: '2.0',
		info: { title: 'Pets', version: '1' },
		consumes: ['application/xml'],
		paths: {
			'/pet': {
				post: {
					parameters: [{ in: 'body', name: 'body', schema: { $ref: '#/definitions/Pet' } }],
					responses: { 200: { description: 'ok' } },
				},
			},
		},
		definitions: { Pet, Tag, Category: object({ name: text }, { xml: { name: 'Category' } }) },
	};
	const [operation = assert.fail()] = (await readWith(importer, JSON.stringify(document))).operations;
	assert.equal(operation.outcome, 'converted');
	assert.equal(
		sentBy(operation, { id: 1, category: { name: 'c' }, photoUrls: ['u'], tags: [{ id: 2, name: 't' }] }),
		'<Pet><id>1</id><Category><name>c</name></Category><photoUrl><photoUrl>u</photoUrl></photoUrl><tag><Tag><id>2</id><name>t</name></Tag></tag></Pet>',
	);
});

test('a nameless body with one member has that member as its root element, and the report says so', async () => {
	const schema = object({ CreateBucketConfiguration: object({ LocationConstraint: text }) });
	const [operation = assert.fail()] = (await read({ schema, types: ['text/xml'] })).operations;
	assert.deepEqual(operation.reasons, ['The root element of its XML body is assumed to be its only member, “CreateBucketConfiguration”.']);
	assert.equal(
		sentBy(operation, { CreateBucketConfiguration: { LocationConstraint: 'EU' } }),
		'<CreateBucketConfiguration><LocationConstraint>EU</LocationConstraint></CreateBucketConfiguration>',
	);
	assert.throws(() => sentBy(operation, {}), /must hold exactly one member/);
});

const deep = (levels: number): object => (levels === 0 ? text : object({ a: deep(levels - 1) }));
const UNWRITABLE: [what: string, schema: object, says: RegExp, schemas?: object][] = [
	['no root', object({ a: text, b: text }), /its schema names no root element/],
	['a list as its root', list(object({ a: text })), /its schema names no root element/],
	[
		'alternatives of different forms',
		ref('R'),
		/its alternatives have different forms in XML/,
		{ R: { oneOf: [object({ a: attribute }), object({ a: text })] } },
	],
	[
		'alternatives of different names',
		{ oneOf: [ref('C'), ref('D')] },
		/its alternatives have different forms in XML/,
		{ C: object({ a: text }, { xml: { name: 'c' } }), D: object({ a: text }, { xml: { name: 'd' } }) },
	],
	['a list or an object', ref('R'), /“a” may be a list or an object/, { R: object({ a: { anyOf: [list(text), object({ b: text })] } }) }],
	[
		'an object as an attribute',
		ref('R'),
		/“a” holds more than text, which an XML attribute cannot/,
		{ R: object({ a: object({ b: text }, { xml: { attribute: true } }) }) },
	],
	['an invalid name', ref('R'), /cannot be called “a b” in XML/, { R: object({ 'a b': text }) }],
	['a declaration as an attribute', ref('R'), /cannot be called “xmlns” in XML/, { R: object({ xmlns: attribute }) }],
	['a name with two colons', ref('R'), /cannot be called “a:b:c” in XML/, { R: object({ x: named('a:b:c') }) }],
	['a list whose name no element can have', ref('R'), /cannot be called “1st” in XML/, { R: object({ '1st': list(text) }) }],
	['a prefix without a namespace', ref('R'), /the prefix “p” has no namespace/, { R: object({ x: named('p:x') }) }],
	[
		'a prefix of two namespaces',
		ref('R'),
		/the prefix “p” stands for two namespaces/,
		{ R: object({ x: { ...text, xml: { prefix: 'p', namespace: 'u' } }, y: { ...text, xml: { prefix: 'p', namespace: 'v' } } }) },
	],
	['an invalid namespace', ref('R'), /“a b” is not a namespace/, { R: object({ x: { ...text, xml: { namespace: 'a b' } } }) }],
	[
		'two attributes of one name',
		ref('R'),
		/two of its members are the same attribute/,
		{ R: object({ x: attribute, y: { ...text, xml: { attribute: true, name: 'x' } } }) },
	],
	[
		'one name for arbitrary members',
		ref('R'),
		/members with arbitrary names would all have the same name in XML/,
		{ R: object({ a: text }, { additionalProperties: named('entry') }) },
	],
	['a reference without a target', ref('R'), /has no target/, { R: object({ a: ref('Gone') }) }],
	['endless nesting', ref('R'), /its schema is too large/, { R: deep(60) }],
	[
		'too many nodes',
		ref('R'),
		/its schema is too large/,
		{ R: object(Object.fromEntries(Array.from({ length: 5_001 }, (_, n) => [`m${n}`, text]))) },
	],
];

for (const [what, schema, says, schemas] of UNWRITABLE)
	test(`a body in XML with ${what} stays text with an outline, and the report says so`, async () => {
		const { operations, warnings } = await read({ schema, ...(schemas && { schemas }) });
		const [operation = assert.fail()] = operations;
		assert.deepEqual([operation.outcome, bodyOf(operation)['type']], ['degraded', 'string']);
		assert.match(operation.reasons.join(), says);
		assert.match(operation.reasons.join(), /Its XML body is a text argument, with an outline of its elements: /);
		assert.match(String(bodyOf(operation)['description']), /^The XML document, as text\. Its elements:\n</);
		assert.ok(String(bodyOf(operation)['description']).length < 1_700);
		assert.doesNotMatch(warnings.map(({ message }) => message).join(), /written from JSON/);
		assert.equal(sentBy(operation, '<a/>'), '<a/>');
	});

test('the outline names elements, attributes, lists and prefixes, and draws recursive elements once', async () => {
	const schemas = {
		Pet: object(
			{
				id: { type: 'integer', xml: { attribute: true } },
				tags: list(named('tag'), { wrapped: true }),
				mother: ref('Pet'),
				photos: list(ref('Photo')),
				bad: named('q:bad'),
			},
			{ xml: { name: 'pet', prefix: 'p', namespace: 'urn:p' } },
		),
		Photo: object({ url: text }),
	};
	const [operation = assert.fail()] = (await read({ schema: ref('Pet'), schemas })).operations;
	assert.equal(
		bodyOf(operation)['description'],
		[
			'The XML document, as text. Its elements:',
			'<p:pet id="integer">',
			' <tags>',
			'  <tag>string</tag> <!-- repeated -->',
			' </tags>',
			' <p:pet>…</>',
			' <photos>',
			'  <url>string</url>',
			' </photos> <!-- repeated -->',
			' <q:bad>string</q:bad>',
			'</p:pet>',
		].join('\n'),
	);
});

test('a body whose schema describes no elements is text, without a loss', async () => {
	for (const schema of [{}, text, { type: 'object' }, { type: 'object', additionalProperties: true }, { type: 'string', format: 'byte' }]) {
		const [operation = assert.fail()] = (await read({ schema })).operations;
		assert.deepEqual(
			[operation.outcome, bodyOf(operation)['type'], sentBy(operation, '<a/>')],
			['converted', 'string', '<a/>'],
			JSON.stringify(schema),
		);
	}
});

test('JSON and forms are preferred to XML', async () => {
	const schema = object({ a: text }, { xml: { name: 'r' } });
	for (const other of ['application/json', 'application/x-www-form-urlencoded']) {
		const [operation = assert.fail()] = (await read({ schema, types: ['application/xml', other] })).operations;
		assert.equal((operation.definition['requestBody'] as JsonObject)['contentType'], other);
		assert.equal((operation.definition['requestBody'] as JsonObject)['xml'], undefined);
	}
	assert.equal(await sent({ schema, types: ['application/vnd.shop+xml', 'text/xml'] }, { a: 'x' }), '<r><a>x</a></r>');
});

test('the plan of a schema that is used once is inlined, so a new member changes nothing else', async () => {
	const planOf = async (pet: object): Promise<Json> => {
		const [operation = assert.fail()] = (await read({ schema: ref('Pet'), schemas: { Pet: object(pet), Tag: object({ name: text }) } }))
			.operations;
		return (operation.definition['requestBody'] as { xml: Json }).xml;
	};
	assert.deepEqual(await planOf({ a: text }), { root: { name: 'Pet', members: { a: {} } } });
	assert.deepEqual(await planOf({ a: text, tag: ref('Tag') }), {
		root: { name: 'Pet', members: { a: {}, tag: { members: { name: {} } } } },
	});
	assert.deepEqual(await planOf({ a: ref('Tag'), b: ref('Tag') }), {
		root: { name: 'Pet', members: { a: { of: 'Tag' }, b: { of: 'Tag' } } },
		types: { Tag: { members: { name: {} } } },
	});
});

test('parts of a form in XML are written alike, each item of a list by itself, or are text with an outline', async () => {
	const schema = object({
		address: object({ city: text }),
		pets: list(ref('Pet')),
		odd: object({ 'a b': text }),
		plain: text,
	});
	const xml = { contentType: 'application/xml' };
	const content = { 'multipart/form-data': { schema, encoding: { address: xml, pets: xml, odd: xml, plain: xml } } };
	const post = { requestBody: { content }, responses: { 200: { description: 'ok' } } };
	const components = { schemas: { Pet: object({ id: attribute }, { xml: { name: 'pet' } }) } };
	const document = { openapi: '3.0.4', info: { title: 'x', version: '1' }, paths: { '/x': { post } }, components };
	const [operation = assert.fail()] = (await readWith(importer, JSON.stringify(document))).operations;
	assert.deepEqual(operation.reasons, [
		'The part “odd”, which is XML, is a text argument, with an outline of its elements: an element or attribute cannot be called “a b” in XML.',
	]);
	const body = sentBy(operation, { address: { city: 'Ulm' }, pets: [{ id: '1' }, { id: '2' }], odd: '<odd/>', plain: '<p/>' });
	const parts = [
		...body.matchAll(/name="(\w+)"\r\nContent-Type: ([^\r]+)\r\n\r\n(?:<\?xml version="1.0" encoding="UTF-8"\?>\n)?(.*)\r\n/g),
	];
	assert.deepEqual(
		parts.map(([, name, type, sentAs]) => [name, type, sentAs]),
		[
			['address', 'application/xml; charset=utf-8', '<address><city>Ulm</city></address>'],
			['pets', 'application/xml; charset=utf-8', '<pet id="1"/>'],
			['pets', 'application/xml; charset=utf-8', '<pet id="2"/>'],
			['odd', 'application/xml', '<odd/>'],
			['plain', 'application/xml', '<p/>'],
		],
	);
});
