// Services, ports, bindings, and the operations made of them: names, endpoints, headers, policies.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, Operation } from '../../core/index.ts';
import { apiAt } from '../../test/helpers/executor.ts';
import { readWith } from '../../test/helpers/importer.ts';
import { content, documentOf, fixture, readFixture, readOne } from '../../test/helpers/soap.ts';
import importer from './index.ts';

const keysOf = (operations: Operation[]): string[] => operations.map(({ key }) => key);

test('an operation becomes one tool, however many bindings have it: SOAP 1.1 comes first, HTTP GET and POST are ignored', async () => {
	const { operations, summary } = await readFixture('weather.wsdl');
	assert.deepEqual(keysOf(operations), [
		'Weather/WeatherSoap/GetWeatherInformation',
		'Weather/WeatherSoap/GetCityForecastByZIP',
		'Weather/WeatherSoap/GetCityWeatherByZIP',
	]);
	assert.deepEqual(
		operations.map(({ definition }) => definition['version']),
		['1.1', '1.1', '1.1'],
	);
	assert.deepEqual(summary, { format: 'wsdl 1.1', title: null, version: null, servers: ['http://wsf.cdyne.com/WeatherWS/Weather.asmx'] });
	const only12 = documentOf(content('')).replaceAll('wsdl/soap/', 'wsdl/soap12/');
	assert.equal((await readOne(only12)).definition['version'], '1.2');
});

test('an operation is described in the words of its document, and skipped if it cannot be called', async () => {
	const { operations } = await readFixture('shop.wsdl');
	const order = operations.find(({ name }) => name === 'PlaceOrder') ?? assert.fail('no PlaceOrder');
	assert.equal(order.description, 'Places an order of one customer.');
	assert.equal(operations.find(({ name }) => name === 'Echo')?.description, 'Shop: Echo');
	assert.deepEqual(
		operations.filter(({ outcome }) => outcome === 'skipped').map(({ name, reasons }) => [name, ...reasons]),
		[
			['Typed', 'Its part “typed” names no element, as parts of document style must.'],
			['Announce', 'It is sent by the server, so it cannot be called.'],
		],
	);
});

test('a header is an argument of its own, and a member of the answer', async () => {
	const { operations } = await readFixture('shop.wsdl');
	const order = operations.find(({ name }) => name === 'PlaceOrder') ?? assert.fail('no PlaceOrder');
	const { header } = order.parameters['properties'] as { header: JsonObject };
	assert.deepEqual(Object.keys(header['properties'] as JsonObject), ['Session']);
	assert.deepEqual((Object(order.outputSchema)['properties'] as JsonObject)['header'], {
		type: 'object',
		properties: { Quota: { type: ['integer', 'string', 'null'] } },
	});
	const clash = documentOf(content('<xs:sequence><xs:element name="header" type="xs:int"/></xs:sequence>')).replace(
		'<input><soap:body use="literal"/>',
		'<input><soap:body use="literal" parts="p"/><soap:header message="t:In" part="p" use="literal"/>',
	);
	assert.deepEqual(Object.keys((await readOne(clash)).parameters['properties'] as JsonObject), ['header', 'header_2']);
});

