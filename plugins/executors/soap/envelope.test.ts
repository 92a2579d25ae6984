// Messages that calls send, to the byte: those of the fixtures against a raw recorder.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../core/index.ts';
import { apiAt, loopbackCall, recorder } from '../../../test/helpers/executor.ts';
import { content, toolFrom } from '../../../test/helpers/soap.ts';
import { sent, written } from '../../../test/helpers/soap-messages.ts';
import soap from './index.ts';

const ORDER = {
	id: 'o1',
	customer: {
		address: { city: 'Köln', street: 'A & B' },
		name: 'Ada <"]]>',
		zid: 7,
		'@grade': 3,
		'@source': 'a"b\n',
		phone: '1',
		mail: 'a@b',
	},
	line: [
		{ price: { '@currency': 'EUR', $value: '10.10' }, quantity: 2, sku: 'ABC-1' },
		{ sku: 'ABC-2', quantity: 1, price: { '@currency': 'EUR', $value: 0.0000001 } },
	],
	card: '4111',
	reference: '9223372036854775807',
	codes: [1, -2],
	size: 'XL',
	comment: null,
	payload: 'AAEC',
	vip: false,
	animal: [{ '@xsi:type': 'Puppy', weeks: 3, barks: true, name: 'Rex' }],
	Voucher: { amount: '5.00', from: 'Bob' },
	key: ['a', 'b'],
	value: [1, 2],
	extra: { '{urn:x}thing': { '@n': '1', $value: 'v' }, plain: ['a', 'b'] },
	header: { Session: { '@xml:lang': 'de', token: 't' } },
};

const ORDER_BODY =
	'<n0:PlaceOrder id="o1" schemaVersion="2">' +
	'<n0:customer source="a&quot;b&#10;" grade="3"><n0:zid>7</n0:zid><n0:name>Ada &lt;"]]&gt;</n0:name><n0:phone>1</n0:phone><n0:mail>a@b</n0:mail>' +
	'<n0:address><n0:street>A &amp; B</n0:street><n0:city>Köln</n0:city></n0:address></n0:customer>' +
	'<n0:line><n0:sku>ABC-1</n0:sku><n0:quantity>2</n0:quantity><n0:price currency="EUR">10.10</n0:price></n0:line>' +
	'<n0:line><n0:sku>ABC-2</n0:sku><n0:quantity>1</n0:quantity><n0:price currency="EUR">0.0000001</n0:price></n0:line>' +
	'<n0:card>4111</n0:card><n0:reference>9223372036854775807</n0:reference><n0:codes>1 -2</n0:codes><n0:size>XL</n0:size>' +
	'<n0:comment xsi:nil="true"/><n0:payload>AAEC</n0:payload><n0:vip>false</n0:vip>' +
	'<n0:animal xsi:type="n1:Puppy"><name>Rex</name><barks>true</barks><n1:weeks>3</n1:weeks></n0:animal>' +
	'<n0:Voucher><n0:from>Bob</n0:from><n0:amount>5.00</n0:amount></n0:Voucher>' +
	'<n0:key>a</n0:key><n0:value>1</n0:value><n0:key>b</n0:key><n0:value>2</n0:value>' +
	'<n0:extra><n2:thing n="1">v</n2:thing><plain>a</plain><plain>b</plain></n0:extra>' +
	'</n0:PlaceOrder>';

test('A message holds elements in the order of the schema, through three levels of extension and several documents', async (t) => {
	const { line, headers, body, header, inside } = await sent(t, ['shop.wsdl', '/PlaceOrder'], ORDER);
	assert.equal(line, 'POST /base HTTP/1.1');
	assert.deepEqual([headers['content-type'], headers['soapaction']], ['text/xml; charset=utf-8', '"urn:shop#PlaceOrder"']);
	assert.equal(inside, ORDER_BODY);
	assert.equal(header, '<n0:Session xml:lang="de"><n0:token>t</n0:token></n0:Session>');
	assert.match(
		body.toString(),
		/^<\?xml version="1.0" encoding="UTF-8"\?><soap:Envelope xmlns:soap="http:\/\/schemas.xmlsoap.org\/soap\/envelope\/" xmlns:n0="urn:shop" xmlns:xsi="http:\/\/www.w3.org\/2001\/XMLSchema-instance" xmlns:n1="urn:common" xmlns:n2="urn:x"><soap:Header>/,
	);
});

