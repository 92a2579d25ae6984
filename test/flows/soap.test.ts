// Tests a SOAP API over the public interfaces: connect → import → generate → publish → call, against the soap package's server.

import assert from 'node:assert/strict';
import { text as textOf } from 'node:stream/consumers';
import { after, before, type TestContext, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { zipSync } from 'fflate';
import type { IServices } from 'soap';
import { longestTurnMs } from '../helpers/clock.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';
import { content, documentOf, fixture, type SoapServer, shopFiles, soapServer } from '../helpers/soap.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: SharedService;
let account: Account;

before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

type Handlers = { [operation: string]: (args: { ZIP?: string }) => object };

const HANDLERS: Handlers = {
	GetCityWeatherByZIP: ({ ZIP }) => {
		if (ZIP === '0') throw { Fault: { faultcode: 'soap:Client', faultstring: 'no such place', detail: { zip: ZIP } } };
		return { GetCityWeatherByZIPResult: { Success: true, City: `City of ${ZIP}`, WeatherID: 3, Temperature: '20.50' } };
	},
};

async function weather(t: TestContext): Promise<SoapServer> {
	// The package's types lack the form of handlers that it reads.
	return soapServer(t, fixture('weather.wsdl'), { Weather: { WeatherSoap: HANDLERS, WeatherSoap12: HANDLERS } } as unknown as IServices);
}

async function connect(
	t: TestContext,
	baseUrl: string,
	schema: object,
	credentials: object[] = [],
): Promise<{ apiId: string; client: Client; imported: { report: { counts: object; warnings: object[] } } }> {
	const apiId = must(await account.post('/apis', { name: 'Weather', type: 'soap', baseUrl }), 201).body.data.id;
	for (const credential of credentials) must(await account.post(`/apis/${apiId}/credentials`, credential), 201);
	const imported = must(await account.post(`/apis/${apiId}/import-schema`, { ...schema, generateTools: true }), 200).body.data;
	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data;
	const gateway = await publishGateway(account, { toolIds: tools.map(({ id }: { id: string }) => id) });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	return { apiId, client, imported };
}

const PATH = '/WeatherWS/Weather.asmx';

test('a WSDL is imported by its URL, its operations become tools, and a real client calls them', async (t) => {
	const upstream = await weather(t);
	const { client, imported } = await connect(t, `${upstream.origin}${PATH}`, { schemaUrl: `${upstream.origin}${PATH}?wsdl` });
	assert.deepEqual(imported.report.counts, { operations: 3, converted: 3, degraded: 0, skipped: 0 });
	const { tools } = await client.listTools();
	assert.deepEqual(tools.map(({ name }) => name).toSorted(), ['GetCityForecastByZIP', 'GetCityWeatherByZIP', 'GetWeatherInformation']);
	for (const { outputSchema } of tools) assert.equal(outputSchema?.type, 'object');
	const [data] = await callTool(client, 'GetCityWeatherByZIP', { ZIP: '10001 <&>' });
	assert.deepEqual(data, { GetCityWeatherByZIPResult: { Success: true, City: 'City of 10001 <&>', WeatherID: 3, Temperature: '20.50' } });
	assert.deepEqual(await callTool(client, 'GetCityWeatherByZIP', { ZIP: '0' }), [
		undefined,
		['SOAP fault Client: no such place\nDetail: {"zip":"0"}'],
		true,
	]);
	const before = upstream.requests.length;
	for (const args of [{ ZIP: 5 }, { ZIP: 'x', other: 1 }, { ZIP: '\u0001' }])
		assert.equal((await callTool(client, 'GetCityWeatherByZIP', args))[2], true, JSON.stringify(args));
	assert.equal(upstream.requests.length, before, 'nothing was sent');
});

test('each type of credential reaches the service, also as a UsernameToken, and none goes to another origin', async (t) => {
	const tokens = await httpUpstream(t, (_request, response) =>
		response.setHeader('content-type', 'application/json').end('{"access_token":"granted","token_type":"bearer"}'),
	);
	const basic = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
	const oauth2 = { tokenUrl: `${tokens.origin}/token`, clientId: 'c', clientSecret: 's', scopes: [] };
	const types: [type: string, credentials: object, header: string, value: string][] = [
		['api_key', { key: 'k', name: 'X-Key', in: 'header' }, 'x-key', 'k'],
		['api_key', { key: 'k', name: 'key', in: 'cookie' }, 'cookie', 'key=k'],
		['bearer_token', { token: 'b' }, 'authorization', 'Bearer b'],
		['basic_auth', { username: 'ada', password: 'secret' }, 'authorization', basic],
		['oauth2', oauth2, 'authorization', 'Bearer granted'],
	];
	for (const [type, credentials, header, value] of types) {
		const upstream = await weather(t);
		const { client } = await connect(t, `${upstream.origin}${PATH}`, { schemaContent: fixture('weather.wsdl') }, [{ type, credentials }]);
		await callTool(client, 'GetCityWeatherByZIP', { ZIP: '1' });
		assert.equal(upstream.requests[0]?.headers[header], value, type);
	}
	const upstream = await weather(t);
	const text = fixture('weather.wsdl');
	const policy =
		'<wsp:Policy xmlns:wsp="http://schemas.xmlsoap.org/ws/2004/09/policy"><sp:UsernameToken xmlns:sp="http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702"/></wsp:Policy>';
	const secured = text.replace(/(<wsdl:binding name="WeatherSoap"[^>]*>)/, `$1${policy}`);
	const credentials = [{ type: 'basic_auth', credentials: { username: 'ada', password: 'secret' } }];
	const { client } = await connect(t, `${upstream.origin}${PATH}`, { schemaContent: secured }, credentials);
	assert.ok((await callTool(client, 'GetCityWeatherByZIP', { ZIP: '1' }))[0]);
	assert.match(
		upstream.requests[0]?.body ?? '',
		/<wsse:Username>ada<\/wsse:Username><wsse:Password Type="[^"]*#PasswordText">secret<\/wsse:Password>/,
	);
	assert.equal(upstream.requests[0]?.headers.authorization, undefined);
	const elsewhere = await weather(t);
	const address = `${elsewhere.origin}${PATH}`;
	const other = secured
		.replace(
			/(<wsdl:service name="Weather">)/,
			'<wsdl:service name="First"><wsdl:port name="F" binding="tns:WeatherSoap"><soap:address location="http://first.example/"/></wsdl:port></wsdl:service>$1',
		)
		.replace(/http:\/\/wsf\.cdyne\.com\/WeatherWS\/Weather\.asmx/g, address);
	const away = await connect(t, `${upstream.origin}${PATH}`, { schemaContent: other }, credentials);
	const { tools } = await away.client.listTools();
	for (const { name } of tools.filter(({ name: one }) => one.startsWith('GetCityWeatherByZIP')))
		await callTool(away.client, name, { ZIP: '2' });
	assert.equal(elsewhere.requests.length, 1);
	assert.ok(!JSON.stringify(elsewhere.requests).includes('ada'));
});

