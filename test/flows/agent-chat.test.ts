// Tests conversations with agents by the AI SDK, and over two replicas whose turns alternate.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import OpenAI from 'openai';
import { type AskedModel, type Said, scriptedModels } from '../helpers/scripted-models.ts';
import { type Account, must, registerAccount, type SharedService, startTestService, type TestService } from '../helpers/service.ts';

let first: SharedService;
let second: TestService;
let account: Account;
before(async () => {
	first = await startTestService();
	second = await startTestService({ replicaOf: first });
	account = await registerAccount(first.url);
});
after(async () => {
	await second.stop();
	await first.stop();
});

const WEATHER = {
	name: 'weather',
	description: 'Tells the weather.',
	schema: { type: 'object', properties: { city: { type: 'string' } } },
};

/** Asks for two cities at once, then for one more, then tells what it read. */
function answer({ messages }: AskedModel): Said {
	const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
	const call = (id: string, city: string) => ({ id, name: 'weather', args: { city } });
	if (String(messages[0]?.content) !== 'Weather?') return { pieces: [...String(messages.at(-1)?.content)] };
	if (results.length === 0) return { calls: [call('a', 'Graz'), call('b', 'Linz')] };
	return results.length === 2 ? { calls: [call('c', 'Wien')] } : { pieces: ['It is ', results.join()] };
}

async function makeAgent(t: TestContext, said: (asked: AskedModel) => Said = answer): Promise<{ id: string; asked: AskedModel[] }> {
	const { origin, asked } = await scriptedModels(t, said);
	const connection = { name: 'Models', provider: 'custom', apiKey: 'key', baseUrl: origin, model: 'small' };
	const providerId = must(await account.post('/llm-providers', connection), 201).body.data.id;
	const nodes = [
		{ id: 'in', type: 'input', data: {} },
		{ id: 'say', type: 'agent', data: { providerId, prompt: '{{input.message}}' } },
		{ id: 'out', type: 'output', data: {} },
	];
	const edges = [
		{ id: 'a', source: 'in', target: 'say' },
		{ id: 'b', source: 'say', target: 'out' },
	];
	const { id } = must(await account.post('/agents', { name: 'Talker', pipeline: { nodes, edges } }), 201).body.data;
	return { id, asked };
}

// ── the AI SDK ─────────────────────────────────────────────────────────────────────────────────────────────────────

const baseURL = (id: string): string => `${first.url}/agents/${id}/v1`;
const MODELS: Record<string, (id: string) => LanguageModelV4> = {
	openai: (id) => createOpenAI({ baseURL: baseURL(id), apiKey: account.token }).chat('agent'),
	'openai-compatible': (id) =>
		createOpenAICompatible({ name: 'gatehouse', baseURL: baseURL(id), apiKey: account.token, includeUsage: true }).chatModel('agent'),
};

const userSays = (text: string): LanguageModelV4Prompt => [{ role: 'user', content: [{ type: 'text', text }] }];
const tools = [{ type: 'function' as const, name: WEATHER.name, description: WEATHER.description, inputSchema: WEATHER.schema as object }];

async function parts(stream: ReadableStream<LanguageModelV4StreamPart>): Promise<LanguageModelV4StreamPart[]> {
	const read: LanguageModelV4StreamPart[] = [];
	for await (const part of stream) read.push(part);
	return read;
}

