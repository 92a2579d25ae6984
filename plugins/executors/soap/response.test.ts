// Results made of answers by the model, against raw HTTP.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { asGatewayError, type Json } from '../../../core/index.ts';
import importer from '../../../importers/soap/index.ts';
import { longestTurnMs, threadCpuMs } from '../../../test/helpers/clock.ts';
import { apiAt, loopbackCall } from '../../../test/helpers/executor.ts';
import { content, documentOf, readOne } from '../../../test/helpers/soap.ts';
import { type Asked, answer, enveloped, sequence, textOf } from '../../../test/helpers/soap-answers.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import soap from './index.ts';

async function read(t: TestContext, schema: string, inside: string, attributes = ''): Promise<Json | undefined> {
	const { structured, isError, ...rest } = await answer(
		t,
		{ body: enveloped(`<t:Do xmlns:t="urn:t" ${attributes}>${inside}</t:Do>`) },
		{ schema: content(schema), args: {} },
	);
	assert.equal(isError, undefined, textOf(rest));
	return structured;
}

const VALUES: [what: string, schema: string, inside: string, expected: Json][] = [
	['a list of one', sequence('name="a" type="xs:int" maxOccurs="unbounded"'), '<t:a>1</t:a>', { a: [1] }],
	[
		'a list that others stand between',
		sequence('name="a" type="xs:int" maxOccurs="9"', 'name="b" type="xs:int"'),
		'<t:a>1</t:a><t:b>2</t:b><t:a>3</t:a>',
		{ a: [1, 3], b: 2 },
	],
	[
		'digits that a double would lose',
		sequence('name="l" type="xs:long"', 'name="d" type="xs:decimal"', 'name="u" type="xs:unsignedLong"'),
		'<t:l>9223372036854775807</t:l><t:d>0.10</t:d><t:u>1</t:u>',
		{ l: '9223372036854775807', d: '0.10', u: '1' },
	],
	[
		'numbers that are safe',
		sequence('name="i" type="xs:int"', 'name="f" type="xs:double"', 'name="g" type="xs:float"'),
		'<t:i> -7 </t:i><t:f>1.5E3</t:f><t:g>INF</t:g>',
		{ i: -7, f: 1500, g: 'INF' },
	],
	[
		'numbers that are none',
		sequence('name="i" type="xs:int"', 'name="f" type="xs:double"', 'name="b" type="xs:boolean"', 'name="c" type="xs:boolean"'),
		'<t:i>n/a</t:i><t:f/><t:b>yes</t:b><t:c/>',
		{ i: 'n/a', f: null, b: 'yes', c: null },
	],
	[
		'booleans',
		sequence('name="a" type="xs:boolean"', 'name="b" type="xs:boolean"', 'name="c" type="xs:boolean"'),
		'<t:a>true</t:a><t:b>0</t:b><t:c> 1 </t:c>',
		{ a: true, b: false, c: true },
	],
	[
		'text to the space, and bytes in base64',
		sequence('name="s" type="xs:string"', 'name="d" type="xs:base64Binary"'),
		'<t:s> a\n b </t:s><t:d>\n AAEC \n</t:d>',
		{ s: ' a\n b ', d: 'AAEC' },
	],
	[
		'nil',
		sequence('name="s" type="xs:string" nillable="true"', 'name="i" type="xs:int"'),
		'<t:s xsi:nil="1"/><t:i xsi:nil="true"/>',
		{ s: null, i: null },
	],
	['a list in one text', sequence('name="l" type="xs:NMTOKENS"'), '<t:l>a  b</t:l>', { l: ['a', 'b'] }],
	['a list in one text that is nil', sequence('name="l" type="xs:NMTOKENS" nillable="true"'), '<t:l xsi:nil="true"/>', { l: null }],
	[
		'undescribed elements',
		sequence('name="a" type="xs:int"'),
		'<t:a>1</t:a><t:b x="1">y</t:b><t:c><t:d>2</t:d><t:d>3</t:d></t:c>',
		{ a: 1, b: { '@x': '1', $value: 'y' }, c: { d: ['2', '3'] } },
	],
	['elements of the wrong namespace', sequence('name="a" type="xs:int"'), '<a xmlns="urn:other">1</a>', { a: 1 }],
	[
		'values of any type by the type that they show',
		sequence('name="a" type="xs:anyType"', 'name="b" type="xs:anyType"'),
		'<t:a xsi:type="xsd:int">1</t:a><t:b xsi:type="xsd:boolean">true</t:b>',
		{ a: 1, b: true },
	],
	['entities and CDATA', sequence('name="s" type="xs:string"'), '<t:s>&lt;&amp;&#65;<![CDATA[<b>]]></t:s>', { s: '<&A<b>' }],
	[
		'names that every object has',
		sequence('name="a" type="xs:string"'),
		'<t:constructor>1</t:constructor><t:__proto__><t:x>1</t:x></t:__proto__>',
		{ constructor: '1' },
	],
];

