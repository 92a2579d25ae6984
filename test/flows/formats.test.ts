// Tests `format` of tools made from APIs, against real upstreams: a server decides what it accepts, except where the wire has no form for it.

import assert from 'node:assert/strict';
import { buffer, text as textOf } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { buildSchema, graphql } from 'graphql';
import { connectApi } from '../helpers/connected.ts';
import { grpcServer, shopFiles } from '../helpers/grpc.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import {
	type Account,
	type Answer,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../helpers/service.ts';
import { content, documentOf } from '../helpers/soap.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: SharedService;
let account: Account;

before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

type Run = (tool: string, parameters: object) => Promise<Answer>;

/** Imports an API. @returns a way to run its tools by their names */
async function connect(type: string, baseUrl: string, schema: object): Promise<Run> {
	const apiId = must(await account.post('/apis', { name: type, type, baseUrl }), 201).body.data.id;
	must(await account.post(`/apis/${apiId}/import-schema`, { ...schema, generateTools: true }), 200);
	const tools = `/organizations/${account.organization.id}/tools`;
	const listed: { id: string; name: string }[] = must(await account.get(`${tools}?apiId=${apiId}`), 200).body.data.tools;
	return (tool, parameters) => account.post(`${tools}/${listed.find(({ name }) => name === tool)?.id}/execute`, { parameters });
}

/** Values that servers accept, and that are not of the format by its specification. */
const LOOSE: [format: string, value: string | number][] = [
	['byte', '_-8'],
	['date', '2026-1-5'],
	['date-time', '2026-01-31T12:00:00'],
	['time', '12:00'],
	['duration', '90s'],
	['uri', '/items/1?x=é'],
	['hostname', 'my_host'],
	['idn-hostname', 'x'],
	['email', 'ada@localhost'],
	['ipv4', '10.1'],
	['uuid', '0123456789abcdef0123456789abcdef'],
	['json-pointer', 'a/b'],
	['regex', '(?i)a'],
	['int32', 2 ** 40],
];

test('OpenAPI: every value goes to the server as it was given, and the schema keeps its formats', async (t) => {
	const sent: { url: URL; body: string }[] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		sent.push({ url: new URL(request.url ?? '', 'http://x'), body: await textOf(request) });
		response.setHeader('content-type', 'application/json').end('{"at":"yesterday"}');
	});
	const properties = Object.fromEntries(
		LOOSE.map(([format, value]) => [format, { type: typeof value === 'number' ? 'integer' : 'string', format }]),
	);
	const at = { type: 'object', required: ['at'], properties: { at: { type: 'string', format: 'date-time' } } };
	const paths = {
		'/things': {
			post: {
				operationId: 'add',
				parameters: [{ name: 'since', in: 'query', schema: properties['date-time'] }],
				requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } },
				responses: { 200: { description: 'ok', content: { 'application/json': { schema: at } } } },
			},
		},
	};
	const { apiId, toolIds, run } = await connectApi(account, upstream.origin, { paths });
	must(await account.patch(`/apis/${apiId}`, { strictOutput: true }), 200);
	const { parameters, outputSchema } = must(await account.get(`/tools/${toolIds['add']}`), 200).body.data;
	for (const [format] of LOOSE) assert.equal(parameters.properties.body.properties[format].format, format);
	assert.equal(outputSchema.type, 'object', 'results are checked');
	const body = Object.fromEntries(LOOSE);
	const args = { since: '2026-01-31T12:00:00', body };
	assert.deepEqual(must(await run('add', args), 200).body.data.result, { at: 'yesterday' });
	const gateway = await publishGateway(account, { toolIds: [String(toolIds['add'])] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	assert.deepEqual((await callTool(client, 'add', args))[0], { at: 'yesterday' });
	for (const one of sent) assert.deepEqual([one.url.searchParams.get('since'), JSON.parse(one.body)], ['2026-01-31T12:00:00', body]);
	assert.equal(sent.length, 2);
	for (const wrong of [{ since: 5 }, { body: { int32: 'x' } }]) must(await run('add', wrong), 400);
});

test('OpenAPI: bytes are taken in both alphabets of base64, and what is neither is refused by name', async (t) => {
	const sent: Buffer[] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		sent.push(await buffer(request));
		response.end();
	});
	const content = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
	const paths = { '/file': { put: { operationId: 'put', requestBody: { content }, responses: { 204: { description: 'ok' } } } } };
	const { run } = await connectApi(account, upstream.origin, { paths });
	for (const body of ['+/8=', '-_8', '+/8']) must(await run('put', { body }), 200);
	assert.deepEqual(
		sent.map((bytes) => bytes.toString('hex')),
		['fbff', 'fbff', 'fbff'],
	);
	assert.equal(must(await run('put', { body: 'a b' }), 400).body.details[0].path, '/parameters/body');
});

test('a tool that a user wrote checks the formats of its schema', async (t) => {
	const upstream = await httpUpstream(t, (_request, response) => response.end('ok'));
	const parameters = { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } };
	const id = await createHttpTool(account, { name: 'own', url: upstream.origin, parameters });
	const run = (at: string) => account.post(`/organizations/${account.organization.id}/tools/${id}/execute`, { parameters: { at } });
	const { details } = must(await run('2026-01-31T12:00:00'), 400).body;
	assert.deepEqual(details, [{ path: '/parameters/at', message: 'must match format "date-time", got string "2026-01-31T12:00:00".' }]);
	must(await run('2026-01-31T12:00:00Z'), 200);
});