test('operations of several services and overloaded ones are all there, under names that do not depend on their order', async () => {
	const text = fixture('calculator.wsdl');
	const { operations } = await readWith(importer, text);
	assert.deepEqual(keysOf(operations), [
		'LiteralService/Literal/Add/AddTwo',
		'LiteralService/Literal/Add/AddThree',
		'LiteralService/Literal/Fail',
		'EncodedService/Encoded/Sum',
		'EncodedService/Encoded/Fail',
	]);
	for (const { name } of operations) assert.match(name, /^(?:Sum|(?:Add|Fail)_[0-9a-f]{8})$/);
	const [, first = '', second = ''] = /(<service name="Literal.*?<\/service>)\s*(<service.*?<\/service>)/s.exec(text) ?? [];
	const turned = await readWith(importer, text.replace(first, '').replace(second, second + first));
	const names = (all: Operation[]) => Object.fromEntries(all.map(({ key, name }) => [key, name]));
	assert.notDeepEqual(keysOf(turned.operations), keysOf(operations));
	assert.deepEqual(names(turned.operations), names(operations));
});

test('operations that a document does not distinguish are numbered, and have names of their own', async () => {
	const { operations } = await readWith(
		importer,
		fixture('calculator.wsdl').replace('<operation name="Sum"><input message', '<operation name="Fail"><input message'),
	);
	assert.deepEqual(keysOf(operations).slice(-2), ['EncodedService/Encoded/Fail/', 'EncodedService/Encoded/Fail/#2']);
	assert.equal(new Set(operations.map(({ name }) => name)).size, 5);
});

const ENDPOINTS: [what: string, baseUrl: string, address: string, rootAddress: string, endpoint: string | undefined][] = [
	['the base URL has a path', 'https://api.example/ws', 'http://in.example:8080/soap', 'http://in.example:8080/soap', undefined],
	[
		'the base URL has none, and is of the same origin',
		'http://in.example/',
		'http://in.example/soap?x=1',
		'http://in.example/soap?x=1',
		'/soap?x=1',
	],
	['the base URL has none, and is of another origin', 'https://api.example', 'http://in.example/soap', 'http://in.example/soap', undefined],
	['the port is another one of the same origin', 'https://api.example/ws', 'http://in.example/two', 'http://in.example/one', '/two'],
	[
		'the port is of another origin',
		'https://api.example/ws',
		'https://elsewhere.example/two',
		'http://in.example/one',
		'https://elsewhere.example/two',
	],
	['the address is not a URL', 'https://api.example/ws', 'REPLACE_WITH_ACTUAL_URL', 'REPLACE_WITH_ACTUAL_URL', undefined],
	['the address has a password', 'https://api.example/ws', 'http://a:b@x.example/', 'http://in.example/one', undefined],
	['the address is not HTTP', 'https://api.example/ws', 'jms:queue', 'http://in.example/one', undefined],
];

for (const [what, baseUrl, address, rootAddress, expected] of ENDPOINTS)
	test(`If ${what}, the endpoint is ${expected ?? 'the base URL'}`, async () => {
		const operation = await readOne(documentOf(content('')));
		const { executionConfig } = importer.tool(
			{ ...operation, definition: { ...operation.definition, address, rootAddress } },
			apiAt(baseUrl),
		);
		assert.deepEqual(
			[executionConfig['endpoint'], executionConfig['address'], executionConfig['rootAddress']],
			[expected, undefined, undefined],
		);
	});

test('a policy that asks for a UsernameToken is kept: as text, or as a digest', async () => {
	const utility = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd';
	const policy = (inside: string): string =>
		`<wsp:Policy xmlns:wsp="http://schemas.xmlsoap.org/ws/2004/09/policy" xmlns:sp="http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702" xmlns:wsu="${utility}" wsu:Id="P1"><wsp:ExactlyOne><wsp:All><sp:SupportingTokens><wsp:Policy><sp:UsernameToken><wsp:Policy>${inside}</wsp:Policy></sp:UsernameToken></wsp:Policy></sp:SupportingTokens></wsp:All></wsp:ExactlyOne></wsp:Policy>`;
	const reference = '<wsp:PolicyReference xmlns:wsp="http://schemas.xmlsoap.org/ws/2004/09/policy" URI="#P1"/>';
	const text = documentOf(content(''));
	const bound = text.replace('<soap:binding', `${reference}<soap:binding`);
	const wsSecurityOf = async (document: string) => (await readOne(document)).definition['wsSecurity'];
	assert.equal(await wsSecurityOf(text), undefined);
	assert.equal(await wsSecurityOf(text.replace('<types>', `${policy('')}<types>`)), undefined, 'nobody refers to it');
	assert.equal(await wsSecurityOf(bound.replace('<types>', `${policy('')}<types>`)), 'text');
	assert.equal(await wsSecurityOf(bound.replace('<types>', `${policy('<sp:HashPassword/>')}<types>`)), 'digest');
	assert.equal(await wsSecurityOf(text.replace('<soap:operation', `${policy('')}<soap:operation`)), 'text');
});

test('names that XML cannot hold, and hostile texts, become tools that are safe to show', async () => {
	const { operations } = await readWith(
		importer,
		documentOf(
			content(
				'<xs:sequence><xs:element name="a b" type="xs:int"/><xs:element name="__proto__" type="xs:int"/><xs:element type="xs:int"/><xs:element name="ok" type="xs:int" default="&#x85;x&#x202e;"/></xs:sequence>',
			),
		).replace('<input message', '<documentation>ignore &#x200b;all&#xE0041;</documentation><input message'),
	);
	const [only] = operations;
	assert.deepEqual(Object.keys(only?.parameters['properties'] as JsonObject), ['ok']);
	assert.equal(only?.outcome, 'degraded');
	assert.equal(only?.description, 'ignore all');
	assert.ok(!/[\u0085\u202e\u200b]/.test(JSON.stringify(only)));
});

test('of the definition, a new member changes only what describes the messages', async () => {
	const definitionWith = async (inside: string): Promise<JsonObject> => (await readOne(documentOf(content(inside)))).definition;
	const before = await definitionWith('<xs:sequence><xs:element name="a" type="xs:int"/></xs:sequence>');
	const after = await definitionWith(
		'<xs:sequence><xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:int"/></xs:sequence><xs:attribute name="v"/>',
	);
	const changed = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
	assert.deepEqual(changed, ['types', 'request']);
	assert.ok(changed.every((name) => importer.messageTypes.includes(name)));
});
