// Tests of chat completions with OpenAI's own client, over a real socket: answers, streams, tools of the client, errors, and leaving.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, type TestContext, test } from 'node:test';
import { Ajv } from 'ajv';
import OpenAI from 'openai';
import { until } from '../../../../test/helpers/clock.ts';
import { type AskedModel, type Said, scriptedModels } from '../../../../test/helpers/scripted-models.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../../../../test/helpers/service.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

// ── the judge ──────────────────────────────────────────────────────────────────────────────────────────────────────

const SCHEMA = JSON.parse(readFileSync(new URL('../../../../test/fixtures/openai/chat-completions.schema.json', import.meta.url), 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema(SCHEMA, 'openai');
const judges = {
	completion: ajv.compile({ $ref: 'openai#/definitions/ChatCompletion' }),
	chunk: ajv.compile({ $ref: 'openai#/definitions/ChatCompletionChunk' }),
	model: ajv.compile({ $ref: 'openai#/definitions/Model' }),
};

function judged<T>(kind: keyof typeof judges, value: T): T {
	const judge = judges[kind];
	// Clients add members that are hidden in JSON.
	assert.ok(judge(JSON.parse(JSON.stringify(value))), `${JSON.stringify(value)}: ${ajv.errorsText(judge.errors)}`);
	return value;
}

test('the judge refuses what is no answer', () => {
	assert.ok(!judges.completion({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [{}] }));
	assert.ok(!judges.chunk({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' }));
});

// ── agents ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const edges = (...pairs: [string, string][]) => pairs.map(([source, target], at) => ({ id: `e${at}`, source, target }));
const input = (schema: object = { type: 'object' }) => ({ id: 'in', type: 'input', data: { schema } });

interface Options {
	type?: 'llm_call' | 'agent';
	data?: object;
	schema?: object;
	mapping?: unknown;
	settings?: object;
	gone?: () => void;
}

/** An agent whose one node asks a model. */
async function agentWith(t: TestContext, answer: (asked: AskedModel, at: number) => Said, options: Options = {}) {
	const { type = 'llm_call', data = {}, schema, mapping = '{{nodes.say.output}}', settings, gone } = options;
	const { origin, asked } = await scriptedModels(t, answer, gone);
	const connection = { name: 'Models', provider: 'custom', apiKey: 'key', baseUrl: origin, model: 'small' };
	const providerId = must(await account.post('/llm-providers', connection), 201).body.data.id;
	const prompt = type === 'agent' ? { prompt: '{{input.message}}' } : { userPromptTemplate: '{{input.message}}' };
	const say = { id: 'say', type, data: { providerId, ...prompt, ...data } };
	const nodes = [input(schema), say, { id: 'out', type: 'output', data: { mapping } }];
	return { ...(await saved({ nodes, edges: edges(['in', 'say'], ['say', 'out']) }, settings)), asked };
}

async function saved(pipeline: object, settings?: object) {
	const { id } = must(await account.post('/agents', { name: 'Talker', pipeline, ...(settings && { settings }) }), 201).body.data;
	return { id, path: `/agents/${id}`, ai: clientOf(id) };
}

const clientOf = (id: string, more: object = {}) =>
	new OpenAI({ baseURL: `${service.url}/agents/${id}/v1`, apiKey: account.token, maxRetries: 0, ...more });

const asking = <const M extends object = object>(content: string, more?: M) => ({
	...{ model: 'any', messages: [{ role: 'user' as const, content }] },
	// Without more there is nothing that M could name.
	...(more as M),
});
const echo = ({ messages }: AskedModel): Said => ({ pieces: [...String(messages.at(-1)?.content)] });

/** Reads a stream, and judges every chunk. */
async function readAll(stream: AsyncIterable<OpenAI.ChatCompletionChunk>) {
	const chunks: OpenAI.ChatCompletionChunk[] = [];
	for await (const chunk of stream) chunks.push(judged('chunk', chunk));
	return { chunks, text: chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('') };
}

const executionsOf = async (path: string) => must(await account.get(`${path}/executions`), 200).body.data.executions;

// ── answers ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a conversation is answered with the output, its usage and its execution', async (t) => {
	const { ai, path, asked } = await agentWith(t, echo);
	const { data, response } = await ai.chat.completions.create(asking('Hello.')).withResponse();
	judged('completion', data);
	const { usage, choices, model, system_fingerprint } = data;
	assert.deepEqual([choices[0]?.message.content, choices[0]?.finish_reason, model, system_fingerprint], ['Hello.', 'stop', 'any', 'fp_1']);
	assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens, usage?.total_tokens], [7, 3, 10]);
	assert.equal(usage?.prompt_tokens_details?.cached_tokens, 2);
	const id = response.headers.get('x-execution-id');
	const shown = must(await account.get(`${path}/executions/${id}`), 200).body.data;
	assert.deepEqual([shown.status, shown.input.message, shown.output, shown.trace.length], ['success', 'Hello.', 'Hello.', 3]);
	assert.equal(asked.length, 1);
});

test('an output that is no text is answered as JSON, streamed and not', async () => {
	const { ai } = await saved({
		nodes: [input(), { id: 'out', type: 'output', data: { mapping: { said: '{{input.message}}' } } }],
		edges: edges(['in', 'out']),
	});
	const content = '{"said":"Hello."}';
	assert.equal(judged('completion', await ai.chat.completions.create(asking('Hello.'))).choices[0]?.message.content, content);
	const stream = await ai.chat.completions.create(asking('Hello.', { stream: true, stream_options: { include_usage: true } }));
	const { text, chunks } = await readAll(stream);
	assert.equal(text, content);
	assert.equal(chunks.at(-1)?.usage?.total_tokens, 0);
});

test('messages become the input: one required text gets the message, other required fields are named', async (t) => {
	const required = (...names: string[]) => ({
		schema: { type: 'object', required: names, properties: { question: { type: 'string' } }, additionalProperties: false },
	});
	const { ai, asked } = await agentWith(t, echo, { ...required('question'), data: { userPromptTemplate: '{{input.question}}!' } });
	assert.equal((await ai.chat.completions.create(asking('Where'))).choices[0]?.message.content, 'Where!');
	const other = await agentWith(t, echo, { ...required('question', 'city', 'day'), data: { userPromptTemplate: '{{input.question}}!' } });
	const error = await other.ai.chat.completions.create(asking('Where')).catch((thrown: unknown) => thrown);
	assert.ok(error instanceof OpenAI.BadRequestError);
	assert.match(error.message, /"question", "city", "day"/);
	assert.deepEqual([error.type, error.param, asked.length], ['invalid_request_error', 'input.question', 1]);
});

test('what the request wishes overrides what the nodes say', async (t) => {
	const data = { systemPrompt: 'Old.', temperature: 1, maxTokens: 5, history: '{{input.messages}}' };
	const { ai, asked } = await agentWith(t, echo, { data });
	await ai.chat.completions.create({
		model: 'any',
		messages: [
			{ role: 'developer', content: 'New.' },
			{ role: 'user', content: 'One.' },
			{ role: 'assistant', content: 'Yes.' },
			{
				role: 'user',
				content: [
					{ type: 'text', text: 'Two.' },
					{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
				],
			},
		],
		temperature: 0.25,
		max_completion_tokens: 77,
		response_format: {
			type: 'json_schema',
			json_schema: { name: 'form', schema: { type: 'object', properties: { a: { type: 'string' } } } },
		},
	});
	const [sent] = asked;
	assert.deepEqual(
		sent?.messages.map(({ role, content }) => [role, Array.isArray(content) ? content.map(({ type }) => type) : content]),
		[
			['system', 'New.'],
			['user', 'One.'],
			['assistant', 'Yes.'],
			['user', ['text', 'image_url']],
		],
	);
	assert.deepEqual([sent?.['temperature'], sent?.['max_completion_tokens'] ?? sent?.['max_tokens']], [0.25, 77]);
	assert.match(JSON.stringify(sent?.['response_format']), /"form"/);
});

test('null counts as absent wherever a member may be absent, as clients write all that their classes have', async (t) => {
	const { path, asked } = await agentWith(t, () => ({ pieces: ['{}'] }));
	const none = { text: null, refusal: null, image_url: null, input_audio: null, file: null };
	const message = { role: 'user', name: null, tool_call_id: null, tool_calls: null, content: [{ ...none, type: 'text', text: 'Hello.' }] };
	const body = {
		...{ model: 'any', messages: [message], n: null, stop: null, tools: null, stream: null, stream_options: { include_usage: null } },
		response_format: { type: 'json_schema', json_schema: { name: 'form', schema: null, strict: null } },
	};
	must(await account.post(`${path}/v1/chat/completions`, body), 200);
	assert.deepEqual([asked[0]?.messages.at(-1)?.content, asked[0]?.['stop']], ['Hello.', undefined]);
	const { status, body: answer } = await account.post(`${path}/v1/chat/completions`, {
		...body,
		messages: [message, { ...message, role: 'tool' }],
	});
	assert.deepEqual([status, answer.error.param], [400, 'messages.1.tool_call_id']);
});

// ── streams ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('text arrives before the model has ended, over a socket that accepts gzip; the usage is told when it is asked for', async (t) => {
	const rest = Promise.withResolvers<void>();
	const { path } = await agentWith(t, () => ({ pieces: ['Hel', rest.promise, 'lo.'] }));
	const response = await fetch(`${service.url}${path}/v1/chat/completions`, {
		method: 'POST',
		headers: { authorization: `Bearer ${account.token}`, 'content-type': 'application/json', 'accept-encoding': 'gzip, br' },
		body: JSON.stringify(asking('x', { stream: true, stream_options: { include_usage: true } })),
	});
	assert.deepEqual([response.status, response.headers.get('content-type')?.split(';')[0]], [200, 'text/event-stream']);
	assert.match(response.headers.get('x-execution-id') ?? '', /^[0-9a-f-]{36}$/);
	const decoder = new TextDecoder();
	let seen = '';
	const reader = response.body?.getReader() ?? assert.fail();
	while (!seen.includes('"Hel"')) seen += decoder.decode((await reader.read()).value, { stream: true });
	// The model goes on only now, so whatever is here came before its end.
	rest.resolve();
	for (let next = await reader.read(); !next.done; next = await reader.read()) seen += decoder.decode(next.value, { stream: true });
	const data = seen.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice('data: '.length)] : []));
	assert.equal(data.at(-1), '[DONE]');
	const chunks = data.slice(0, -1).map((text) => judged('chunk', JSON.parse(text)));
	assert.equal(chunks[0].choices[0].delta.role, 'assistant');
	assert.deepEqual([chunks.at(-2).choices[0].finish_reason, chunks.at(-2).usage], ['stop', null]);
	assert.deepEqual([chunks.at(-1).choices, chunks.at(-1).usage.total_tokens], [[], 10]);
	assert.ok(!/^event:/m.test(seen));
});

