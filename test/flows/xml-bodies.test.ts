// Tests APIs that take XML only: imported, called with JSON, and read by the upstream with a parser of its own.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { SaxesParser } from 'saxes';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let tools: string;
let origin: string;
let last = { type: '', text: '' };
const upstream = createServer((request, response) => {
	let text = '';
	request.setEncoding('utf8').on('data', (chunk) => {
		text += chunk;
	});
	request.on('end', () => {
		last = { type: request.headers['content-type'] ?? '', text };
		response.setHeader('content-type', 'application/json').end(JSON.stringify(events(text)));
	});
});

before(async () => {
	upstream.listen(0, '127.0.0.1');
	service = await sharedService();
	account = await registerAccount(service.url);
	tools = `/organizations/${account.organization.id}/tools`;
	// The upstream is listening: the service took far longer to start.
	origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});
after(async () => {
	await service.stop();
	upstream.close();
});

/** Lists the parser's events: names with their namespaces, attributes, text. */
function events(text: string): { read: string[] } {
	const read: string[] = [];
	const parser = new SaxesParser({ xmlns: true });
	parser.on('error', (error) => {
		throw error;
	});
	parser.on('opentag', ({ uri, local, attributes }) => {
		read.push(`<${uri ? `{${uri}}` : ''}${local}`);
		for (const { uri: space, local: name, value } of Object.values(attributes))
			if (!space.endsWith('/xmlns/')) read.push(`@${space ? `{${space}}` : ''}${name}=${value}`);
	});
	parser.on('text', (value) => void (value.trim() && read.push(value)));
	parser.on('closetag', () => void read.push('>'));
	parser.write(text).close();
	return { read };
}

const text = { type: 'string' };
const BOOK = {
	type: 'object',
	required: ['title'],
	xml: { name: 'book', namespace: 'urn:books', prefix: 'b' },
	properties: {
		id: { type: 'integer', xml: { attribute: true } },
		title: { ...text, xml: { namespace: 'urn:books', prefix: 'b' } },
		tags: { type: 'array', xml: { wrapped: true }, items: { ...text, xml: { name: 'tag' } } },
		sequel: { $ref: '#/components/schemas/Book' },
	},
};
const taking = (operationId: string, schema: object): object => ({
	post: {
		operationId,
		requestBody: { required: true, content: { 'application/xml': { schema } } },
		responses: { 200: { description: 'ok' } },
	},
});
const documentOf = (book: object): string =>
	JSON.stringify({
		openapi: '3.0.4',
		info: { title: 'Books', version: '1' },
		paths: {
			'/books': taking('addBook', { $ref: '#/components/schemas/Book' }),
			'/either': taking('either', { type: 'object', properties: { a: text, b: text } }),
		},
		components: { schemas: { Book: book } },
	});

test('a body in XML is given as JSON, over REST, dry, flat and over MCP, and read back the same', async (t) => {
	const { id: apiId } = must(await account.post('/apis', { name: 'Books', type: 'openapi', baseUrl: origin }), 201).body.data;
	const imported = must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent: documentOf(BOOK), generateTools: true }), 200)
		.body.data;
	const { report } = must(await account.get(`/apis/${apiId}/schemas/${imported.schema.id}`), 200).body.data;
	assert.deepEqual(
		report.operations.map(({ key, reasons }: { key: string; reasons: string[] }) => [key, reasons]),
		[['POST /either', ['Its XML body is a text argument, with an outline of its elements: its schema names no root element.']]],
	);
	assert.match(JSON.stringify(report.warnings), /written from JSON arguments, by the XML Objects of their schemas: 1\./);
	const listed: { id: string; name: string }[] = must(await account.get(`${tools}?apiId=${apiId}`), 200).body.data.tools;
	const idOf = (name: string): string => listed.find((tool) => tool.name === name)?.id ?? assert.fail(name);
	const run = (name: string, parameters: object, query = '') => account.post(`${tools}/${idOf(name)}/execute${query}`, { parameters });

	const book = { title: 'Räuber & "Gendarm" <1>\r\n', id: 7, tags: ['a', 'b'], sequel: { title: 'II' } };
	const read = [
		...['<{urn:books}book', '@id=7', '<{urn:books}title', 'Räuber & "Gendarm" <1>\r\n', '>'],
		...['<tags', '<tag', 'a', '>', '<tag', 'b', '>', '>', '<{urn:books}book', '<{urn:books}title', 'II', '>', '>', '>'],
	];
	assert.deepEqual(must(await run('addBook', { body: book }), 200).body.data.result, { read });
	assert.equal(last.type, 'application/xml; charset=utf-8');
	const sent = last.text;
	last = { type: '', text: 'nothing' };
	const shown = must(await run('addBook', { body: book }, '?dryRun=true'), 200).body.data.request;
	assert.deepEqual(
		[shown.body, shown.bodyEncoding, shown.headers['content-type'], last.text],
		[sent, 'text', 'application/xml; charset=utf-8', 'nothing'],
	);

	const refused = must(await run('addBook', { body: { title: 'a\u0007' } }), 400).body;
	assert.deepEqual(refused.details, [
		{ path: '/parameters/body/title', message: '/body/title must not contain control characters: XML cannot carry them.' },
	]);
	assert.equal(must(await run('addBook', { body: '<book/>' }), 400).body.details[0].path, '/parameters/body');
	must(await run('either', { body: '<a>as text</a>' }), 200);
	assert.deepEqual(last, { type: 'application/xml', text: '<a>as text</a>' });

	must(await account.post(`/apis/${apiId}/generate-tools`, { bodies: 'flat' }), 200);
	assert.deepEqual(must(await run('addBook', book), 200).body.data.result, { read });
	assert.equal(must(await run('addBook', { title: 'a\u0007' }), 400).body.details[0].path, '/parameters/title');
	const gateway = await publishGateway(account, { toolIds: [idOf('addBook')] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	assert.deepEqual((await callTool(client, 'addBook', book))[0], { read });
});

test('a new member of such a body is reported as just that, and is sent', async () => {
	const { id: apiId } = must(await account.post('/apis', { name: 'Books', type: 'openapi', baseUrl: origin }), 201).body.data;
	const read = async (book: object): Promise<{ operations: { kind: string; reasons: string[] }[] }> =>
		must(await account.post(`/apis/${apiId}/import-schema`, { schemaContent: documentOf(book), generateTools: true }), 200).body.data
			.changes;
	await read(BOOK);
	const author = { type: 'object', properties: { name: text } };
	const { operations } = await read({ ...BOOK, properties: { ...BOOK.properties, author } });
	assert.deepEqual(
		operations.map(({ kind, reasons }) => [kind, reasons]),
		[['additive', ['The optional argument body.author was added.']]],
	);
});