test('importing again changes nothing, and hostile documents are a 400 while others are answered', async (t) => {
	const upstream = await weather(t);
	const { apiId } = await connect(t, `${upstream.origin}${PATH}`, { schemaContent: fixture('weather.wsdl') });
	const path = `/apis/${apiId}/import-schema`;
	const again = must(await account.post(path, { schemaContent: fixture('weather.wsdl') }), 200).body.data;
	const { operations, unchanged, ...counts } = again.changes;
	assert.deepEqual([operations, unchanged], [[], 3]);
	for (const [what, count] of Object.entries(counts)) assert.equal(count, 0, what);
	const documents = [
		`<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>${documentOf(content(''))}`,
		'<a>'.repeat(200_000),
		'<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>',
		'<html>',
		documentOf(content('')).slice(0, -5),
	];
	for (const schemaContent of documents) {
		const longestMs = await longestTurnMs(async () => {
			const { body } = must(await account.post(path, { schemaContent }), 400);
			assert.equal(body.error, 'SCHEMA_INVALID', schemaContent.slice(0, 50));
		});
		assert.ok(longestMs < 1_000, `nobody else is served for ${longestMs} ms`);
	}
	const openapi = must(await account.post(path, { schemaContent: '{"openapi":"3.1.0","paths":{}}' }), 400).body;
	assert.match(openapi.message, /looks like openapi/);
	const missing = documentOf(`<xs:import namespace="urn:o" schemaLocation="http://10.0.0.1/x.xsd"/>${content('')}`);
	const report = must(await account.post(path, { schemaContent: missing }), 200).body.data.report;
	assert.match(report.warnings[0].message, /^The import of “http:\/\/10\.0\.0\.1\/x\.xsd” was left out/);
});