test('a stream has the whole text in pieces, and says why it ended', async (t) => {
	const { ai } = await agentWith(t, (asked) => ({ ...echo(asked), reason: 'length' }));
	const { text, chunks } = await readAll(await ai.chat.completions.create(asking('grüße 😀', { stream: true })));
	assert.deepEqual([text, chunks.at(-1)?.choices[0]?.finish_reason], ['grüße 😀', 'length']);
	const other = await agentWith(t, echo);
	assert.equal(await other.ai.chat.completions.stream(asking('again')).finalContent(), 'again');
});

test('a model that breaks off ends the stream with an error', async (t) => {
	const rest = Promise.withResolvers<void>();
	const { ai } = await agentWith(t, () => ({ pieces: ['Hel', rest.promise], cut: true }));
	const error = await (async () => {
		for await (const { choices } of await ai.chat.completions.create(asking('x', { stream: true })))
			if (choices[0]?.delta.content === 'Hel') rest.resolve();
	})().catch((thrown: unknown) => thrown);
	assert.ok(error instanceof OpenAI.APIError, String(error));
	assert.equal(error.type, 'pipeline_error');
});

// ── tools of the client ────────────────────────────────────────────────────────────────────────────────────────────

const tool = (name: string) => ({
	type: 'function' as const,
	function: { name, description: 'x', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
});

/** Asks for two tools at once, then for one, then answers with the results. */
const rounds = ({ messages }: AskedModel): Said => {
	const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
	const call = (id: string, city: string) => ({ id, name: 'weather', args: { city } });
	if (results.length === 0) return { calls: [call('a', 'Graz'), call('b', 'Linz')] };
	if (results.length === 2) return { pieces: ['Wait.'], calls: [call('c', 'Wien')] };
	return { pieces: ['It is ', results.join()] };
};

for (const stream of [false, true])
	test(`tools of the client end the turn, in parallel and over several rounds${stream ? ', streamed' : ''}`, async (t) => {
		const { ai, path, asked } = await agentWith(t, rounds, { type: 'agent' });
		const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Weather?' }];
		const given: string[][] = [];
		let last: OpenAI.ChatCompletion;
		for (;;) {
			const body = { model: 'any', messages, tools: [tool('weather')] };
			last = stream
				? await ai.chat.completions.stream(body).finalChatCompletion()
				: judged('completion', await ai.chat.completions.create(body));
			const { message, finish_reason } = last.choices[0] ?? assert.fail();
			messages.push(message);
			if (finish_reason !== 'tool_calls') break;
			if (!stream) assert.equal(message.content, null);
			given.push([]);
			for (const call of message.tool_calls ?? []) {
				assert.ok(call.type === 'function');
				const { city } = JSON.parse(call.function.arguments);
				given.at(-1)?.push(city);
				messages.push({ role: 'tool', tool_call_id: call.id, content: `rain in ${city}` });
			}
		}
		assert.deepEqual(given, [['Graz', 'Linz'], ['Wien']]);
		assert.equal(last.choices[0]?.message.content, 'It is rain in Graz,rain in Linz,rain in Wien');
		assert.equal(asked.length, 3);
		assert.equal((await executionsOf(path)).length, 1);
	});

test('results are taken as a whole, of calls that were made; a repeated one gets what followed', async (t) => {
	const { ai } = await agentWith(t, rounds, { type: 'agent' });
	const body = { model: 'any', tools: [tool('weather')] };
	const first = await ai.chat.completions.create({ ...body, messages: asking('Weather?').messages });
	const message = first.choices[0]?.message ?? assert.fail();
	const results = (message.tool_calls ?? []).map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: id }));
	const bring = (...more: OpenAI.ChatCompletionMessageParam[]) =>
		ai.chat.completions.create({ ...body, messages: [...asking('Weather?').messages, message, ...more] });
	await assert.rejects(bring(...results.slice(1)), /is missing/);
	await assert.rejects(bring({ role: 'tool', tool_call_id: 'call_other', content: '' }), /no tool under this id/);
	const [second, again] = [await bring(...results), await bring(...results)];
	const idsOf = ({ choices }: OpenAI.ChatCompletion) => choices[0]?.message.tool_calls?.map(({ id }) => id);
	assert.equal(idsOf(second)?.length, 1);
	assert.deepEqual(idsOf(again), idsOf(second));
	const stranger = await agentWith(t, rounds, { type: 'agent' });
	const foreign = { ...body, messages: [...asking('Weather?').messages, message, ...results] };
	await assert.rejects(stranger.ai.chat.completions.create(foreign), /no tool under this id/);
});

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

