// Tests of the questions that tools ask: the request, structured answers and their repair, answers that are not whole.

import assert from 'node:assert/strict';
import { text as textOf } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import type { JsonObject, ToolResult } from '../../../core/index.ts';
import { modelsAt, PROVIDER_ID } from '../../../test/helpers/model-connections.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import { loopbackCall } from '../../../testing/fake-call.ts';
import { config } from './config.ts';
import llm from './index.ts';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city', 'days'] };

interface Sent {
	model: string;
	messages: { role: string; content: string }[];
	response_format?: { json_schema: { strict: boolean; schema: object } };
	[member: string]: unknown;
}

/** Answers each request with the next of these texts. @param said members of each message beside its text */
async function scripted(t: TestContext, answers: string[], reason = 'stop', said: JsonObject = {}) {
	const sent: Sent[] = [];
	const { origin } = await httpUpstream(t, async (request, response) => {
		sent.push(JSON.parse(await textOf(request)) as Sent);
		const message = { role: 'assistant', content: answers[sent.length - 1] ?? '', ...said };
		response.setHeader('content-type', 'application/json');
		response.end(JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: reason }] }));
	});
	const call = loopbackCall(t, { models: modelsAt(t, origin).models, plugin: llm });
	const run = (more: JsonObject, args: JsonObject = {}): Promise<ToolResult> =>
		llm.execute(args, config.validate({ providerId: PROVIDER_ID, promptTemplate: 'Where? {{hint}}', ...more }).value, call);
	return { run, sent };
}

test('the request has the filled prompt, the instructions, the model and the parameters', async (t) => {
	const { run, sent } = await scripted(t, ['Zürich.']);
	const more = { systemTemplate: 'Be {{tone}}.', model: 'large', parameters: { temperature: 0.5, maxTokens: 10, extra: { user: 'ada' } } };
	const result = await run(more, { hint: 'lake', tone: 'brief' });
	assert.deepEqual(result, { content: [{ type: 'text', text: 'Zürich.' }] });
	const [{ model, messages, temperature, max_tokens, user } = assert.fail()] = sent;
	assert.deepEqual([model, temperature, max_tokens, user], ['large', 0.5, 10, 'ada']);
	assert.deepEqual(messages, [
		{ role: 'system', content: 'Be brief.' },
		{ role: 'user', content: 'Where? lake' },
	]);
});

test('an answer that fits its schema is the structured result, also in a block of Markdown', async (t) => {
	const { run, sent } = await scripted(t, ['{"city":"Zürich","days":3}', '```json\n{"city":"Bern","days":1}\n```']);
	assert.deepEqual((await run({ outputSchema: SCHEMA })).structured, { city: 'Zürich', days: 3 });
	assert.deepEqual((await run({ outputSchema: SCHEMA })).structured, { city: 'Bern', days: 1 });
	assert.equal(sent[0]?.response_format?.json_schema.strict, false, 'it takes other members, so it is no strict schema');
	await run({ outputSchema: { ...SCHEMA, additionalProperties: false } });
	assert.equal(sent[2]?.response_format?.json_schema.strict, true);
});

test('one that does not fit is sent back once, with its faults', async (t) => {
	const { run, sent } = await scripted(t, ['{"city":7}', '{"city":"Zürich","days":3}']);
	assert.deepEqual((await run({ outputSchema: SCHEMA })).structured, { city: 'Zürich', days: 3 });
	const [, { messages } = assert.fail()] = sent;
	assert.deepEqual(
		messages.map(({ role }) => role),
		['user', 'assistant', 'user'],
	);
	assert.match(messages[2]?.content ?? '', /\/days is missing\.\n\/city must be string[\s\S]*"required":\["city","days"\]/);
});

test('reasoning goes back with the answer that does not fit', async (t) => {
	const { run, sent } = await scripted(t, ['{}', '{"city":"Bern","days":1}'], 'stop', { reasoning_content: 'I forgot.' });
	await run({ outputSchema: SCHEMA });
	assert.deepEqual(sent[1]?.messages[1], { role: 'assistant', content: '{}', reasoning_content: 'I forgot.' });
});

test('an integer that no double holds does not fit a number, and keeps its digits where anything fits', async (t) => {
	const long = '{"city":"Bern","days":9007199254740993,"id":9007199254740993}';
	const { run, sent } = await scripted(t, [long, '{"city":"Bern","days":2,"id":9007199254740993}']);
	assert.deepEqual((await run({ outputSchema: SCHEMA })).structured, { city: 'Bern', days: 2, id: '9007199254740993' });
	assert.match(sent[1]?.messages[2]?.content ?? '', /\/days must be integer[^\n]*: a number with more digits than a double holds/);
});

test('a second wrong answer is a failed run that says what does not fit', async (t) => {
	const { run, sent } = await scripted(t, ['no', 'no', 'yes']);
	const { isError, content } = await run({ outputSchema: SCHEMA });
	assert.deepEqual([isError, sent.length], [true, 2]);
	assert.match(content[0]?.type === 'text' ? content[0].text : '', /asked twice[\s\S]*It is not JSON/);
});

test('an answer with more names than are parsed at once does not fit', async (t) => {
	const many = JSON.stringify(Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`n${at}`, at])));
	const { run, sent } = await scripted(t, [many, '{"city":"Bern","days":1}']);
	assert.deepEqual((await run({ outputSchema: SCHEMA })).structured, { city: 'Bern', days: 1 });
	assert.match(sent[1]?.messages[2]?.content ?? '', /It has more than 10000 different names/);
});

test('an answer with a number beyond a double does not fit', async (t) => {
	const { run, sent } = await scripted(t, ['{"city":"Bern","days":1e400}', '{"city":"Bern","days":1}']);
	assert.deepEqual((await run({ outputSchema: SCHEMA })).structured, { city: 'Bern', days: 1 });
	assert.match(sent[1]?.messages[2]?.content ?? '', /It has a number beyond 1\.8e308/);
});

test('an answer that was cut says so, one that was held back is a failed run', async (t) => {
	const cut = await scripted(t, ['Zür'], 'length');
	const { content, isError } = await cut.run({});
	assert.deepEqual([content.length, isError], [2, undefined]);
	const held = await scripted(t, [''], 'content_filter');
	assert.equal((await held.run({})).isError, true);
});

test('a connection that is gone is not found', async (t) => {
	const { run } = await scripted(t, []);
	await assert.rejects(run({ providerId: '00000000-0000-4000-8000-0000000000bb' }), /LLM provider/);
});