test('a message is checked against the whole of which models are shown a part, and its dates before they are sent', async (t) => {
	const types = Array.from(
		{ length: 100 },
		(_, n) =>
			`<xs:complexType name="W${n}"><xs:sequence><xs:element name="day" type="xs:date" minOccurs="0"/><xs:element name="n" type="t:W${n + 1}" minOccurs="0"/></xs:sequence></xs:complexType>`,
	).join('');
	const root = content('<xs:sequence><xs:element name="a" type="t:W0"/></xs:sequence>');
	const sent: string[] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		sent.push(await textOf(request));
		response
			.setHeader('content-type', 'text/xml')
			.end('<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body><Do xmlns="urn:t"/></e:Body></e:Envelope>');
	});
	const schemaContent = documentOf(`${root}${types}<xs:complexType name="W100"/>`).replace('soap/http"', 'soap/http "');
	const { apiId, client } = await connect(t, upstream.origin, { schemaContent });
	const [operation] = must(await account.get(`/apis/${apiId}/operations`), 200).body.data.operations;
	assert.deepEqual(operation.reasons, ['Models are shown the schema without “W60”: arguments are checked against the whole one.']);
	const at = (levels: number, day: string): object => (levels === 0 ? { day } : { n: at(levels - 1, day) });
	for (const [levels, day] of [
		[1, 'abc'],
		[60, 'abc'],
	] as const) {
		const [, texts, isError] = await callTool(client, 'Do', { a: at(levels, day) });
		assert.equal(isError, true);
		assert.match(texts.join(), /\/day must match format "date", got string "abc"/);
	}
	assert.deepEqual(sent, []);
	assert.equal((await callTool(client, 'Do', { a: at(60, '2026-01-31+01:00') }))[2], false);
	assert.match(sent.join(), /<(\w+:)?day>2026-01-31\+01:00<\//);
});

const newApi = async (baseUrl = 'https://shop.example/'): Promise<string> =>
	must(await account.post('/apis', { name: 'Shop', type: 'soap', baseUrl }), 201).body.data.id;
const toolsOf = async (apiId: string): Promise<{ id: string; name: string; parameters: object; executionConfig: object }[]> =>
	must(await account.get(`/organizations/${account.organization.id}/tools?apiId=${apiId}`), 200).body.data.tools;

