// Tests conversations with agents by the AI SDK, and what each request of a conversation says anew.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import OpenAI from 'openai';
import { addChatAgent, answerWeather, type ChatAgent, WEATHER, WEATHER_TOLD, WEATHER_TOOL } from '../helpers/chat-agents.ts';
import type { AskedModel, Said } from '../helpers/scripted-models.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

const makeAgent = (t: TestContext, said?: (asked: AskedModel, at: number) => Said): Promise<ChatAgent> => addChatAgent(t, account, said);

// ── the AI SDK ─────────────────────────────────────────────────────────────────────────────────────────────────────

const baseURL = (id: string): string => `${service.url}/agents/${id}/v1`;
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
				assert.deepEqual([thrown.statusCode, thrown.isRetryable], [400, false]);
				assert.match(thrown.message, /The agent failed/);
				return true;
			},
		);
	});
}

test('text before calls of the agent’s own tools is streamed, whatever reason the model’s server gives for their end', async (t) => {
	const tool = { name: 'look', type: 'javascript', code: 'return "here"', annotations: { readOnlyHint: true } };
	const toolId = must(await account.post(`/organizations/${account.organization.id}/tools`, tool), 201).body.data.id;
	// Gemini's endpoint for OpenAI's clients ends them with "stop".
	for (const reason of ['tool_calls', 'stop', 'length']) {
		const said = ({ messages }: AskedModel): Said =>
			messages.at(-1)?.role === 'tool'
				? { pieces: ['It is ', 'here.'] }
				: { pieces: ['Let me look.'], calls: [{ id: 'a', name: 'look', args: {} }], reason };
		const { id } = await addChatAgent(t, account, said, { data: { toolIds: [toolId] } });
		const ai = new OpenAI({ baseURL: baseURL(id), apiKey: account.token, maxRetries: 0 });
		const stream = await ai.chat.completions.create({ model: 'any', messages: [{ role: 'user', content: 'Where?' }], stream: true });
		let [text, end] = ['', ''];
		for await (const { choices } of stream) {
			text += choices[0]?.delta.content ?? '';
			end = choices[0]?.finish_reason ?? end;
		}
		assert.deepEqual([text, end], ['Let me look.\n\nIt is here.', 'stop'], reason);
	}
});

// ── wishes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages'>;

/** Asks, and brings results until there is an answer; each request has members of its own. */
async function converse(id: string, bodies: readonly Body[]): Promise<string | null | undefined> {
	const ai = new OpenAI({ baseURL: baseURL(id), apiKey: account.token, maxRetries: 0 });
	const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Weather?' }];
	let content: string | null | undefined;
	for (const body of bodies) {
		const { choices } = await ai.chat.completions.create({ model: 'any', messages, ...body });
		const message = choices[0]?.message ?? assert.fail();
		messages.push(message);
		content = message.content;
		for (const call of message.tool_calls ?? [])
			if (call.type === 'function')
				messages.push({ role: 'tool', tool_call_id: call.id, content: `rain in ${JSON.parse(call.function.arguments).city}` });
	}
	return content;
}

test('each request says anew how the run goes on: tool choice, limits, system message and tools', async (t) => {
	const { id, asked } = await makeAgent(t);
	const other = { ...WEATHER_TOOL, function: { ...WEATHER_TOOL.function, name: 'other' } };
	const tools = [WEATHER_TOOL];
	const content = await converse(id, [
		{ tools, tool_choice: 'required', temperature: 0.5 },
		{ tools, tool_choice: { type: 'function', function: { name: 'weather' } }, max_completion_tokens: 9 },
		{ tools: [...tools, other], tool_choice: 'auto' },
	]);
	assert.equal(content, WEATHER_TOLD);
	assert.deepEqual(
		asked.map(({ tool_choice }) => tool_choice ?? null),
		['required', { type: 'function', function: { name: 'weather' } }, 'auto'],
	);
	assert.deepEqual(
		asked.map(({ temperature, max_tokens, max_completion_tokens }) => [temperature, max_completion_tokens ?? max_tokens]),
		[
			[0.5, undefined],
			[undefined, 9],
			[undefined, undefined],
		],
	);
	assert.deepEqual(
		asked.map((one) => one.tools?.length),
		[1, 1, 2],
	);
	const none = await makeAgent(t, ({ messages, tools: offered }) =>
		messages.some(({ role }) => role === 'tool') ? { pieces: [offered ? 'tools' : 'no tools'] } : answerWeather({ messages }),
	);
	assert.equal(await converse(none.id, [{ tools }, { tools, tool_choice: 'none' }]), 'no tools');
});

test('a tool choice holds for one answer: after a result of the agent’s own tool the model is free', async (t) => {
	const path = `/organizations/${account.organization.id}/tools`;
	const parameters = { type: 'object', properties: {} };
	const code = { description: 'x', type: 'javascript', parameters, executionConfig: { code: 'return 1' } };
	const toolId = must(await account.post(path, { name: 'own', ...code }), 201).body.data.id;
	const own = { calls: [{ id: 'o', name: 'own', args: {} }] };
	const theirs = { calls: [{ id: 'w', name: 'weather', args: { city: 'Graz' } }] };
	const said: Said[] = [own, theirs, own, { pieces: ['Done.'] }];
	const { id, asked } = await addChatAgent(t, account, (_asked, at) => said[at] ?? assert.fail(), { data: { toolIds: [toolId] } });
	const body: Body = { tools: [WEATHER_TOOL], tool_choice: 'required' };
	assert.equal(await converse(id, [body, body]), 'Done.');
	assert.deepEqual(
		asked.map(({ tool_choice }) => tool_choice ?? null),
		['required', null, 'required', null],
	);
});