test('An absent member is not written, unless its value is fixed', async (t) => {
	const args = {
		id: 'o',
		customer: { name: 'A', zid: 1 },
		line: [{ sku: 'ABC-1', quantity: 1, price: { '@currency': 'EUR', $value: 1 } }],
		reference: 1,
		iban: 'x',
	};
	const { inside, header } = await sent(t, ['shop.wsdl', '/PlaceOrder'], args);
	assert.equal(
		inside,
		'<n0:PlaceOrder id="o" schemaVersion="2"><n0:customer><n0:zid>1</n0:zid><n0:name>A</n0:name></n0:customer><n0:line><n0:sku>ABC-1</n0:sku><n0:quantity>1</n0:quantity><n0:price currency="EUR">1</n0:price></n0:line><n0:iban>x</n0:iban><n0:reference>1</n0:reference></n0:PlaceOrder>',
	);
	assert.equal(header, '');
});

test('Bodies of no element, of several, of a value, and of a recursive type', async (t) => {
	assert.equal((await sent(t, ['shop.wsdl', '/Ping'], {})).inside, '');
	assert.equal((await sent(t, ['shop.wsdl', '/Ping'], {})).headers['soapaction'], '""');
	assert.equal((await sent(t, ['shop.wsdl', '/Both'], { Note: 'n', Pong: 'p' })).inside, '<n0:Pong>p</n0:Pong><n0:Note>n</n0:Note>');
	assert.equal((await sent(t, ['shop.wsdl', '/Echo'], { value: 'a < b' })).inside, '<n0:Note>a &lt; b</n0:Note>');
	const tree = { child: [{ label: 'b' }, { wrapped: { inner: { label: 'd' } }, label: 'c' }], label: 'a' };
	assert.equal(
		(await sent(t, ['shop.wsdl', '/Plant'], tree)).inside,
		'<n0:Tree><n0:label>a</n0:label><n0:child><n0:label>b</n0:label></n0:child><n0:child><n0:label>c</n0:label><n0:wrapped><n0:inner><n0:label>d</n0:label></n0:inner></n0:wrapped></n0:child></n0:Tree>',
	);
});

test('SOAP 1.2 has its own envelope, and the action in the content type', async (t) => {
	const { headers, body } = await sent(t, ['shop.wsdl', '/Echo'], { value: 'x' }, { version: '1.2' });
	assert.deepEqual(
		[headers['content-type'], headers['soapaction']],
		['application/soap+xml; charset=utf-8; action="urn:shop#Echo"', undefined],
	);
	assert.match(body.toString(), /<soap:Envelope xmlns:soap="http:\/\/www.w3.org\/2003\/05\/soap-envelope"/);
});

test('RPC style puts parts of no namespace into an element named after the operation', async (t) => {
	assert.equal((await sent(t, ['calculator.wsdl', '/AddTwo'], { b: 2, a: 1 })).inside, '<n0:Add><a>1</a><b>2</b></n0:Add>');
	const three = await sent(t, ['calculator.wsdl', '/AddThree'], { c: 3, a: 1, b: 2 });
	assert.deepEqual([three.inside, three.headers['soapaction']], ['<n0:Add><a>1</a><b>2</b><c>3</c></n0:Add>', '"urn:calc#AddThree"']);
	assert.match(three.body.toString(), / xmlns:n0="urn:calc:rpc"/);
});

test("SOAP's encoding names types, and the size of arrays", async (t) => {
	const { inside, line, body } = await sent(t, ['calculator.wsdl', '/Sum'], { at: { y: null, x: 1 }, numbers: ['9007199254740993', 2] });
	assert.equal(
		inside,
		'<n0:Sum soap:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><numbers xsi:type="enc:Array" enc:arrayType="xsd:long[2]"><item xsi:type="xsd:long">9007199254740993</item><item xsi:type="xsd:long">2</item></numbers><at xsi:type="n1:Point"><x xsi:type="xsd:int">1</x><y xsi:nil="true"/></at></n0:Sum>',
	);
	assert.match(body.toString(), / xmlns:enc="http:\/\/schemas.xmlsoap.org\/soap\/encoding\/"/);
	assert.equal(line, 'POST /encoded HTTP/1.1', 'another port than the first, on the same origin');
});

