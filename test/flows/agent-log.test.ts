// Tests that prompts, inputs, answers and results of agents' runs are never in the log, at any level, whether runs succeed or fail.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KEY } from '../../testing/provider.ts';
import { until } from '../helpers/clock.ts';
import { mcpClient } from '../helpers/mcp-client.ts';
import { type Account, must, publishGateway, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: TestService;
let account: Account;
const lines: string[] = [];
before(async () => {
	service = await startTestService({ onLog: (line) => lines.push(line) });
	account = await registerAccount(service.url);
});
after(() => service.stop());

/** The texts that a run handles, by the place where they come in. */
const CANARIES = {
	input: 'canary-input-7f1',
	prompt: 'canary-prompt-7f2',
	answer: 'canary-answer-7f3',
	argument: 'canary-argument-7f4',
	result: 'canary-result-7f5',
	question: 'canary-question-7f6',
	comment: 'canary-comment-7f7',
};

const chunk = (delta: object, finish_reason: string | null = null): string =>
	`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'small', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

test('canaries in every place of a run are nowhere in the log', async (t) => {
	const model = await httpUpstream(t, (request, response) => {
		request.resume().on('end', () => {
			response.writeHead(200, { 'content-type': 'text/event-stream' });
			response.end(`${chunk({ role: 'assistant', content: CANARIES.answer })}${chunk({}, 'stop')}data: [DONE]\n\n`);
		});
	});
	let isFailing = false;
	const upstream = await httpUpstream(t, (request, response) => {
		request.resume().on('end', () => {
			response.writeHead(isFailing ? 500 : 200, { 'content-type': 'application/json' }).end(JSON.stringify({ said: CANARIES.result }));
		});
	});
	const connection = { name: 'Models', provider: 'custom', apiKey: KEY, baseUrl: model.origin, model: 'small' };
	const providerId = must(await account.post('/llm-providers', connection), 201).body.data.id;
	const tool = { type: 'http', executionConfig: { method: 'POST', url: `${upstream.origin}/` } };
	const nodes = [
		{ id: 'in', type: 'input', data: { schema: { type: 'object', properties: { message: { type: 'string', maxLength: 40 } } } } },
		{ id: 'ask', type: 'llm_call', data: { providerId, userPromptTemplate: `${CANARIES.prompt} {{input.message}}` } },
		{ id: 'use', type: 'tool_call', data: { tool, arguments: { text: `${CANARIES.argument} {{nodes.ask.output}}` } } },
		{ id: 'check', type: 'approval', data: { message: `${CANARIES.question} {{nodes.use.output.said}}` } },
		{ id: 'out', type: 'output', data: { mapping: { said: '{{nodes.use.output.said}}', checked: '{{nodes.check.output}}' } } },
	];
	const ways = ['in ask', 'ask use', 'use check', 'check out'].map((way, at) => {
		const [source, target] = way.split(' ');
		return { id: `e${at}`, source, target };
	});
	const { id } = must(await account.post('/agents', { name: 'Careful', pipeline: { nodes, edges: ways } }), 201).body.data;
	const input = { message: CANARIES.input };

	const waiting = must(await account.post(`/agents/${id}/invoke?async=true`, { input, options: { trace: true } }), 202).body.data;
	const execution = `/agents/${id}/executions/${waiting.executionId}`;
	await settled(execution, 'waiting_approval');
	const given = { key: 'check', answer: { approved: true, comment: CANARIES.comment } };
	must(await account.post(`${execution}/approve`, given), 200);
	const ended = await settled(execution, 'success');
	// The run handled each of them, so that it could have been logged.
	for (const place of ['input', 'result'] as const) assert.ok(JSON.stringify(ended).includes(CANARIES[place]), place);

	const over = { ...input, message: `${CANARIES.input} ${'x'.repeat(40)}` };
	must(await account.post(`/agents/${id}/invoke`, { input: over }), 400);
	isFailing = true;
	const failed = await account.post(`/agents/${id}/invoke`, { input });
	assert.ok(failed.status >= 400, `${failed.status}`);
	const chat = {
		model: 'x',
		messages: [
			{ role: 'system', content: CANARIES.prompt },
			{ role: 'user', content: CANARIES.input },
		],
	};
	assert.ok((await account.post(`/agents/${id}/v1/chat/completions`, chat)).status >= 400);
	const asTool = { name: 'careful', type: 'agent', executionConfig: { agentId: id } };
	const toolId = must(await account.post(`/organizations/${account.organization.id}/tools`, asTool), 201).body.data.id;
	const gateway = await publishGateway(account, { toolIds: [toolId] });
	const client = await mcpClient(gateway.url, { 'x-api-key': gateway.key }, t);
	assert.equal((await client.callTool({ name: 'careful', arguments: input })).isError, true);

	assert.ok(
		lines.some((line) => line.includes(id)),
		'the log was read',
	);
	const found = lines.filter((line) => Object.values(CANARIES).some((canary) => line.includes(canary)));
	assert.deepEqual(found, []);
});

/** Waits until an execution has a status, in short or in detail. @returns it */
async function settled(path: string, status: string): Promise<Record<string, unknown>> {
	let data: Record<string, unknown> = {};
	await until(async () => {
		({ data } = must(await account.get(path), 200).body);
		const isThere = data['status'] === status || data['statusDetail'] === status;
		assert.ok(isThere || !['success', 'failed'].includes(String(data['status'])), JSON.stringify(data));
		return isThere;
	}, status);
	return data;
}
