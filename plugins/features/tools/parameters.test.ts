// Tests of tools that take their parameters from the agent that they run.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { mcpClient } from '../../../test/helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let account: Account;
let path: string;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	path = `/organizations/${account.organization.id}/tools`;
});
after(() => service.stop());

const schemaOf = (field: string) => ({ type: 'object', properties: { [field]: { type: 'string' } }, required: [field] });
const pipelineOf = (field: string) => ({
	nodes: [
		{ id: 'in', type: 'input', data: { schema: schemaOf(field) } },
		{ id: 'out', type: 'output', data: { mapping: { said: `{{input.${field}}}` } } },
	],
	edges: [{ id: '1', source: 'in', target: 'out' }],
});

async function addAgent(by: Account, field: string): Promise<string> {
	return must(await by.post('/agents', { name: 'Echo', description: '', pipeline: pipelineOf(field) }), 201).body.data.id;
}

const toolOf = (agentId: string, more: object = {}) => ({ name: 'echo', type: 'agent', executionConfig: { agentId }, ...more });

test('a tool without parameters takes the input schema of its agent, also when that changes or is restored', async (t) => {
	const agentId = await addAgent(account, 'text');
	const tool = must(await account.post(path, toolOf(agentId)), 201).body.data;
	assert.deepEqual([tool.parameters, tool.followsAgent], [schemaOf('text'), agentId]);
	const gateway = await publishGateway(account, { toolIds: [tool.id] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	const listed = async () => (await client.listTools()).tools[0]?.inputSchema;
	assert.deepEqual(await listed(), schemaOf('text'));

	must(await account.post(`/agents/${agentId}/versions`, { changelog: 'first' }), 201);
	must(await account.patch(`/agents/${agentId}`, { pipeline: pipelineOf('question') }), 200);
	assert.deepEqual(await listed(), schemaOf('question'));
	const { structuredContent } = await client.callTool({ name: 'echo', arguments: { question: 'Why?' } });
	assert.deepEqual(structuredContent, { said: 'Why?' });
	const [{ versionIndex }] = must(await account.get(`/agents/${agentId}/versions`), 200).body.data.versions;
	must(await account.post(`/agents/${agentId}/versions/${versionIndex}/rollback`, {}), 200);
	assert.deepEqual(await listed(), schemaOf('text'));
});

test('a tool has the input schema of its agent, also when both are changed at once', async () => {
	for (let round = 0; round < 12; round++) {
		const agentId = await addAgent(account, 'before');
		const own = { type: 'object', properties: { before: { type: 'string', maxLength: 5 } } };
		const name = `both${round}`;
		const other = must(await account.post(path, toolOf(agentId, { name, parameters: own })), 201).body.data.id;
		const [made, taken, ...changed] = await Promise.all([
			account.post(path, toolOf(agentId, { name })),
			account.patch(`/tools/${other}`, { parameters: null }),
			account.patch(`/agents/${agentId}`, { pipeline: pipelineOf('then') }),
			account.patch(`/agents/${agentId}`, { pipeline: pipelineOf('after') }),
		]);
		for (const answer of changed) must(answer, 200);
		const schema = must(await account.get(`/agents/${agentId}`), 200).body.data.pipeline.nodes[0].data.schema;
		for (const id of [must(made, 201).body.data.id, must(taken, 200).body.data.id])
			assert.deepEqual(must(await account.get(`/tools/${id}`), 200).body.data.parameters, schema, `round ${round}`);
	}
});

test('parameters that an author gives stay; null takes those of the agent again, and another agent brings its own', async () => {
	const [first, second] = [await addAgent(account, 'a'), await addAgent(account, 'b')];
	const own = { type: 'object', properties: { a: { type: 'string', maxLength: 5 } } };
	const { id, followsAgent } = must(await account.post(path, toolOf(first, { parameters: own })), 201).body.data;
	assert.equal(followsAgent, null);
	must(await account.patch(`/agents/${first}`, { pipeline: pipelineOf('c') }), 200);
	const changed = async (change: object) => {
		const { parameters, followsAgent: agent } = must(await account.patch(`/tools/${id}`, change), 200).body.data;
		return [parameters, agent];
	};
	assert.deepEqual(await changed({ executionConfig: { agentId: second } }), [own, null]);
	assert.deepEqual(await changed({ parameters: null }), [schemaOf('b'), second]);
	assert.deepEqual(await changed({ executionConfig: { agentId: first } }), [schemaOf('c'), first]);
	assert.deepEqual(await changed({ description: 'Says it again.' }), [schemaOf('c'), first]);
	assert.deepEqual(await changed({ parameters: own }), [own, null]);
});

test('a tool of another type has the parameters that it is given, or none', async () => {
	const http = { name: 'get', type: 'http', executionConfig: { method: 'GET', url: 'https://example.com/' } };
	const { id, parameters } = must(await account.post(path, http), 201).body.data;
	assert.deepEqual(parameters, { type: 'object', properties: {} });
	const given = schemaOf('x');
	assert.deepEqual(must(await account.patch(`/tools/${id}`, { parameters: given }), 200).body.data.parameters, given);
	assert.deepEqual(must(await account.patch(`/tools/${id}`, { parameters: null }), 200).body.data.parameters, parameters);
});

test('an agent that the organization does not have is refused, naming the field', async () => {
	const other = await addAgent(await registerAccount(service.url), 'secret');
	const mine = await addAgent(account, 'a');
	const { id } = must(await account.post(path, toolOf(mine)), 201).body.data;
	for (const agentId of [randomUUID(), other]) {
		for (const answer of [
			await account.post(path, toolOf(agentId)),
			await account.post(path, toolOf(agentId, { parameters: schemaOf('x') })),
			await account.patch(`/tools/${id}`, { executionConfig: { agentId } }),
		]) {
			const { details } = must(answer, 400).body;
			assert.deepEqual(details, [{ path: '/executionConfig/agentId', message: 'agentId names no agent of this organization.' }]);
		}
	}
	assert.deepEqual(must(await account.get(`/tools/${id}`), 200).body.data.parameters, schemaOf('a'));
});
