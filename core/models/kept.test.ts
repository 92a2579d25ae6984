// Tests of what providers want back with the results of tools, each at a server of its wire that tells what it was sent.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { textOf } from '../../test/helpers/egress.ts';
import { modelsAt, PROVIDER_ID } from '../../test/helpers/model-connections.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import type { ChatMessage } from '../contract/providers.ts';

const USER: ChatMessage = { role: 'user', content: 'What is the weather?' };

type SentMessage = { role: string; content: unknown } & Record<string, unknown>;

/** Asks, and asks again with the result of the tool that was called. @returns the answer as it went back */
async function backOf(t: TestContext, provider: string, events: readonly object[], type = 'text/event-stream'): Promise<SentMessage> {
	const asked: { messages: SentMessage[] }[] = [];
	const server = await httpUpstream(t, async (request, response) => {
		asked.push(JSON.parse(await textOf(request)));
		response.writeHead(200, { 'content-type': type });
		const lines = events.map((event) => (type === 'text/event-stream' ? `data: ${JSON.stringify(event)}\n\n` : JSON.stringify(event)));
		response.end(lines.join(''));
	});
	const { models } = modelsAt(t, server.origin, { provider });
	const { toolCalls, text, kept } = await models.ask({ providerId: PROVIDER_ID, messages: [USER] });
	// Runs store answers as JSON.
	const stored = kept && JSON.parse(JSON.stringify(kept));
	const answer: ChatMessage = { role: 'assistant', content: text === '' ? null : text, toolCalls, ...(stored && { kept: stored }) };
	const result: ChatMessage = { role: 'tool', toolCallId: toolCalls[0]?.id ?? '', content: 'rain' };
	await models.ask({ providerId: PROVIDER_ID, messages: [USER, answer, result] });
	const back = asked[1]?.messages.find(({ role }) => role === 'assistant');
	assert.ok(back);
	return back;
}

const usage = { input_tokens: 3, output_tokens: 1 };
const BLOCKS = [
	{ type: 'thinking', thinking: 'I need a tool.', signature: 'c2lnbmVk' },
	{ type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
	{ type: 'text', text: 'Let me see.' },
	{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Graz' } },
];
const MESSAGE = { id: 'm', type: 'message', role: 'assistant', model: 'claude', stop_sequence: null };
const begin = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block });
const piece = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta });
const end = (index: number) => ({ type: 'content_block_stop', index });

test('the thinking of Anthropic’s models goes back signed, before what they said', async (t) => {
	const streamed = await backOf(t, 'anthropic', [
		{ type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null, usage } },
		begin(0, { type: 'thinking', thinking: '', signature: '' }),
		...['I need', ' a tool.'].map((thinking) => piece(0, { type: 'thinking_delta', thinking })),
		...[piece(0, { type: 'signature_delta', signature: 'c2lnbmVk' }), end(0)],
		...[begin(1, { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' }), end(1)],
		...[begin(2, { type: 'text', text: '' }), piece(2, { type: 'text_delta', text: 'Let me see.' }), end(2)],
		begin(3, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }),
		...[piece(3, { type: 'input_json_delta', partial_json: '{"city":"Graz"}' }), end(3)],
		{ type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
		{ type: 'message_stop' },
	]);
	assert.deepEqual(streamed.content, BLOCKS);
	const whole = { ...MESSAGE, content: BLOCKS, stop_reason: 'tool_use', usage };
	assert.deepEqual((await backOf(t, 'anthropic', [whole], 'application/json')).content, BLOCKS);
});

test('an answer that is white space beside a call goes back to Anthropic’s models without it, which refuse it', async (t) => {
	const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Graz' } };
	const whole = { ...MESSAGE, content: [{ type: 'text', text: '\n\n' }, call], stop_reason: 'tool_use', usage };
	assert.deepEqual((await backOf(t, 'anthropic', [whole], 'application/json')).content, [call]);
});

const CALL = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Graz"}' } };
const chunk = (delta: object, finish_reason: string | null = null) => ({
	id: 'c',
	model: 'm',
	choices: [{ index: 0, delta, finish_reason }],
});
const streamOf = (...deltas: object[]) => [...deltas, { tool_calls: [{ index: 0, ...CALL }] }].map((delta) => chunk(delta));

test('reasoning goes back by the name by which it came, where servers take it', async (t) => {
	const answered = async (...deltas: object[]): Promise<SentMessage> =>
		backOf(t, 'custom', [...streamOf(...deltas), chunk({}, 'tool_calls')]);
	const plain = { role: 'assistant', content: null, tool_calls: [CALL] };
	assert.deepEqual(await answered(), plain);
	const deepSeek = await answered({ reasoning_content: 'I need' }, { reasoning_content: ' a tool.' });
	assert.deepEqual(deepSeek, { ...plain, reasoning_content: 'I need a tool.' });
	assert.deepEqual(await answered({ reasoning: 'Groq refuses it.' }), plain);
	const openRouter = await answered(
		{ reasoning: 'I need', reasoning_details: [{ type: 'reasoning.text', text: 'I need', index: 0, signature: null }] },
		{ reasoning: ' a tool.', reasoning_details: [{ type: 'reasoning.text', text: ' a tool.', index: 0 }] },
		{ reasoning_details: [{ type: 'reasoning.text', signature: 'c2lnbmVk', index: 0 }] },
		...['YQ==', 'Yg=='].map((data) => ({ reasoning_details: [{ type: 'reasoning.encrypted', data, index: 1 }] })),
	);
	const details = [
		{ type: 'reasoning.text', text: 'I need a tool.', index: 0, signature: 'c2lnbmVk' },
		...['YQ==', 'Yg=='].map((data) => ({ type: 'reasoning.encrypted', data, index: 1 })),
	];
	assert.deepEqual(openRouter, { ...plain, reasoning_details: details });
	const message = { role: 'assistant', content: null, reasoning_content: 'I need a tool.', tool_calls: [CALL] };
	const whole = { id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] };
	assert.deepEqual(await backOf(t, 'custom', [whole], 'application/json'), { ...plain, reasoning_content: 'I need a tool.' });
});

test('the signature of a call of Gemini’s goes back with the call', async (t) => {
	const signed = { ...CALL, extra_content: { google: { thought_signature: 'c2lnbmVk' } } };
	const events = [chunk({ tool_calls: [{ index: 0, ...signed }] }), chunk({}, 'tool_calls')];
	assert.deepEqual((await backOf(t, 'custom', events))['tool_calls'], [signed]);
	assert.deepEqual(
		(
			await backOf(
				t,
				'custom',
				[{ ...events[0], choices: [{ index: 0, message: { role: 'assistant', tool_calls: [signed] }, finish_reason: 'tool_calls' }] }],
				'application/json',
			)
		)['tool_calls'],
		[signed],
	);
});