test('what the user says after results goes to the model after them, in each of its further turns', async (t) => {
	// Some models give the same ids in each turn.
	const look: Said = { calls: [{ id: 'a', name: 'look', args: {} }] };
	const { ai, path, asked } = await agentWith(t, (_asked, at) => (at % 3 < 2 ? look : { pieces: ['I see it.'] }), { type: 'agent' });
	const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Where am I?' }];
	const ask = async (...more: OpenAI.ChatCompletionMessageParam[]) => {
		messages.push(...more);
		const { choices } = await ai.chat.completions.create({ model: 'any', messages, tools: [tool('look')] });
		const { message } = choices[0] ?? assert.fail();
		messages.push(message);
		return message;
	};
	const result = ({ tool_calls: calls }: OpenAI.ChatCompletionMessage): OpenAI.ChatCompletionMessageParam => ({
		...{ role: 'tool', content: 'taken' },
		tool_call_id: calls?.[0]?.id ?? assert.fail('it called nothing'),
	});
	const picture = [
		{ type: 'text' as const, text: 'Here is the picture.' },
		{ type: 'image_url' as const, image_url: { url: PIXEL } },
	];
	const first = await ask();
	const second = await ask(result(first), { role: 'user', content: picture });
	const { content } = await ask(result(second), { role: 'system', content: 'Be brief.' }, { role: 'user', content: 'And this one.' });
	assert.equal(content, 'I see it.');
	const rolesOf = (at: number) => asked[at]?.messages.map(({ role }) => role).join(' ');
	assert.equal(rolesOf(1), 'user assistant tool user');
	assert.equal(rolesOf(2), 'system user assistant tool user assistant tool user');
	assert.deepEqual(asked[2]?.messages[4]?.content, picture);
	assert.equal(asked[2]?.messages[7]?.content, 'And this one.');
	assert.equal((await executionsOf(path)).length, 1);
	const repeated = { model: 'any', messages: messages.slice(0, -1), tools: [tool('look')] };
	const again = await account.post(`${path}/v1/chat/completions`, repeated, { 'x-stainless-retry-count': '1' });
	assert.equal(again.body.choices[0].message.content, 'I see it.');
	assert.equal((await executionsOf(path)).length, 1, 'a repetition hears what followed');
	await ask({ role: 'user', content: 'Thanks.' });
	assert.equal((await executionsOf(path)).length, 2, 'an answer is followed by a run of its own');
});

