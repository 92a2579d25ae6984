// Tests conversations with agents over three replicas: turns that land on different ones, requests that clients repeat, and a replica that is killed.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { addChatAgent, answerWeather, type ChatAgent, executionsOf, WEATHER_TOLD, WEATHER_TOOL } from '../helpers/chat-agents.ts';
import { until } from '../helpers/clock.ts';
import { freePort } from '../helpers/ports.ts';
import { administer, type Endpoint } from '../helpers/postgres.ts';
import { ready, type Started, start } from '../helpers/processes.ts';
import { hurry } from '../helpers/run-processes.ts';
import type { AskedModel, Said } from '../helpers/scripted-models.ts';
import {
	type Account,
	databaseVariables,
	registerAccount,
	SECRETS,
	type SharedService,
	startTestService,
	type TestService,
} from '../helpers/service.ts';

let first: SharedService;
let second: TestService;
/** A process of its own. */
let third: Started;
let urls: string[];
let account: Account;
let database: Endpoint;
let folder: string;
before(async () => {
	first = await startTestService();
	second = await startTestService({ replicaOf: first });
	database = first.config.database ?? assert.fail();
	const { redis } = first.config;
	folder = mkdtempSync(join(tmpdir(), 'gatehouse-chat-'));
	const PORT = String(await freePort());
	third = start({
		...{ ...databaseVariables(database), ...SECRETS, HOST: '127.0.0.1', EGRESS_ALLOW: '127.0.0.1', SVC_DATA_DIR: folder, PORT },
		...{ REDIS_HOST: redis?.host ?? '', REDIS_PORT: String(redis?.port) },
	});
	urls = [first.url, second.url, `http://127.0.0.1:${PORT}`];
	await ready(urls[2] ?? '', third);
	account = await registerAccount(first.url);
});
after(async () => {
	await third?.[Symbol.asyncDispose]();
	await second?.stop();
	await first?.stop();
	rmSync(folder, { recursive: true, force: true });
});

type Messages = OpenAI.ChatCompletionMessageParam[];
interface Asking {
	messages: Messages;
	/** The number of the replica. */
	at: number;
	/** The client's count of repetitions. */
	count?: number;
	signal?: AbortSignal;
}

async function ask({ id }: ChatAgent, { messages, at, count = 0, signal }: Asking) {
	const ai = new OpenAI({ baseURL: `${urls[at]}/agents/${id}/v1`, apiKey: account.token, maxRetries: 0 });
	const body = { model: 'any', messages, tools: [WEATHER_TOOL] };
	const options = { headers: { 'x-stainless-retry-count': String(count) }, ...(signal && { signal }) };
	const { data, response } = await ai.chat.completions.create(body, options).withResponse();
	const message = data.choices[0]?.message ?? assert.fail();
	return { message, content: message.content, usage: data.usage, execution: response.headers.get('x-execution-id') };
}

const asksWeather = (): Messages => [{ role: 'user', content: 'Weather?' }];

/** The messages after an answer that calls tools. */
function bring(messages: Messages, message: OpenAI.ChatCompletionMessage): Messages {
	const results = (message.tool_calls ?? []).map((call): Messages[number] => {
		assert.ok(call.type === 'function');
		return { role: 'tool', tool_call_id: call.id, content: `rain in ${JSON.parse(call.function.arguments).city}` };
	});
	return [...messages, message, ...results];
}

test('turns of a conversation land on three replicas, and each tells its own use of the model', async (t) => {
	const agent = await addChatAgent(t, account);
	let messages = asksWeather();
	const seen = [];
	for (const at of [0, 1, 2]) {
		const turn = await ask(agent, { messages, at });
		messages = bring(messages, turn.message);
		seen.push(turn);
	}
	assert.equal(seen.at(-1)?.content, WEATHER_TOLD);
	assert.deepEqual([new Set(seen.map(({ execution }) => execution)).size, agent.asked.length], [1, 3]);
	assert.deepEqual(
		seen.map(({ usage }) => usage?.total_tokens),
		[10, 10, 10],
	);
	const [execution, ...others] = await executionsOf(account, agent);
	assert.deepEqual([others.length, execution.status, execution.tokensUsed], [0, 'success', 30]);
});

test('turns that follow each other at one replica, which has kept the run, do not tell the use of former ones', async (t) => {
	const agent = await addChatAgent(t, account);
	const one = await ask(agent, { messages: asksWeather(), at: 0 });
	const two = await ask(agent, { messages: bring(asksWeather(), one.message), at: 0 });
	assert.deepEqual([one.usage?.total_tokens, two.usage?.total_tokens], [10, 10]);
});