test('GraphQL: custom scalars go to the server as they were given, whatever they are called', async (t) => {
	const schema = buildSchema(`
		scalar DateTime @specifiedBy(url: "https://scalars.graphql.org/andimarek/date-time")
		scalar Date scalar Time scalar URL scalar UUID scalar EmailAddress scalar Base64
		type Query { echo(at: DateTime, day: Date, time: Time, site: URL, id: UUID, mail: EmailAddress, bytes: Base64): String }
	`);
	const upstream = await httpUpstream(t, async (request, response) => {
		const asked = await textOf(request);
		if (asked === '') return void response.writeHead(405).end();
		const { query: source, variables: variableValues } = JSON.parse(asked);
		const rootValue = { echo: (args: object) => JSON.stringify(args) };
		response
			.setHeader('content-type', 'application/json')
			.end(JSON.stringify(await graphql({ schema, source, rootValue, variableValues })));
	});
	const run = await connect('graphql', upstream.origin, { schemaUrl: upstream.origin });
	const args = { at: '2026-01-31T12:00:00', day: '31.1.2026', time: '12:00', site: '/x', id: '0123', mail: 'ada', bytes: '-_8' };
	assert.deepEqual(JSON.parse(must(await run('echo', args), 200).body.data.result.echo), args);
});

test('SOAP: dates and times are written as XML Schema writes them, and what is none is refused by name', async (t) => {
	const sent: string[] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		const message = await textOf(request);
		sent.push(message);
		// The body goes back with other texts: a service may answer whatever it likes.
		response.setHeader('content-type', 'text/xml').end(message.replace(/>2026-01-31(?=[T<])/g, '>yesterday'));
	});
	const elements = ['date', 'dateTime', 'time'].map((type) => `<xs:element name="${type}" type="xs:${type}" minOccurs="0"/>`).join('');
	const either = '<xs:simpleType name="E"><xs:union memberTypes="xs:date xs:gYear"/></xs:simpleType>';
	const schema = content(`<xs:sequence>${elements}<xs:element name="either" type="t:E" minOccurs="0"/></xs:sequence>`);
	const run = await connect('soap', upstream.origin, { schemaContent: documentOf(schema + either) });
	const taken: [args: Record<string, string>, written: string][] = [
		[{ date: '2026-01-31' }, '2026-01-31'],
		[{ date: '2026-01-31+01:00' }, '2026-01-31+01:00'],
		[{ dateTime: '2026-01-31T12:00:00' }, '2026-01-31T12:00:00'],
		[{ dateTime: '2026-01-31 12:00:00z' }, '2026-01-31T12:00:00Z'],
		[{ dateTime: '2026-01-31t12:00:00+0100' }, '2026-01-31T12:00:00+01:00'],
		[{ time: '12:00:00' }, '12:00:00'],
		[{ time: '12:00:00+01' }, '12:00:00+01:00'],
		[{ either: '2026' }, '2026'],
	];
	for (const [args, written] of taken) {
		const { result } = must(await run('Do', args), 200).body.data;
		const [name = ''] = Object.keys(args);
		assert.match(sent.at(-1) ?? '', new RegExp(`<(\\w+:)?${name}>${written.replaceAll('+', '\\+')}</`));
		assert.equal(result[name], written.replace(/^2026-01-31(?=T|$)/, 'yesterday'), 'a result is not refused for its format');
	}
	const refused: Record<string, string>[] = [
		{ date: 'abc' },
		{ date: '2026-01-31T12:00:00Z' },
		{ dateTime: '2026-01-31' },
		{ dateTime: '2026-01-31T12:00' },
		{ dateTime: '' },
		{ time: '12:00' },
		{ either: 'abc' },
	];
	for (const args of refused) {
		const [name = ''] = Object.keys(args);
		const { details } = must(await run('Do', args), 400).body;
		assert.equal(details[0].path, `/parameters/${name}`, JSON.stringify(args));
		assert.match(details[0].message, /must match (?:format|pattern)/);
	}
	assert.equal(sent.length, taken.length);
});

test('Protobuf: bytes and integers as text arrive, and a time without a zone, which is no instant, is refused by name', async (t) => {
	const server = await grpcServer(t);
	const files = Object.fromEntries([...shopFiles()].map(([path, bytes]) => [path, Buffer.from(bytes).toString('utf8')]));
	const run = await connect('protobuf', `http://127.0.0.1:${server.port}`, { files });
	for (const someBytes of ['+/8=', '-_8', '+/8']) {
		const { result } = must(await run('Shop_Echo', { someBytes, anInt64: '9007199254740993' }), 200).body.data;
		assert.deepEqual(result, { someBytes: '+/8=', anInt64: '9007199254740993' });
	}
	const written = { '2026-01-31T12:00:00Z': '2026-01-31T12:00:00Z', '2026-01-31T12:00:00.5+01:00': '2026-01-31T11:00:00.500Z' };
	for (const [at, back] of Object.entries(written))
		assert.deepEqual(must(await run('Shop_Echo', { at }), 200).body.data.result, { at: back });
	const count = server.requests.length;
	for (const [name, value] of [
		['at', '2026-01-31T12:00:00'],
		['at', '2026-02-30T12:00:00Z'],
		['at', '2026-01-31 12:00:00Z'],
		['at', '2026-01-31t12:00:00z'],
		['at', '2026-01-31T12:00:00+01'],
		['at', '2026-12-31T23:59:60Z'],
		['at', '2026-01-31T12:00:00.0123456789Z'],
		['someBytes', '!'],
		['anInt64', '1.5'],
		['anInt64', '99999999999999999999'],
	] as const) {
		const { message } = must(await run('Shop_Echo', { [name]: value }), 400).body;
		assert.match(message, new RegExp(`/${name}|${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`), `${value}: ${message}`);
	}
	assert.equal(server.requests.length, count, 'nothing was sent');
});
