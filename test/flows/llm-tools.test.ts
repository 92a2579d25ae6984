// Tests of llm tools: what is refused when one is saved, the run over the management API and at an MCP gateway, and what its record tells.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import { until } from '../helpers/clock.ts';
import { callTool, mcpClient } from '../helpers/mcp-client.ts';
import { administer } from '../helpers/postgres.ts';
import { type Account, must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';

const PROMPT = 'prompt-canary-7d1f';
const ANSWER = 'answer-canary-c04e';
const KEY = 'key-canary-55aa';
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const SCHEMA = { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'], additionalProperties: false };
const USAGE = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
const COST = (20 * 2 + 5 * 10) / 1_000_000;

const mock = new LLMock({ port: 0 });
const lines: string[] = [];
let service: TestService;
let account: Account;
let stranger: Account;
let providerId: string;

before(async () => {
	mock.onMessage('json', { content: '{"days":3}', usage: USAGE });
	mock.onMessage('broken', { content: 'no JSON', usage: USAGE });
	mock.onMessage(/./, { content: ANSWER, usage: USAGE });
	await mock.start();
	service = await startTestService({ env: { LOG_LEVEL: 'debug' }, onLog: (line) => lines.push(line) });
	[account, stranger] = await Promise.all([registerAccount(service.url), registerAccount(service.url)]);
	providerId = await connect(account);
});
after(async () => {
	await service.stop();
	await mock.stop();
});

async function connect({ post }: Account, more: object = {}): Promise<string> {
	const prices = { small: { input: 2, output: 10 } };
	const body = { name: 'Models', provider: 'custom', apiKey: KEY, baseUrl: `${mock.url}/v1`, model: 'small', prices, ...more };
	return must(await post('/llm-providers', body), 201).body.data.id;
}

const path = ({ organization }: Account): string => `/organizations/${organization.id}/tools`;
const toolWith = (executionConfig: object) => ({
	name: 'weather',
	description: 'Tells.',
	type: 'llm',
	parameters: PARAMETERS,
	executionConfig,
});

async function createTool(more: object = {}): Promise<string> {
	const config = { providerId, promptTemplate: `${PROMPT} {{city}}`, ...more };
	return must(await account.post(path(account), toolWith(config)), 201).body.data.id;
}
const run = async (id: string, parameters: object = { city: 'Bern' }) =>
	must(await account.post(`${path(account)}/${id}/execute`, { parameters }), 200).body.data;

test('a wrong config is a 400 that names the field; a connection of another organization is unknown', async () => {
	const foreign = await connect(stranger);
	const bad: [config: object, at: string][] = [
		[{ promptTemplate: 'x' }, '/executionConfig/providerId'],
		[{ providerId }, '/executionConfig/promptTemplate'],
		[{ providerId: 'x', promptTemplate: 'x' }, '/executionConfig/providerId'],
		[{ providerId: foreign, promptTemplate: 'x' }, '/executionConfig/providerId'],
		[{ providerId: '00000000-0000-4000-8000-000000000000', promptTemplate: 'x' }, '/executionConfig/providerId'],
		[{ providerId, promptTemplate: 'Hello {{name' }, '/executionConfig/promptTemplate'],
		[{ providerId, promptTemplate: 'x', systemTemplate: '{{a.__proto__}}' }, '/executionConfig/systemTemplate'],
		[{ providerId, promptTemplate: 'x', outputSchema: { type: 'array' } }, '/executionConfig/outputSchema/type'],
		[
			{ providerId, promptTemplate: 'x', outputSchema: { type: 'object', properties: { a: { type: 'nothing' } } } },
			'/executionConfig/outputSchema/properties/a/type',
		],
		[{ providerId, promptTemplate: 'x', parameters: { maxTokens: 0 } }, '/executionConfig/parameters/maxTokens'],
	];
	const answers = await Promise.all(bad.map(([config]) => account.post(path(account), toolWith(config))));
	assert.deepEqual(
		answers.map(({ status, body }) => [status, body.details?.[0]?.path]),
		bad.map(([, at]) => [400, at]),
	);
	const [, , , other, none] = answers.map(({ body }) => body.message);
	assert.equal(other, none);
	const id = await createTool();
	const changed = await account.patch(`/tools/${id}`, { executionConfig: { providerId: foreign, promptTemplate: 'x' } });
	assert.deepEqual([changed.status, changed.body.details[0].path], [400, '/executionConfig/providerId']);
});

test('a run answers with the text, its tokens and its cost, which its record has, too', async () => {
	const id = await createTool();
	const { duration, ...answer } = await run(id);
	assert.equal(typeof duration, 'number');
	const usage = { calls: 1, inputTokens: 20, outputTokens: 5, cachedTokens: 0 };
	assert.deepEqual(answer, { result: ANSWER, status: 'success', usage, cost: COST });
	const sql = `SELECT input_tokens::int AS input, output_tokens::int AS output, cost
		FROM request_log WHERE kind = 'tool' AND tool_id = '${id}'`;
	const rows = () => administer(service.config.database ?? assert.fail(), sql);
	await until(async () => (await rows()).length === 1, 'the record is written');
	assert.deepEqual(await rows(), [{ input: 20, output: 5, cost: COST * 1_000_000 }]);
	const [{ body } = assert.fail()] = mock.getRequests().slice(-1);
	assert.ok(JSON.stringify(body).includes(`${PROMPT} Bern`));
});

test('a structured answer is data; one that does not fit is asked for again, and both are counted', async () => {
	const good = await run(await createTool({ promptTemplate: 'json {{city}}', outputSchema: SCHEMA }));
	assert.deepEqual([good.result, good.usage.calls], [{ days: 3 }, 1]);
	const bad = await run(await createTool({ promptTemplate: 'broken {{city}}', outputSchema: SCHEMA }));
	assert.deepEqual([bad.status, bad.result, bad.usage.calls, bad.cost], ['failed', null, 2, 2 * COST]);
	assert.match(bad.error.message, /does not fit the output schema/);
});

test('a dry run shows the question, and asks nobody', async () => {
	const id = await createTool();
	const before = mock.getRequests().length;
	const answer = must(await account.post(`${path(account)}/${id}/execute?dryRun=true`, { parameters: { city: 'Bern' } }), 200);
	assert.deepEqual(answer.body.data.request.messages, [{ role: 'user', content: `${PROMPT} Bern` }]);
	assert.equal(mock.getRequests().length, before);
});

test('at an MCP gateway the tool answers with text, or with data', async (t) => {
	const toolIds = [await createTool(), await createTool({ promptTemplate: 'json {{city}}', outputSchema: SCHEMA })];
	const gateway = await publishGateway(account, { toolIds });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	const { tools } = await client.listTools();
	assert.equal(tools.length, 2);
	const answers = await Promise.all(tools.map(({ name }) => callTool(client, name, { city: 'Bern' })));
	assert.deepEqual(
		answers.map(([data, [text], isError]) => [data, text, isError]).sort(),
		[
			[undefined, ANSWER, false],
			[{ days: 3 }, '{"days":3}', false],
		].sort(),
	);
});

test('a budget, an inactive and a removed connection end the run before the model is asked', async () => {
	const poor = await connect(account, { budget: { perCall: 0.000001 } });
	const id = await createTool({ providerId: poor });
	const before = mock.getRequests().length;
	const refused = await run(id);
	assert.deepEqual([refused.status, refused.error.code, refused.usage], ['failed', 'CONFLICT', undefined]);
	assert.match(refused.error.message, /more than its budget/);
	must(await account.del(`/llm-providers/${poor}`), 200);
	await until(async () => (await run(id)).error.code === 'NOT_FOUND', 'the removal is seen', 100);
	assert.equal(mock.getRequests().length, before);
});

test('prompts, answers and keys are in no line of the log', () => {
	assert.ok(lines.length > 20);
	const said = lines.filter((line) => [PROMPT, ANSWER, KEY].some((canary) => line.includes(canary)));
	assert.deepEqual(said, []);
});