/** Holds one answer of a model up. */
function holding(answer: (asked: AskedModel) => Said, which: number) {
	const { promise, resolve } = Promise.withResolvers<void>();
	const said = (asked: AskedModel, at: number): Said =>
		at === which ? { ...answer(asked), pieces: [promise, ...(answer(asked).pieces ?? [])] } : answer(asked);
	return { said, release: () => resolve() };
}

test('a later request that is repeated at another replica hears what followed the results, and the model is asked once', async (t) => {
	const { said, release } = holding(answerWeather, 1);
	const agent = await addChatAgent(t, account, said);
	const one = await ask(agent, { messages: asksWeather(), at: 0 });
	const messages = bring(asksWeather(), one.message);
	const former = ask(agent, { messages, at: 0 });
	await until(() => agent.asked.length === 2, 'the model is asked');
	const repeated = ask(agent, { messages, at: 1, count: 1 });
	release();
	const [two, again] = await Promise.all([former, repeated]);
	assert.deepEqual(again.message.tool_calls, two.message.tool_calls);
	// Also when all is over, and without a count.
	const last = await ask(agent, { messages, at: 2 });
	assert.deepEqual([last.message.tool_calls, agent.asked.length], [two.message.tool_calls, 2]);
});

test('a client that left in a later turn and repeats it goes on from there: nothing before is asked again', async (t) => {
	const { said, release } = holding(answerWeather, 1);
	t.after(release);
	const agent = await addChatAgent(t, account, said);
	const one = await ask(agent, { messages: asksWeather(), at: 0 });
	const messages = bring(asksWeather(), one.message);
	const leaving = new AbortController();
	const left = ask(agent, { messages, at: 0, signal: leaving.signal }).catch((error: unknown) => error);
	await until(() => agent.asked.length === 2, 'the model is asked');
	leaving.abort();
	assert.ok((await left) instanceof OpenAI.APIUserAbortError);
	await until(async () => (await executionsOf(account, agent))[0].statusDetail === 'cancelled', 'the run is cancelled');
	const two = await ask(agent, { messages, at: 1, count: 1 });
	assert.equal(two.message.tool_calls?.length, 1);
	const again = await ask(agent, { messages, at: 2, count: 2 });
	assert.deepEqual([again.execution, again.message.tool_calls], [two.execution, two.message.tool_calls]);
	assert.notEqual(two.execution, one.execution);
	const three = await ask(agent, { messages: bring(messages, two.message), at: 0 });
	assert.equal(three.content, WEATHER_TOLD);
	// The answer that nobody heard, and those of three turns.
	assert.equal(agent.asked.length, 4);
	assert.deepEqual([two.usage?.total_tokens, three.usage?.total_tokens], [10, 10]);
	// A request that no client repeats finds what was cancelled.
	await assert.rejects(ask(agent, { messages, at: 0 }), /was cancelled/);
});

test('a replica is killed within a turn: another one goes on, and the turn tells the use of both', async (t) => {
	const { said, release } = holding(({ messages }) => ({ pieces: [messages.length === 1 ? 'No JSON.' : '{"n":1}'] }), 1);
	t.after(release);
	const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
	const agent = await addChatAgent(t, account, said, { data: { output: { schema } } });
	await hurry(database, ['agent'], 3);
	const messages = asksWeather();
	const lost = ask(agent, { messages, at: 2 }).catch((error: unknown) => error);
	await until(() => agent.asked.length === 2, 'the model is asked to repair its answer');
	third.signalGroup('SIGKILL');
	await third.ended;
	assert.ok((await lost) instanceof OpenAI.APIConnectionError);
	// A run that began ahead of the queue is put off for 35 s; here those are over.
	await administer(database, "UPDATE engine.job_common SET start_after = now() WHERE name = 'agent'");
	const { content, usage } = await ask(agent, { messages, at: 1, count: 1 });
	assert.equal(content, '{"n":1}');
	assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens, agent.asked.length], [14, 6, 3]);
	const [execution] = await executionsOf(account, agent);
	const { trace } = (await account.get(`${agent.path}/executions/${execution.executionId}`)).body.data;
	assert.equal(trace.find(({ nodeId }: { nodeId: string }) => nodeId === 'say').tokensUsed, 20);
});