const GROUPS: [what: string, content: string, args: JsonObject, inside: string][] = [
	[
		'a choice that occurs again',
		'<xs:choice maxOccurs="unbounded"><xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:int"/></xs:choice>',
		{ b: [3], a: [1, 2] },
		'<n0:a>1</n0:a><n0:a>2</n0:a><n0:b>3</n0:b>',
	],
	[
		'one name in two places',
		'<xs:sequence><xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:int"/><xs:element name="a" type="xs:int"/></xs:sequence>',
		{ a: [1, 2], b: 9 },
		'<n0:a>1</n0:a><n0:b>9</n0:b><n0:a>2</n0:a>',
	],
	[
		'alternatives that share a member',
		'<xs:choice><xs:sequence><xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:int"/></xs:sequence><xs:sequence><xs:element name="c" type="xs:int"/><xs:element name="a" type="xs:int"/></xs:sequence></xs:choice>',
		{ a: 1, c: 2 },
		'<n0:c>2</n0:c><n0:a>1</n0:a>',
	],
	[
		'the alternative that lacks nothing',
		'<xs:choice><xs:sequence><xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:int" minOccurs="0"/></xs:sequence><xs:element name="b" type="xs:int"/></xs:choice>',
		{ b: 1 },
		'<n0:b>1</n0:b>',
	],
	[
		'a choice of what may be left out, and is',
		'<xs:choice><xs:element name="a" type="xs:int"/><xs:sequence><xs:element name="b" type="xs:int" minOccurs="0"/></xs:sequence></xs:choice>',
		{},
		'',
	],
	[
		'a list of one item that was given without its brackets',
		'<xs:sequence><xs:element name="a"><xs:simpleType><xs:list itemType="xs:string"/></xs:simpleType></xs:element></xs:sequence>',
		{ a: ['x'] },
		'<n0:a>x</n0:a>',
	],
	[
		'a fixed element that was not given',
		'<xs:sequence><xs:element name="v" type="xs:string" fixed="7"/><xs:element name="a" type="xs:int"/></xs:sequence>',
		{ a: 1 },
		'<n0:v>7</n0:v><n0:a>1</n0:a>',
	],
	[
		'mixed content',
		'<xs:complexContent mixed="true"><xs:extension base="xs:anyType"><xs:sequence><xs:element name="a" type="xs:int" minOccurs="0"/></xs:sequence></xs:extension></xs:complexContent>',
		{ value: 'text', a: 1 },
		'text<n0:a>1</n0:a>',
	],
	[
		'a value of any type',
		'<xs:sequence><xs:element name="a" type="xs:anyType"/></xs:sequence>',
		{ a: { '@xsi:type': 'xs:int', $value: 5 } },
		'<n0:a xsi:type="xsd:int">5</n0:a>',
	],
	[
		'numbers that a double holds, without exponents where XML Schema has none',
		'<xs:sequence><xs:element name="d" type="xs:decimal"/><xs:element name="l" type="xs:long"/><xs:element name="f" type="xs:double"/></xs:sequence>',
		{ d: 1.5e-22, l: 9007199254740991, f: 1e300 },
		'<n0:d>0.00000000000000000000015</n0:d><n0:l>9007199254740991</n0:l><n0:f>1e+300</n0:f>',
	],
	[
		'attributes of one name in two namespaces',
		'<xs:attribute name="lang"/><xs:attribute ref="t:lang"/>',
		{ lang: 'a', lang_2: 'b' },
		'<n0:Do lang="a" n0:lang="b"/>',
	],
	[
		'members whose names every object has',
		'<xs:sequence><xs:element name="constructor" type="xs:int"/><xs:element name="toString" type="xs:int" minOccurs="0"/></xs:sequence>',
		{ constructor: 1 },
		'<n0:constructor>1</n0:constructor>',
	],
];