for (const [what, schema, inside, expected] of VALUES)
	test(`A result holds ${what}`, async (t) => {
		assert.deepEqual(await read(t, schema, inside), expected);
	});

const LINE = { sku: 'ABC-1', quantity: 1, price: { '@currency': 'EUR', $value: 1 } };

test('A result of the shop: attributes, text with attributes, subtypes, lists, a header', async (t) => {
	const body = `<s:PlaceOrderResponse xmlns:s="urn:shop" xmlns:c="urn:common" state="new"><s:number>12345678901234567890</s:number><s:total currency="EUR">10.10</s:total><s:line><s:sku>A</s:sku><s:quantity>2</s:quantity><s:price currency="EUR">5.05</s:price></s:line><s:count>1</s:count><s:done>1</s:done><s:animal xsi:type="c:Puppy"><name>Rex</name><barks>true</barks><c:weeks>3</c:weeks></s:animal><s:codes>1 2</s:codes><s:note xsi:nil="true"/></s:PlaceOrderResponse>`;
	const asked: Asked = {
		tool: ['shop.wsdl', '/PlaceOrder'],
		args: { id: 'o', customer: { zid: 1, name: 'A' }, line: [LINE], card: '1', reference: 1 },
	};
	const header = '<s:Quota xmlns:s="urn:shop" e:mustUnderstand="1">5</s:Quota>';
	const { structured, content: blocks } = await answer(t, { body: enveloped(body, header) }, asked);
	const expected = {
		'@state': 'new',
		number: '12345678901234567890',
		total: { '@currency': 'EUR', $value: '10.10' },
		line: [{ sku: 'A', quantity: 2, price: { '@currency': 'EUR', $value: '5.05' } }],
		count: 1,
		done: true,
		animal: { '@xsi:type': 'Puppy', name: 'Rex', barks: true, weeks: 3 },
		codes: [1, 2],
		note: null,
		header: { Quota: 5 },
	};
	assert.deepEqual(structured, expected);
	assert.deepEqual(blocks, [{ type: 'text', text: JSON.stringify(expected) }]);
});

test('A body of one value or of several elements is a result with their names', async (t) => {
	assert.deepEqual(
		(await answer(t, { body: enveloped('<Pong xmlns="urn:shop">hi</Pong>') }, { tool: ['shop.wsdl', '/Ping'] })).structured,
		{ value: 'hi' },
	);
	const both = enveloped('<Note xmlns="urn:shop">n</Note><Pong xmlns="urn:shop">p</Pong>');
	assert.deepEqual((await answer(t, { body: both }, { tool: ['shop.wsdl', '/Both'], args: { Pong: '', Note: '' } })).structured, {
		Note: 'n',
		Pong: 'p',
	});
});

test("An answer in SOAP's encoding is put together from its parts", async (t) => {
	const body = `<n:sumResult xmlns:n="urn:x"><total href="#t"/><path href="#p"/></n:sumResult>
		<multiRef id="t" xsi:type="xsd:long">9007199254740993</multiRef>
		<multiRef id="p"><item href="#q"/><item><x>3</x><y xsi:nil="true"/></item></multiRef><multiRef id="q"><x>1</x><y>2</y></multiRef>`;
	const asked: Asked = { tool: ['calculator.wsdl', '/Sum'], args: { numbers: [], at: { x: 1, y: 1 } } };
	assert.deepEqual((await answer(t, { body: enveloped(body) }, asked)).structured, {
		total: '9007199254740993',
		path: [
			{ x: 1, y: 2 },
			{ x: 3, y: null },
		],
	});
	const nil = '<r><total/><path xsi:nil="1"/></r>';
	assert.deepEqual((await answer(t, { body: enveloped(nil) }, asked)).structured, { total: '', path: null });
	const endless = '<r><total href="#t"/></r><multiRef id="t" href="#u"/><multiRef id="u" href="#t"/>';
	assert.match(textOf(await answer(t, { body: enveloped(endless) }, asked)), /refers to itself/);
	const bomb = Array.from({ length: 30 }, (_, level) => `<m id="l${level}"><i href="#l${level + 1}"/><i href="#l${level + 1}"/></m>`).join(
		'',
	);
	const cpuMs = await threadCpuMs(async () => {
		const result = await answer(t, { body: enveloped(`<r><other href="#l0"/></r>${bomb}`) }, asked);
		assert.match(textOf(result), /stands for more than 200000 elements/);
	});
	assert.ok(cpuMs < 5_000, `${cpuMs} ms`);
});

