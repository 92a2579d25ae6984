// The requests that a model gets and the outputs that its answers become, with a real server and core's own connections.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type JsonObject } from '../../../core/index.ts';
import { PROVIDER_ID } from '../../../test/helpers/model-connections.ts';
import { nodeWorld } from '../../../test/helpers/node-world.ts';
import llmCall from './index.ts';

const input = { input: {}, from: [] };
const SCHEMA = { type: 'object', properties: { mood: { enum: ['good', 'bad'] } }, required: ['mood'], additionalProperties: false };
const PROMPT = { providerId: PROVIDER_ID, userPromptTemplate: 'Hello {{input.name}}' };

const configOf = (more: JsonObject = {}) => {
	const { value, error } = llmCall.config.validate({ ...PROMPT, ...more });
	if (error) throw error;
	return value;
};

test('The model gets instructions, history and prompt, filled in, and the options of the node', async (t) => {
	const history = '{{input.messages}}';
	const given = configOf({ systemPrompt: 'Be {{input.tone}}.', history, temperature: 0.5, model: 'large' });
	const messages = [
		{ role: 'user', content: 'Hi' },
		{ role: 'assistant', content: 'Hello' },
	];
	const world = await nodeWorld(t, { answers: ['Good day.'], scope: { input: { name: 'Ada', tone: 'kind', messages } } });
	assert.deepEqual(await llmCall.run(input, given, world.call()), { output: 'Good day.' });
	const [{ messages: sent, model, temperature } = { messages: [], model: '', temperature: 0 }] = world.sent;
	assert.deepEqual(sent, [{ role: 'system', content: 'Be kind.' }, ...messages, { role: 'user', content: 'Hello Ada' }]);
	assert.deepEqual([model, temperature], ['large', 0.5]);
});

test('A prompt that is one placeholder of an object is its JSON, and of nothing is empty', async (t) => {
	const world = await nodeWorld(t, { answers: ['x', 'y'], scope: { input: { order: { id: 7 } } } });
	await llmCall.run(input, configOf({ userPromptTemplate: '{{input.order}}' }), world.call());
	assert.equal(world.sent[0]?.messages[0]?.content, '{"id":7}');
	await llmCall.run(input, configOf({ userPromptTemplate: '{{input.none}}' }), world.call());
	assert.equal(world.sent[1]?.messages[0]?.content, '');
});

test('Images go beside the prompt, one or a list', async (t) => {
	const png = 'data:image/png;base64,iVBORw0KGgo=';
	const world = await nodeWorld(t, {
		answers: ['a cat'],
		scope: { input: { name: '', shots: [png, { data: '/9j/', mimeType: 'image/jpeg' }] } },
	});
	await llmCall.run(input, configOf({ images: ['{{input.shots}}', '{{input.none}}'] }), world.call());
	const content = world.sent[0]?.messages[0]?.content as { type: string; image_url?: { url: string } }[];
	assert.deepEqual(
		content.map(({ type, image_url }) => image_url?.url ?? type),
		['text', png, 'data:image/jpeg;base64,/9j/'],
	);
});

test('An answer that has to be JSON is data', async (t) => {
	const world = await nodeWorld(t, { answers: ['```json\n{"mood": "good"}\n```'], scope: { input: { name: 'x' } } });
	const { output } = await llmCall.run(input, configOf({ output: { schema: SCHEMA } }), world.call());
	assert.deepEqual(output, { mood: 'good' });
	assert.equal(world.sent[0]?.response_format?.['type'], 'json_schema');
});

test('An answer that does not fit is repaired once, with its faults', async (t) => {
	const world = await nodeWorld(t, { answers: ['{"mood":"fine"}', '{"mood":"good"}'], scope: { input: { name: 'x' } } });
	const { output } = await llmCall.run(input, configOf({ output: { schema: SCHEMA } }), world.call());
	assert.deepEqual(output, { mood: 'good' });
	const [answer, repair] = world.sent[1]?.messages.slice(-2) ?? [];
	assert.deepEqual(answer, { role: 'assistant', content: '{"mood":"fine"}' });
	assert.match(String(repair?.content), /does not fit:\n\/mood /);
});

const MANY = JSON.stringify(Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`n${at}`, at])));

const REFUSED: [what: string, answers: Parameters<typeof nodeWorld>[1], more: JsonObject, says: RegExp, asked: number][] = [
	['two answers that do not fit', { answers: ['no', 'no'] }, { output: { schema: SCHEMA } }, /not JSON of the schema: It is not JSON/, 2],
	[
		'answers with more names than are parsed at once',
		{ answers: [MANY, MANY] },
		{ output: { schema: SCHEMA } },
		/It has more than 10000 different names/,
		2,
	],
	[
		'answers with a number beyond a double',
		{ answers: ['{"mood":1e400}', '{"mood":-1e400}'] },
		{ output: { schema: { type: 'object' } } },
		/It has a number beyond 1\.8e308/,
		2,
	],
	['one, where no repair is wanted', { answers: ['no', '{}'] }, { output: { schema: SCHEMA, repair: false } }, /It is not JSON/, 1],
	[
		'one that was cut',
		{ answers: [{ text: '{"mo', reason: 'length' }] },
		{ output: { schema: SCHEMA, repair: false } },
		/reached the limit of its tokens/,
		1,
	],
	['one that was withheld', { answers: [{ text: '', reason: 'content_filter' }] }, {}, /content filter withheld/, 1],
];

for (const [what, options, more, says, asked] of REFUSED)
	test(`${what} makes the node fail`, async (t) => {
		const world = await nodeWorld(t, { ...options, scope: { input: { name: 'x' } } });
		await assert.rejects(
			llmCall.run(input, configOf(more), world.call()),
			(error) => asGatewayError(error)?.code === 'upstream_failed' && says.test(String(error)),
		);
		assert.equal(world.sent.length, asked);
	});

const WRONG: [what: string, more: JsonObject, says: RegExp][] = [
	['a history that is no list', { history: 'text' }, /"history" must be a list/],
	['a message of the system', { history: [{ role: 'system', content: 'x' }] }, /"history", message 1: it must be/],
	['an image that is an address', { images: 'https://example.com/cat.png' }, /"images", image 1: it must be a data URL/],
	['an image that is no base64', { images: 'data:image/png;base64,not base64!' }, /image 1: it must be .* in base64/],
	['an image that is cut off', { images: 'data:image/png;base64,iVBOR' }, /image 1: it must be .* in base64/],
	['a file that is no image', { images: [{ data: 'eA==', mimeType: 'text/html' }] }, /image 1: it must be a data URL/],
];

for (const [what, more, says] of WRONG)
	test(`${what} is refused, and nothing is sent`, async (t) => {
		const world = await nodeWorld(t, { scope: { input: { name: 'x' } } });
		await assert.rejects(async () => llmCall.run(input, configOf(more), world.call()), says);
		assert.equal(world.sent.length, 0);
	});