for (const [what, inside, args, expected] of GROUPS)
	test(`A message can hold ${what}`, async (t) => {
		const text = await written(t, `${content(inside)}<xs:attribute name="lang"/>`, args);
		assert.equal(text.replace(/^<n0:Do\/?>|<\/n0:Do>$/g, ''), expected);
	});

const SUBTYPE = `<xs:complexType name="B" abstract="true"/>
	<xs:complexType name="S"><xs:complexContent><xs:extension base="t:B"><xs:sequence><xs:element name="b" type="xs:int"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>`;

test('A subtype can replace the type of the body’s element, and one that was too large to be described', async (t) => {
	const root = `<xs:element name="Do" type="t:B"/>${SUBTYPE}`;
	assert.equal(await written(t, root, { xsi_type: 'S', b: 1 }), '<n0:Do xsi:type="n0:S"><n0:b>1</n0:b></n0:Do>');
	const many = Array.from({ length: 1_500 }, (_, n) => `<xs:element name="element${n}" type="xs:int" minOccurs="0"/>`).join('');
	const large = `<xs:complexType name="B" abstract="true"><xs:sequence>${many}</xs:sequence></xs:complexType>`;
	const text = await written(t, content('<xs:sequence><xs:element name="a" type="t:B"/></xs:sequence>') + large, {
		a: { '@xsi:type': '{urn:x}S', element1: 1 },
	});
	assert.equal(text, '<n0:Do><n0:a xsi:type="n1:S"><n0:element1>1</n0:element1></n0:a></n0:Do>');
});

test('Members whose names models cannot write have arguments of other names, and are written under their own', async (t) => {
	const schema = content(
		'<xs:sequence><xs:element name="größe" type="xs:int"/><xs:element name="gr__e" type="xs:int"/></xs:sequence><xs:attribute name="id" type="xs:int"/>',
	);
	assert.equal(
		await written(t, schema, { gr__e_2: 1, gr__e: 2, id: 3 }),
		'<n0:Do id="3"><n0:größe>1</n0:größe><n0:gr__e>2</n0:gr__e></n0:Do>',
	);
});

test('Local elements are qualified as the schema, or they themselves, say', async (t) => {
	const schema = `${content(
		'<xs:sequence><xs:element name="a" type="xs:int"/><xs:element name="b" form="qualified" type="xs:int"/><xs:element ref="t:G"/></xs:sequence><xs:attribute name="c" form="qualified" type="xs:int"/>',
	)}<xs:element name="G" type="xs:int"/>`;
	assert.equal(await written(t, schema, { a: 1, b: 2, G: 3, c: 4 }, ''), '<n0:Do n0:c="4"><a>1</a><n0:b>2</n0:b><n0:G>3</n0:G></n0:Do>');
});

test('An action that no header could carry is escaped', async (t) => {
	const { headers } = await sent(t, ['shop.wsdl', '/Echo'], { value: 'x' }, { action: 'urn:ü"\r\nx: y' });
	assert.equal(headers['soapaction'], '"urn:%C3%BC%22%0D%0Ax:%20y"');
});

test('The endpoint is the base URL without the query of a document, a path beside it, or elsewhere', async (t) => {
	const upstream = await recorder(t);
	const { executionConfig } = await toolFrom('shop.wsdl', '/Echo', `${upstream.origin}/x`);
	const go = async (baseUrl: string, endpoint?: string): Promise<string> => {
		const config = await soap.config.validateAsync({ ...executionConfig, ...(endpoint ? { endpoint } : {}) });
		await soap.execute({ value: '' }, config, loopbackCall(t, { api: apiAt(baseUrl) }));
		return upstream.take().line;
	};
	assert.equal(await go(`${upstream.origin}/a/b?wsdl`), 'POST /a/b HTTP/1.1');
	assert.equal(await go(`${upstream.origin}/a?v=1`), 'POST /a?v=1 HTTP/1.1');
	assert.equal(await go(`${upstream.origin}/a`, '/c?d=1'), 'POST /c?d=1 HTTP/1.1');
	assert.equal(await go('http://10.0.0.1/', `${upstream.origin}/e`), 'POST /e HTTP/1.1');
});
