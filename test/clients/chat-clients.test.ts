// Tests agents by clients of OpenAI's API as their users have them: LangChain and OpenAI's Agents SDK. OpenAI's own client and the AI SDK are in
// plugins/features/agents/chat and test/flows/agent-chat.test.ts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { addChatAgent, answerWeather, type ChatAgent, executionsOf, hangingAgent, WEATHER_TOLD } from '../helpers/chat-agents.ts';
import { installClients, type Loaded } from '../helpers/client-packages.ts';
import { until } from '../helpers/clock.ts';
import type { AskedModel, Said } from '../helpers/scripted-models.ts';
import { type Account, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let langchain: Loaded;
let messages: Loaded;
let tools: Loaded;
let agents: Loaded;
let zod: Loaded;
before(async () => {
	const load = installClients(new URL('./chat/', import.meta.url));
	[langchain, messages, tools, agents, { z: zod }] = await Promise.all(
		['@langchain/openai', '@langchain/core/messages', '@langchain/core/tools', '@openai/agents', 'zod'].map(load),
	);
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service?.stop());

const baseOf = ({ id }: ChatAgent): string => `${service.url}/agents/${id}/v1`;
const FORM = () => zod.object({ city: zod.string() });
/** Answers with JSON of the form that it is asked for. */
const answerForm = ({ response_format: form }: AskedModel): Said => ({ pieces: [form ? '{"city":"Graz"}' : 'no form'] });

// ── LangChain ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** A model of LangChain, with its own retries: six by default. */
const chatModel = (agent: ChatAgent, more: object = {}): Loaded =>
	new langchain.ChatOpenAI({ model: 'agent', apiKey: account.token, configuration: { baseURL: baseOf(agent) }, ...more });

const weather = (): Loaded =>
	tools.tool(async ({ city }: { city: string }) => `rain in ${city}`, {
		name: 'weather',
		description: 'Tells the weather.',
		schema: FORM(),
	});

async function gathered(stream: AsyncIterable<Loaded>): Promise<Loaded> {
	let whole: Loaded;
	for await (const chunk of stream) whole = whole?.concat(chunk) ?? chunk;
	return whole;
}

test('LangChain reads answers and streams, with their usage; its system message replaces the agent’s', async (t) => {
	const agent = await addChatAgent(t, account, answerWeather, { data: { systemPrompt: 'Old.' } });
	const model = chatModel(agent, { temperature: 0.5, maxTokens: 9 });
	const said = [new messages.SystemMessage('New.'), new messages.HumanMessage('Hello.')];
	const answer = await model.invoke(said);
	const streamed = await gathered(await model.stream(said));
	for (const { content, usage_metadata: usage } of [answer, streamed])
		assert.deepEqual([content, usage.input_tokens, usage.output_tokens, usage.total_tokens], ['Hello.', 7, 3, 10]);
	assert.equal(answer.response_metadata.finish_reason, 'stop');
	for (const { messages: sent, temperature, max_completion_tokens, max_tokens } of agent.asked) {
		assert.deepEqual(sent[0], { role: 'system', content: 'New.' });
		assert.deepEqual([temperature, max_completion_tokens ?? max_tokens], [0.5, 9]);
	}
});

for (const isStreamed of [false, true])
	test(`LangChain runs its tools over several rounds${isStreamed ? ', streamed' : ''}`, async (t) => {
		const agent = await addChatAgent(t, account);
		const tool = weather();
		const model = chatModel(agent).bindTools([tool]);
		const said: Loaded[] = [new messages.HumanMessage('Weather?')];
		const rounds: number[] = [];
		for (;;) {
			const answer = isStreamed ? await gathered(await model.stream(said)) : await model.invoke(said);
			said.push(answer);
			if (answer.tool_calls.length === 0) break;
			rounds.push(answer.tool_calls.length);
			for (const call of answer.tool_calls) said.push(await tool.invoke(call));
		}
		assert.deepEqual([rounds, said.at(-1).content], [[2, 1], WEATHER_TOLD]);
		assert.deepEqual([(await executionsOf(account, agent)).length, agent.asked.length], [1, 3]);
	});

test('LangChain reads structured output, as JSON of a schema and as the call of a tool that it demands', async (t) => {
	const asJson = await addChatAgent(t, account, answerForm);
	const form = { city: 'Graz' };
	assert.deepEqual(await chatModel(asJson).withStructuredOutput(FORM(), { name: 'form' }).invoke('x'), form);
	assert.match(JSON.stringify(asJson.asked[0]?.['response_format']), /json_schema.*"form"/);
	const call = { id: 'a', name: 'form', args: form };
	const asCall = await addChatAgent(t, account, () => ({ calls: [call] }));
	const model = chatModel(asCall).withStructuredOutput(FORM(), { name: 'form', method: 'functionCalling' });
	assert.deepEqual(await model.invoke('x'), form);
	assert.deepEqual(asCall.asked[0]?.['tool_choice'], { type: 'function', function: { name: 'form' } });
});

test('LangChain does not repeat a run that failed, and does repeat one that the model refused for now', async (t) => {
	const failing = await addChatAgent(t, account, () => ({ status: 400 }));
	await assert.rejects(chatModel(failing).invoke('x'), ({ status, message, type }: Loaded) => {
		assert.deepEqual([status, type], [400, 'pipeline_error']);
		assert.match(message, /The agent failed.*Node "say"/);
		return true;
	});
	assert.equal((await executionsOf(account, failing)).length, 1);
	const busy = await addChatAgent(t, account, (_asked, at) => (at === 0 ? { status: 429 } : { pieces: ['Now.'] }));
	assert.equal((await chatModel(busy).invoke('x')).content, 'Now.');
	const nobody = chatModel(failing, { apiKey: 'none' });
	await assert.rejects(nobody.invoke('x'), ({ status, lc_error_code: code }: Loaded) => status === 401 && code === 'MODEL_AUTHENTICATION');
	assert.equal((await executionsOf(account, failing)).length, 1);
});

test('LangChain that leaves, or whose time is over, cancels the run', async (t) => {
	const left = await hangingAgent(t, account);
	const leaving = new AbortController();
	const reading = chatModel(left.agent).invoke('x', { signal: leaving.signal });
	reading.catch(() => undefined);
	await until(() => left.agent.asked.length > 0, 'the call of the model');
	leaving.abort();
	await assert.rejects(reading);
	await left.untilLeft();
	const late = await hangingAgent(t, account);
	await assert.rejects(chatModel(late.agent, { timeout: 1_000, maxRetries: 0 }).invoke('x'), { name: 'TimeoutError' });
	await until(async () => (await executionsOf(account, late.agent)).every(({ statusDetail }) => statusDetail === 'cancelled'), 'its end');
});

// ── OpenAI's Agents SDK ────────────────────────────────────────────────────────────────────────────────────────────

/** Runs an agent of the SDK, whose model is ours. */
function runnerOf(agent: ChatAgent): Loaded {
	const openAIClient = new OpenAI({ baseURL: baseOf(agent), apiKey: account.token });
	const modelProvider = new agents.OpenAIProvider({ openAIClient, useResponses: false });
	return new agents.Runner({ modelProvider, tracingDisabled: true });
}

const sdkAgent = (more: object = {}): Loaded => new agents.Agent({ name: 'Caller', instructions: 'Be brief.', model: 'agent', ...more });
const sdkWeather = (): Loaded =>
	agents.tool({
		...{ name: 'weather', description: 'Tells the weather.', parameters: FORM() },
		execute: async ({ city }: { city: string }) => `rain in ${city}`,
	});

test('the Agents SDK reads answers, its tools run over several rounds, and each turn tells its usage', async (t) => {
	const agent = await addChatAgent(t, account);
	assert.equal((await runnerOf(agent).run(sdkAgent(), 'Hello.')).finalOutput, 'Hello.');
	assert.deepEqual(agent.asked[0]?.messages[0], { role: 'system', content: 'Be brief.' });
	// It demands a call at first, and not again after one.
	const caller = sdkAgent({ tools: [sdkWeather()], modelSettings: { toolChoice: 'required' } });
	const { finalOutput, rawResponses } = await runnerOf(agent).run(caller, 'Weather?');
	assert.equal(finalOutput, WEATHER_TOLD);
	assert.deepEqual(
		rawResponses.map(({ usage }: Loaded) => usage.totalTokens),
		[10, 10, 10],
	);
	assert.deepEqual(
		agent.asked.slice(1).map(({ tool_choice }) => tool_choice ?? null),
		['required', null, null],
	);
});

test('the Agents SDK reads streams, with calls of its tools in them', async (t) => {
	const agent = await addChatAgent(t, account);
	const result = await runnerOf(agent).run(sdkAgent({ tools: [sdkWeather()] }), 'Weather?', { stream: true });
	let text = '';
	for await (const piece of result.toTextStream()) text += piece;
	await result.completed;
	assert.deepEqual([text, result.finalOutput, (await executionsOf(account, agent)).length], [WEATHER_TOLD, WEATHER_TOLD, 1]);
});

test('the Agents SDK reads structured output', async (t) => {
	const agent = await addChatAgent(t, account, answerForm);
	assert.deepEqual((await runnerOf(agent).run(sdkAgent({ outputType: FORM() }), 'x')).finalOutput, { city: 'Graz' });
});

test('an agent of the Agents SDK that hands over to another one goes on with the instructions and tools of that one', async (t) => {
	const said = ({ tools: offered = [], messages: sent }: AskedModel): Said => {
		const [name] = offered.map(({ function: { name: one } }) => one);
		if (name?.startsWith('transfer')) return { calls: [{ id: 'h', name, args: {} }] };
		return { pieces: [`${sent[0]?.content} ${name}`] };
	};
	const agent = await addChatAgent(t, account, said);
	const expert = sdkAgent({ name: 'Expert', instructions: 'Know it.', tools: [sdkWeather()] });
	const caller = agents.Agent.create({ name: 'Caller', instructions: 'Hand over.', model: 'agent', handoffs: [expert] });
	const { finalOutput, lastAgent } = await runnerOf(agent).run(caller, 'x');
	assert.deepEqual([finalOutput, lastAgent.name], ['Know it. weather', 'Expert']);
});

test('the Agents SDK tells why a run failed, once; leaving cancels the run', async (t) => {
	const failing = await addChatAgent(t, account, () => ({ status: 400 }));
	for (const stream of [false, true])
		await assert.rejects(
			(async () => {
				const result = await runnerOf(failing).run(sdkAgent(), 'x', { stream });
				if (stream) for await (const _ of result);
			})(),
			/The agent failed/,
		);
	assert.equal((await executionsOf(account, failing)).length, 2);
	const { agent, untilLeft } = await hangingAgent(t, account);
	const leaving = new AbortController();
	const reading = runnerOf(agent).run(sdkAgent(), 'x', { signal: leaving.signal });
	reading.catch(() => undefined);
	await until(() => agent.asked.length > 0, 'the call of the model');
	leaving.abort();
	await assert.rejects(reading);
	await untilLeft();
});