test('results that no run waits for are a part of the past where the user goes on', async (t) => {
	const { ai, path } = await agentWith(t, rounds, { type: 'agent' });
	const past = { ...asking('Weather?'), tools: [tool('weather')] };
	const { choices } = await ai.chat.completions.create(past);
	const { message } = choices[0] ?? assert.fail();
	const results = (message.tool_calls ?? []).map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'rain' }));
	const next = { role: 'user' as const, content: 'Hello.' };
	const partly = { ...past, messages: [...past.messages, message, ...results.slice(1), next] };
	await assert.rejects(ai.chat.completions.create(partly), /is missing/);
	const [execution] = await executionsOf(path);
	must(await account.post(`${path}/executions/${execution.executionId}/cancel`), 200);
	for (const ids of [results, results.map((one) => ({ ...one, tool_call_id: 'call_of_another' }))])
		await ai.chat.completions.create({ ...past, messages: [...past.messages, message, ...ids, next] });
	assert.equal((await executionsOf(path)).length, 3);
});

test('a tool of the client may not have the name of one of the agent’s; where no node takes tools, they are ignored', async (t) => {
	const path = `/organizations/${account.organization.id}/tools`;
	const own = {
		description: 'x',
		type: 'javascript',
		parameters: { type: 'object', properties: {} },
		executionConfig: { code: 'return 1' },
	};
	const made = await account.post(path, { name: 'own.tool', ...own });
	const toolId = must(made, 201).body.data.id;
	const { ai } = await agentWith(t, rounds, { type: 'agent', data: { toolIds: [toolId] } });
	const error = await ai.chat.completions
		.create(asking('x', { tools: [tool('weather'), tool('own_tool')] }))
		.catch((thrown: unknown) => thrown);
	assert.ok(error instanceof OpenAI.BadRequestError);
	assert.equal(error.param, 'tools.1.function.name');
	const plain = await agentWith(t, echo);
	await plain.ai.chat.completions.create(asking('x', { tools: [tool('own_tool')] }));
	assert.equal(plain.asked[0]?.tools, undefined);
});