test("An answer in SOAP's encoding can hold as many items as any other, in one list and in a fault", async (t) => {
	const count = 190_000;
	const items = '<i/>'.repeat(count);
	const asked: Asked = { tool: ['calculator.wsdl', '/Sum'], args: { numbers: [], at: { x: 1, y: 1 } } };
	const { structured, isError, ...rest } = await answer(t, { body: enveloped(`<r><other>${items}</other></r>`) }, asked);
	assert.equal(isError, undefined, textOf(rest).slice(0, 200));
	assert.equal(JSON.stringify(structured).length, `{"other":{"i":[${'"",'.repeat(count - 1)}""]}}`.length);
	const fault = `<e:Fault><faultcode>e:Server</faultcode><faultstring>full</faultstring><detail>${items}</detail></e:Fault>`;
	const failed = await answer(t, { status: 500, body: enveloped(fault) }, asked);
	assert.equal(failed.isError, true);
	assert.match(textOf(failed), /^SOAP fault Server: full\nDetail: \{"i":\["","",/);
});

test('The items of a list in one text count as elements do, in an element, beside attributes and in an attribute', async (t) => {
	const attribute = '<xs:attribute name="l" type="xs:NMTOKENS"/>';
	const extended = `<xs:element name="a" minOccurs="0"><xs:complexType><xs:simpleContent><xs:extension base="xs:NMTOKENS">${attribute}</xs:extension></xs:simpleContent></xs:complexType></xs:element>`;
	const schema = content(`${sequence('name="l" type="xs:NMTOKENS"').replace('</xs:sequence>', `${extended}</xs:sequence>`)}${attribute}`);
	const items = (count: number): string => '1 '.repeat(count);
	for (const inside of [
		(list: string) => `><t:l>${list}</t:l>`,
		(list: string) => `><t:a>${list}</t:a>`,
		(list: string) => ` l="${list}">`,
	]) {
		const result = (count: number) => answer(t, { body: enveloped(`<t:Do xmlns:t="urn:t"${inside(items(count))}</t:Do>`) }, { schema });
		assert.equal((await result(199_990)).isError, undefined);
		assert.match(textOf(await result(200_000)), /it stands for more than 200000 elements/);
	}
});

test('An answer has at most 5,000 different names', async (t) => {
	const named = (count: number): string => Array.from({ length: count }, (_, index) => `<k${index}/>`).join('');
	const asked: Asked = { schema: content('') };
	const inside = (body: string) => answer(t, { body: enveloped(`<t:Do xmlns:t="urn:t">${body}</t:Do>`) }, asked);
	assert.equal((await inside(`${named(4_999).repeat(2)}<k0 a="1"/>`)).isError, undefined);
	assert.match(textOf(await inside(named(5_001))), /it has more than 5000 different names/);
	const fault = `<e:Fault><faultcode>e:Server</faultcode><faultstring>full</faultstring><detail>${named(5_001)}</detail></e:Fault>`;
	assert.match(textOf(await answer(t, { status: 500, body: enveloped(fault) }, asked)), /^SOAP fault Server: full\nDetail: cannot be read/);
});

test('An answer without a body says that the message was accepted', async (t) => {
	const { isError, content: blocks } = await answer(t, { status: 202 }, { tool: ['shop.wsdl', '/Notify'], args: { value: 'x' } });
	assert.deepEqual(
		[isError, blocks],
		[undefined, [{ type: 'text', text: 'HTTP 202 Accepted: the service accepted the message and returned no answer.' }]],
	);
});

test('An answer of several parts is read from its root, with the parts that it includes', async (t) => {
	const include = '<i:Include xmlns:i="http://www.w3.org/2004/08/xop/include" href="cid:a%40b"/>';
	const message = enveloped(`<t:Do xmlns:t="urn:t"><t:data>${include}</t:data></t:Do>`);
	const parts = [
		'Content-ID: <a@b>\r\nContent-Transfer-Encoding: binary\r\n\r\n\u0000\u0001\u0002\r\n',
		`Content-Type: application/xop+xml; charset=UTF-8;\r\n type="text/xml"\r\nContent-ID: <root>\r\n\r\n${message}`,
	];
	const body = Buffer.from(`preamble\r\n${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`, 'latin1');
	const headers = { 'content-type': 'multipart/related; type="application/xop+xml"; start="<root>"; boundary="b"' };
	const schema = content(sequence('name="data" type="xs:base64Binary"'));
	assert.deepEqual((await answer(t, { headers, body }, { schema })).structured, {
		data: Buffer.from('\u0000\u0001\u0002\r\n').toString('base64'),
	});
});

const PARTS = { 'content-type': 'multipart/related; type="application/xop+xml"; start="<root>"; boundary="b"' };
const rooted = (message: string, more = ''): string => `--b\r\ncontent-id: <root>\r\n\r\n${message}\r\n${more}--b--\r\n`;
const included = (id: string): string => `<t:a><i:Include xmlns:i="http://www.w3.org/2004/08/xop/include" href="cid:${id}"/></t:a>`;

test('An included part that is missing makes the answer unreadable, not an empty value', async (t) => {
	const body = rooted(enveloped(`<t:Do xmlns:t="urn:t">${included('b')}</t:Do>`));
	const result = await answer(t, { headers: PARTS, body }, { schema: content(sequence('name="a" type="xs:base64Binary"')) });
	assert.equal(result.isError, true);
	assert.match(textOf(result), /includes a part that did not come with it/);
	const many = '--b\r\ncontent-id: <x>\r\n\r\n\r\n'.repeat(1_001);
	const crowd = await answer(t, { headers: PARTS, body: rooted(enveloped('<t:Do xmlns:t="urn:t"/>'), many) }, { schema: content('') });
	assert.match(textOf(crowd), /more than 1000 parts/);
});

test('A part that an answer refers to many times counts each time, so that no small answer becomes a huge one', async (t) => {
	const schema = content(sequence('name="a" type="xs:base64Binary" maxOccurs="unbounded"'));
	const attachment = `--b\r\ncontent-id: <x>\r\n\r\n${'x'.repeat(64 * 1024)}\r\n`;
	const body = rooted(enveloped(`<t:Do xmlns:t="urn:t">${included('x').repeat(1_000)}</t:Do>`), attachment);
	assert.match(textOf(await answer(t, { headers: PARTS, body }, { schema })), /stands for more than 8388608 characters/);
	const asked: Asked = { tool: ['calculator.wsdl', '/Sum'], args: { numbers: [], at: { x: 1, y: 1 } } };
	const long = 'x'.repeat(64 * 1024);
	for (const told of [`<m id="x">${long}</m>`, `<m id="x" long="${long}"/>`, `<m id="x"><${long}/></m>`]) {
		const message = enveloped(`<r><other>${'<i href="#x"/>'.repeat(1_000)}</other></r>${told}`);
		assert.match(textOf(await answer(t, { body: message }, asked)), /stands for more than 8388608 characters/, told.slice(0, 20));
	}
});

test('An element called Fault is a SOAP fault unless the operation answers with an element of that name', async (t) => {
	const schema = `<xs:element name="Do" type="xs:string"/><xs:element name="Fault" type="xs:string"/>`;
	const read = async (body: string, text: string) => {
		const upstream = await httpUpstream(t, (_request, response) => response.writeHead(200, { 'content-type': 'text/xml' }).end(body));
		const api = apiAt(`${upstream.origin}/`);
		const draft = importer.tool(await readOne(text), api);
		return soap.execute({ value: 'x' }, await soap.config.validateAsync(draft.executionConfig), loopbackCall(t, { api }));
	};
	const text = documentOf(schema)
		.replace('<portType', '<message name="Out"><part name="p" element="t:Fault"/></message><portType')
		.replace('output message="t:In"', 'output message="t:Out"');
	assert.deepEqual((await read(enveloped('<t:Fault xmlns:t="urn:t">broken</t:Fault>'), text)).structured, { value: 'broken' });
	const fault = '<e:Fault><faultcode>e:Server</faultcode><faultstring>no</faultstring></e:Fault>';
	assert.equal(textOf(await read(enveloped(fault), text)), 'SOAP fault Server: no');
	const odd = fault.replaceAll('e:Fault', 'Fault');
	assert.equal(textOf(await read(enveloped(odd), documentOf(schema))), 'SOAP fault Server: no');
});

test('A fault shows its reason even if its detail cannot be read', async (t) => {
	const fault = `<e:Fault><faultcode>e:Server</faultcode><faultstring>full</faultstring><detail>${included('gone')}</detail></e:Fault>`;
	const body = rooted(enveloped(fault).replace('<e:Body>', '<e:Body xmlns:t="urn:t">'));
	assert.equal(
		textOf(await answer(t, { status: 500, headers: PARTS, body }, { schema: content('') })),
		'SOAP fault Server: full\nDetail: cannot be read, as it includes a part that did not come with it.',
	);
});

test('If no answer is expected, a 202 says that the message was accepted, whatever its body', async (t) => {
	const headers = { 'content-type': 'text/plain' };
	const asked: Asked = { tool: ['shop.wsdl', '/Notify'], args: { value: 'x' } };
	assert.equal((await answer(t, { status: 202, headers, body: 'Accepted' }, asked)).isError, undefined);
	assert.equal((await answer(t, { status: 200, headers, body: '\r\n' }, asked)).isError, undefined);
	assert.equal((await answer(t, { status: 200, headers, body: 'Log in' }, asked)).isError, true);
	assert.equal((await answer(t, { status: 202, headers, body: 'Accepted' }, { schema: content('') })).isError, true);
});

test('An answer is decoded by its byte order mark, its header, or what it declares', async (t) => {
	const schema = content(sequence('name="s" type="xs:string"'));
	const message = enveloped('<t:Do xmlns:t="urn:t"><t:s>ü</t:s></t:Do>');
	const bodies: [body: Buffer, type: string][] = [
		[Buffer.from(`\ufeff${message}`, 'utf16le'), 'text/xml'],
		[Buffer.from(message, 'latin1'), 'text/xml; charset=ISO-8859-1'],
		[Buffer.from(message.replace('?>', ' encoding="iso-8859-1"?>'), 'latin1'), 'text/xml'],
		[Buffer.from(`\ufeff\n${message}`), 'text/xml'],
	];
	for (const [body, type] of bodies)
		assert.deepEqual((await answer(t, { headers: { 'content-type': type }, body }, { schema })).structured, { s: 'ü' }, type);
});

test('Reading the largest answer does not block the event loop', async (t) => {
	const item = '<t:a>12345678901234567890123456789012345</t:a>';
	const body = enveloped(`<t:Do xmlns:t="urn:t">${item.repeat(Math.floor((4 * 1024 * 1024 - 1_000) / item.length))}</t:Do>`);
	const schema = content(sequence('name="a" type="xs:string" maxOccurs="unbounded"'));
	const longestMs = await longestTurnMs(async () => assert.equal((await answer(t, { body }, { schema })).isError, undefined));
	t.diagnostic(`longest turn ${longestMs.toFixed(0)} ms`);
	assert.ok(longestMs < 500, `${longestMs} ms`);
});

test('A long answer is cut so that it stays data of its shape, and says what was cut', async (t) => {
	const count = 60_000;
	const body = enveloped(`<t:Do xmlns:t="urn:t">${'<t:a>12345678901234567890123456789012345</t:a>'.repeat(count)}<t:b>7</t:b></t:Do>`);
	const schema = content(sequence('name="a" type="xs:string" maxOccurs="unbounded"', 'name="b" type="xs:int"'));
	const { structured, content: blocks, isError } = await answer(t, { body }, { schema });
	const { a, b } = structured as { a: string[]; b: number };
	assert.deepEqual([isError, b, a[0]], [undefined, 7, '12345678901234567890123456789012345']);
	assert.ok(a.length > 1_000 && a.length < count, String(a.length));
	const [text, note] = blocks.map((block) => (block.type === 'text' ? block.text : ''));
	assert.ok((text?.length ?? 0) <= 1024 * 1024);
	assert.deepEqual(JSON.parse(text ?? ''), structured);
	assert.equal(note, `The answer was too long and is cut:\n/a: the first ${a.length.toLocaleString('en')} of 60,000 items`);
});

test('An answer over 4 MiB is a failure', async (t) => {
	const body = 'x'.repeat(4 * 1024 * 1024 + 1);
	await assert.rejects(answer(t, { body }), (error) => asGatewayError(error)?.code === 'upstream_failed');
});