test('a WSDL with its schemas comes as files, as a zip, or from a URL with what it imports beside it, and makes the same tools', async (t) => {
	const files = Object.fromEntries([...shopFiles()].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]));
	const utf16 = Buffer.from(`\ufeff${files['shop.wsdl']?.replace('UTF-8', 'UTF-16')}`, 'utf16le');
	const asked: string[] = [];
	const upstream = await httpUpstream(t, ({ url = '' }, response) => {
		asked.push(url);
		const text = url === '/soap/utf16.wsdl' ? utf16 : files[url.replace('/soap/', '')];
		response.writeHead(text === undefined ? 404 : 200, { 'content-type': 'text/xml' }).end(text);
	});
	const zip = (more: object = {}): string =>
		Buffer.from(
			zipSync(Object.fromEntries(Object.entries({ ...files, ...more }).map(([path, text]) => [path, Buffer.from(text)]))),
		).toString('base64');
	const ways: [way: string, body: object][] = [
		['files with an entry', { files, entry: 'shop.wsdl' }],
		['files', { files: { ...files, 'README.md': 'About the shop.' } }],
		['a zip with an entry', { files: zip({ 'other.wsdl': documentOf(content('')) }), entry: 'shop.wsdl' }],
		['a zip', { files: zip() }],
		['a URL', { schemaUrl: `${upstream.origin}/soap/shop.wsdl` }],
		['a URL of UTF-16', { schemaUrl: `${upstream.origin}/soap/utf16.wsdl` }],
		['bytes of UTF-16', { files: { ...files, 'shop.wsdl': { base64: utf16.toString('base64') } }, entry: 'shop.wsdl' }],
	];
	const made: [way: string, tools: object[]][] = [];
	for (const [way, body] of ways) {
		const apiId = await newApi();
		const { report } = must(await account.post(`/apis/${apiId}/import-schema`, { ...body, generateTools: true }), 200).body.data;
		assert.equal(report.counts.operations, 8, way);
		assert.deepEqual(
			report.warnings.map(({ message }: { message: string }) => message.replace(/”.*/, '')),
			['The import of “http://www.w3.org/2001/xml.xsd'],
			way,
		);
		const tools = await toolsOf(apiId);
		made.push([way, tools.map(({ name, parameters, executionConfig }) => ({ name, parameters, executionConfig }))]);
	}
	const [first] = made;
	assert.equal(first?.[1].length, 6);
	for (const [way, tools] of made) assert.deepEqual(tools, first?.[1], way);
	assert.deepEqual([...new Set(asked)].toSorted(), [
		'/soap/messages.wsdl',
		'/soap/shop.wsdl',
		'/soap/utf16.wsdl',
		'/soap/xsd/common.xsd',
		'/soap/xsd/parts.xsd',
		'/soap/xsd/shop.xsd',
	]);
	const apiId = await newApi();
	const { message } = must(await account.post(`/apis/${apiId}/import-schema`, { files, entry: 'shop.xsd' }), 400).body;
	assert.match(message, /"entry" must be one of the files: shop\.wsdl/);
	const none = must(await account.post(`/apis/${apiId}/import-schema`, { files: { 'a.xsd': files['xsd/parts.xsd'], b: 'x' } }), 400).body;
	assert.match(none.message, /None of the files looks like soap/);
});

test('options of an import are shown, checked and used, and a tool that is made again keeps what they said', async (t) => {
	const upstream = await weather(t);
	const { plugins } = must(await account.get('/plugins'), 200).body.data;
	const { config } = plugins.find(({ kind, name }: { kind: string; name: string }) => kind === 'importer' && name === 'soap');
	assert.deepEqual(Object.keys(config.properties).toSorted(), ['port', 'service', 'wsSecurity']);
	assert.deepEqual(config.properties.wsSecurity.enum, ['none', 'text', 'digest']);
	const credentials = [{ type: 'basic_auth', credentials: { username: 'ada', password: 'secret' } }];
	const options = { wsSecurity: 'digest', port: 'WeatherSoap12' };
	const schema = { schemaContent: fixture('weather.wsdl'), options };
	const { apiId, client } = await connect(t, `${upstream.origin}${PATH}`, schema, credentials);
	await callTool(client, 'GetCityWeatherByZIP', { ZIP: '1' });
	must(await account.post(`/apis/${apiId}/generate-tools`, {}), 200);
	await callTool(client, 'GetCityWeatherByZIP', { ZIP: '2' });
	assert.equal(upstream.requests.length, 2);
	for (const { body, headers } of upstream.requests) {
		assert.match(body, /<wsse:Username>ada<\/wsse:Username><wsse:Password Type="[^"]*#PasswordDigest">/);
		assert.match(headers['content-type'] ?? '', /^application\/soap\+xml/);
		assert.equal(headers.authorization, undefined);
	}
	const wrong: [options: object, field: string, says: RegExp][] = [
		[{ wsSecurity: 'x' }, '/options/wsSecurity', /none, text, digest/],
		[{ service: 'Wether' }, '/options/service', /there are “Weather”/],
		[{ ports: ['x'] }, '/options/ports', /not allowed/],
	];
	for (const [given, path, says] of wrong) {
		const { body } = must(await account.post(`/apis/${apiId}/import-schema`, { ...schema, options: given }), 400);
		assert.deepEqual([body.error, body.details?.[0]?.path], ['VALIDATION_FAILED', path]);
		assert.match(body.message, says);
	}
	assert.equal((await toolsOf(apiId)).length, 3, 'what was there is as it was');
});

test('a tool of type soap is not written by hand', async () => {
	const draft = { name: 'x', description: 'x', type: 'soap', parameters: { type: 'object' }, executionConfig: {} };
	const { body } = must(await account.post(`/organizations/${account.organization.id}/tools`, draft), 400);
	assert.equal(body.error, 'VALIDATION_FAILED');
});