// ── errors, leaving, repetitions ───────────────────────────────────────────────────────────────────────────────────

test('errors have OpenAI’s form and a status that says whether to try again', async (t) => {
	const { ai, path } = await agentWith(t, () => ({ status: 400 }));
	for (const stream of [false, true]) {
		const failed = await ai.chat.completions.create(asking('x', { stream })).catch((thrown: unknown) => thrown);
		assert.ok(failed instanceof OpenAI.BadRequestError, String(failed));
		assert.deepEqual([failed.type, failed.headers?.get('x-should-retry')], ['pipeline_error', 'false']);
		assert.match(failed.message, /Node "say"/);
		assert.match(failed.headers?.get('x-execution-id') ?? '', /^[0-9a-f-]{36}$/);
	}
	const none = await ai.chat.completions.create({ model: 'any', messages: [] }).catch((thrown: unknown) => thrown);
	assert.ok(none instanceof OpenAI.BadRequestError);
	assert.equal(none.param, 'messages');
	for (const bare of [{ role: 'user' }, { role: 'system', content: null }, { role: 'tool', tool_call_id: 'x' }]) {
		const body = { model: 'any', messages: [{ role: 'user', content: 'x' }, bare] };
		const { status, body: answer } = await account.post(`${path}/v1/chat/completions`, body);
		assert.deepEqual([status, answer.error.param], [400, 'messages.1.content'], JSON.stringify(bare));
	}
	const unknown = await clientOf('00000000-0000-0000-0000-000000000000')
		.models.list()
		.catch((thrown: unknown) => thrown);
	assert.ok(unknown instanceof OpenAI.NotFoundError);
	assert.equal(unknown.type, 'not_found_error');
	const stranger = await registerAccount(service.url);
	assert.equal((await stranger.post(`${path}/v1/chat/completions`, asking('x'))).status, 404);
	const nobody = new OpenAI({ baseURL: `${service.url}${path}/v1`, apiKey: 'none', maxRetries: 0 });
	const refused = await nobody.chat.completions.create(asking('x')).catch((thrown: unknown) => thrown);
	assert.ok(refused instanceof OpenAI.AuthenticationError);
	assert.equal(refused.type, 'authentication_error');
	await assert.rejects(ai.responses.create({ model: 'any', input: 'x' }), (thrown: unknown) => {
		assert.ok(thrown instanceof OpenAI.NotFoundError);
		assert.match(thrown.message, /\.chat\(model\)/);
		return true;
	});
});

