// Tests of the output schemas that a gateway shows, with the SDK's own client, which refuses answers that break one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callTool, mcpClient } from '../../../test/helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

const PET = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
const DOCUMENT = {
	openapi: '3.1.1',
	info: { title: 'Pets', version: '1' },
	paths: Object.fromEntries(
		['good', 'odd'].map((name) => [
			`/${name}`,
			{ get: { operationId: name, responses: { 200: { description: 'A pet', content: { 'application/json': { schema: PET } } } } } },
		]),
	),
};

test('a gateway shows no output schemas, what they document, or the real ones, and then checks its answers', async (t) => {
	const upstream = await httpUpstream(t, (request, response) =>
		response.setHeader('content-type', 'application/json').end(request.url === '/good' ? '{"id":1}' : '{"id":"one"}'),
	);
	const api = must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: upstream.origin }), 201).body.data.id;
	must(await account.post(`/apis/${api}/import-schema`, { schemaContent: JSON.stringify(DOCUMENT), generateTools: true }), 200);
	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools`), 200).body.data;
	const toolIds = tools.map(({ id }: { id: string }) => id);
	const seen = async (configuration: object) => {
		const gateway = await publishGateway(account, { toolIds, configuration });
		const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
		const { tools: listed } = await client.listTools();
		const tokens: number = must(await account.get(`/gateways/${gateway.id}`), 200).body.data.tokens.full;
		const { outputSchema } = listed.find(({ name }) => name === 'odd') ?? {};
		return { tokens, outputSchema, good: await callTool(client, 'good'), odd: await callTool(client, 'odd') };
	};

	const off = await seen({ outputSchemas: 'off' });
	assert.deepEqual([off.outputSchema, off.odd[0], off.odd[2]], [undefined, { id: 'one' }, false]);

	const loose = await seen({});
	assert.deepEqual(loose.outputSchema, { type: 'object', properties: { id: { description: 'integer' } } });
	assert.deepEqual([loose.odd[0], loose.odd[2]], [{ id: 'one' }, false]);

	const strict = await seen({ outputSchemas: 'strict' });
	assert.deepEqual(strict.outputSchema, PET);
	assert.deepEqual([strict.good[0], strict.good[2]], [{ id: 1 }, false]);
	assert.deepEqual([strict.odd[0], strict.odd[2]], [undefined, true]);
	assert.ok(off.tokens < loose.tokens && loose.tokens < strict.tokens, `${off.tokens}, ${loose.tokens}, ${strict.tokens}`);
	assert.match(strict.odd[1].join(), /breaks the output schema of the tool:\n\/id must be integer/);
});

test('another word is refused', async () => {
	const body = { name: 'Gateway', type: 'mcp', endpoint: '/odd-schemas', configuration: { outputSchemas: 'all' } };
	assert.match(must(await account.post('/gateways', body), 400).body.message, /outputSchemas/);
});