for (const [name, modelOf] of Object.entries(MODELS)) {
	test(`the AI SDK’s ${name} reads answers and streams with their usage`, async (t) => {
		const model = modelOf((await makeAgent(t)).id);
		const { content, finishReason, usage } = await model.doGenerate({ prompt: userSays('Hello.') });
		assert.deepEqual(
			[content[0]?.type === 'text' && content[0].text, finishReason.unified, usage.inputTokens.total],
			['Hello.', 'stop', 7],
		);
		const { stream } = await model.doStream({ prompt: userSays('Hello.') });
		const read = await parts(stream);
		assert.equal(read.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : [])).join(''), 'Hello.');
		const end = read.find((part) => part.type === 'finish');
		assert.deepEqual([end?.finishReason.unified, end?.usage.outputTokens.total], ['stop', 3]);
	});

	test(`the AI SDK’s ${name} runs its tools over several rounds`, async (t) => {
		const model = modelOf((await makeAgent(t)).id);
		const prompt = userSays('Weather?');
		const rounds: number[] = [];
		for (;;) {
			const read = await parts((await model.doStream({ prompt, tools: tools as never })).stream);
			const calls = read.filter((part) => part.type === 'tool-call');
			if (calls.length === 0) {
				assert.equal(
					read.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : [])).join(''),
					'It is rain in Graz,rain in Linz,rain in Wien',
				);
				break;
			}
			rounds.push(calls.length);
			const ofCall = ({ toolCallId, toolName }: (typeof calls)[number]) => ({ toolCallId, toolName });
			prompt.push({
				role: 'assistant',
				content: calls.map((call) => ({ type: 'tool-call', ...ofCall(call), input: JSON.parse(call.input) })),
			});
			prompt.push({
				role: 'tool',
				content: calls.map((call) => ({
					type: 'tool-result',
					...ofCall(call),
					output: { type: 'text', value: `rain in ${JSON.parse(call.input).city}` },
				})),
			});
		}
		assert.deepEqual(rounds, [2, 1]);
	});

	test(`the AI SDK’s ${name} asks for JSON, and reads errors`, async (t) => {
		const { id, asked } = await makeAgent(t);
		const schema = { type: 'object' as const, properties: { a: { type: 'string' as const } } };
		await modelOf(id).doGenerate({ prompt: userSays('x'), responseFormat: { type: 'json', schema, name: 'form' } });
		assert.match(JSON.stringify(asked[0]?.['response_format']), /json_(schema|object)/);
		const failing = modelOf((await makeAgent(t, () => ({ status: 400 }))).id);
		await assert.rejects(
			Promise.resolve(failing.doGenerate({ prompt: userSays('x') })),
			(thrown: Error & { statusCode?: number; isRetryable?: boolean }) => {
				assert.deepEqual([thrown.statusCode, thrown.isRetryable], [422, false]);
				assert.match(thrown.message, /The agent failed/);
				return true;
			},
		);
	});
}

// ── replicas ───────────────────────────────────────────────────────────────────────────────────────────────────────

test('turns of a conversation land on different replicas, and the run goes on from where it was', async (t) => {
	const { id, asked } = await makeAgent(t);
	const at = (url: string) => new OpenAI({ baseURL: `${url}/agents/${id}/v1`, apiKey: account.token, maxRetries: 0 });
	const replicas = [at(first.url), at(second.url), at(first.url)];
	const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Weather?' }];
	const { name, description, schema: parameters } = WEATHER;
	const ids = new Set<string | null>();
	let content: string | null | undefined;
	for (const ai of replicas) {
		const body = { model: 'any', messages, tools: [{ type: 'function' as const, function: { name, description, parameters } }] };
		const { data, response } = await ai.chat.completions.create(body).withResponse();
		ids.add(response.headers.get('x-execution-id'));
		const message = data.choices[0]?.message ?? assert.fail();
		messages.push(message);
		content = message.content;
		for (const call of message.tool_calls ?? [])
			if (call.type === 'function')
				messages.push({ role: 'tool', tool_call_id: call.id, content: `rain in ${JSON.parse(call.function.arguments).city}` });
	}
	assert.equal(content, 'It is rain in Graz,rain in Linz,rain in Wien');
	assert.deepEqual([ids.size, asked.length], [1, 3]);
	const { data } = must(await account.get(`/agents/${id}/executions`), 200).body;
	assert.deepEqual([data.total, data.executions[0].status, data.executions[0].tokensUsed], [1, 'success', 30]);
});