test('the agent is the one model of its API', async (t) => {
	const { ai, id } = await agentWith(t, echo);
	const { data } = await ai.models.list();
	assert.deepEqual(
		data.map((model) => judged('model', model).id),
		[id],
	);
	judged('model', await ai.models.retrieve(id));
	judged('model', await ai.models.retrieve('Talker'));
	await assert.rejects(ai.models.retrieve('other'), OpenAI.NotFoundError);
});

test('a client that leaves cancels the run down to the model, unless the agent goes on', async (t) => {
	for (const stream of [true, false]) {
		let hasGone = false;
		const hanging = new Promise(() => undefined);
		const gone = (): void => {
			hasGone = true;
		};
		const { ai, path, asked } = await agentWith(t, () => ({ pieces: ['a', hanging] }), { gone });
		const leaving = new AbortController();
		const reading = ai.chat.completions.create(asking('x', { stream }), { signal: leaving.signal });
		reading.catch(() => undefined);
		await until(() => asked.length > 0, 'the call of the model');
		if (stream) await reading;
		leaving.abort();
		await until(() => hasGone, 'the end of the model’s answer');
		await until(async () => (await executionsOf(path))[0].statusDetail === 'cancelled', 'the end of the run');
	}
	const rest = Promise.withResolvers<void>();
	const { ai, path, asked } = await agentWith(t, () => ({ pieces: ['a', rest.promise] }), { settings: { onDisconnect: 'continue' } });
	const leaving = new AbortController();
	ai.chat.completions.create(asking('x'), { signal: leaving.signal }).catch(() => undefined);
	await until(() => asked.length > 0, 'the call of the model');
	leaving.abort();
	rest.resolve();
	await until(async () => (await executionsOf(path))[0].status === 'success', 'the end of the run');
});

test('a request that the client repeats by itself gets the earlier run', async (t) => {
	const { path, asked } = await agentWith(t, echo);
	const ask = async (count: string, content = 'Hello.') => {
		const { status, headers, body } = await account.post(`${path}/v1/chat/completions`, asking(content), {
			'x-stainless-retry-count': count,
		});
		assert.equal(status, 200, JSON.stringify(body));
		return headers.get('x-execution-id');
	};
	const first = await ask('0');
	assert.equal(await ask('1'), first);
	assert.equal(asked.length, 1);
	assert.notEqual(await ask('1', 'Other.'), first);
	assert.notEqual(await ask('0'), first);
});

test('a refusal of the provider’s for now is passed on while nothing was done', async (t) => {
	const { ai } = await agentWith(t, () => ({ status: 429, retryAfter: '60' }));
	const error = await ai.chat.completions.create(asking('x')).catch((thrown: unknown) => thrown);
	assert.ok(error instanceof OpenAI.RateLimitError, String(error));
	assert.deepEqual([error.type, error.headers?.get('retry-after')], ['rate_limit_error', '60']);
});
