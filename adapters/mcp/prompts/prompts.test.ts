// Tests of prompts and of completion: skills as messages, arguments, files that come along, and what a client may ask for.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GetPromptResultSchema, ListPromptsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { META, mcpEndpoint, modernRequest, request, sampleTool } from '../../../test/helpers/mcp.ts';
import type { FakeSkill } from '../../../testing/index.ts';

const args = (...names: string[]) => names.map((name) => ({ name, description: '', required: true, values: ['red', 'green', 'dark red'] }));
const PAINT: FakeSkill = {
	name: 'paint',
	description: 'Paints.',
	body: 'Paint {{what}} in {{ colour }}, not {{other}}.',
	arguments: args('what', 'colour'),
};
const PLAIN: FakeSkill = { name: 'plain', description: 'Is plain.', body: '# Plain\n' };

const texts = (messages: { content: { text?: string } }[]) => messages.map(({ content }) => content.text);

describe('prompts/list', () => {
	test('each skill is one, with its arguments or a task (prompts, “Prompt”)', async () => {
		const { result } = (await mcpEndpoint({ skills: [PAINT, PLAIN] })(request('prompts/list'))).message;
		assert.ok(ListPromptsResultSchema.parse(result));
		assert.deepEqual(result.prompts, [
			{
				name: 'paint',
				description: 'Paints.',
				arguments: [
					{ name: 'what', required: true },
					{ name: 'colour', required: true },
				],
			},
			{
				name: 'plain',
				description: 'Is plain.',
				arguments: [{ name: 'task', description: 'What to do with this skill.', required: false }],
			},
		]);
	});

	test('with no skills there are none; in the modern era the list may be kept for a while', async () => {
		assert.deepEqual((await mcpEndpoint()(request('prompts/list'))).message.result, { prompts: [] });
		const { result } = (await mcpEndpoint()(...modernRequest('prompts/list'))).message;
		assert.deepEqual([result.prompts, result.ttlMs, result.cacheScope], [[], 60_000, 'private']);
	});

	test('a caller without tools:read is refused', async () => {
		await assert.rejects(mcpEndpoint({ scopes: ['tools:execute'] })(request('prompts/list')), { code: 'insufficient_scope' });
	});
});

describe('prompts/get', () => {
	const get = (name: string, given?: object, skills = [PAINT, PLAIN]) =>
		mcpEndpoint({ skills })(request('prompts/get', { name, ...(given && { arguments: given }) }));

	test('the body is a message of the user, without the head of SKILL.md; the task is another', async () => {
		const { result } = (await get('plain', { task: 'Do this.' })).message;
		assert.ok(GetPromptResultSchema.parse(result));
		assert.deepEqual(result, {
			description: 'Is plain.',
			messages: [
				{ role: 'user', content: { type: 'text', text: '# Plain\n' } },
				{ role: 'user', content: { type: 'text', text: 'Do this.' } },
			],
		});
		assert.deepEqual(texts((await get('plain')).message.result.messages), ['# Plain\n']);
	});

	test('arguments stand where the body names them, and what they say is not looked through', async () => {
		const { result } = (await get('paint', { what: '{{colour}} $& doors', colour: 'red' })).message;
		assert.deepEqual(texts(result.messages), ['Paint {{colour}} $& doors in red, not {{other}}.']);
	});

	test('what is missing, unknown or no string is the error -32602 that names it (prompts, “Error Handling”)', async () => {
		const cases: [name: string, given: object, said: RegExp][] = [
			['none', {}, /There is no prompt "none"/],
			['paint', { what: 'a' }, /params\.arguments\.colour is required/],
			['paint', { what: 'a', colour: '' }, /params\.arguments\.colour is required/],
			['paint', { what: 5, colour: 'b' }, /params\.arguments\.what must be a string/],
			['paint', { what: 'a', colour: 'b', size: 'c' }, /no argument "size", but what, colour/],
			['plain', { other: 'a' }, /no argument "other", but task/],
		];
		for (const [name, given, said] of cases) {
			const { error } = (await get(name, given)).message;
			assert.equal(error.code, -32602);
			assert.match(error.message, said);
		}
	});

	test('an argument may have a name that every object has', async () => {
		const argument = { name: 'constructor', description: '', required: true, values: [] };
		const skill = { ...PAINT, arguments: [argument], body: 'By {{constructor}}.' };
		assert.match((await get('paint', {}, [skill])).message.error.message, /params\.arguments\.constructor is required/);
		assert.deepEqual(texts((await get('paint', { constructor: 'her' }, [skill])).message.result.messages), ['By her.']);
	});

	test('a body that says a long argument again and again is refused', async () => {
		const many = { ...PAINT, body: '{{what}}'.repeat(12_000) };
		const { error } = (await get('paint', { what: 'x'.repeat(100_000), colour: 'red' }, [many])).message;
		assert.deepEqual([error.code, /more than 1000000 characters/.test(error.message)], [-32602, true]);
		assert.equal((await get('paint', { what: 'x', colour: 'red' }, [many])).message.result.messages[0].content.text.length, 12_000);
	});

	test('files come along: texts and images whole, large ones as links', async () => {
		const files = { 'a.md': 'A', 'b.bin': Buffer.from('b'), 'big.txt': 'x'.repeat(70_000) };
		const { result } = (await get('plain', {}, [{ ...PLAIN, files }])).message;
		assert.ok(GetPromptResultSchema.parse(result));
		assert.deepEqual(
			result.messages.slice(1).map(({ content }: { content: object }) => content),
			[
				{ type: 'resource', resource: { uri: 'skill://plain/a.md', mimeType: 'text/markdown', text: 'A' } },
				{ type: 'resource', resource: { uri: 'skill://plain/b.bin', mimeType: 'application/octet-stream', blob: 'Yg==' } },
				{ type: 'resource_link', uri: 'skill://plain/big.txt', name: 'big.txt', mimeType: 'text/markdown', size: 70_000 },
			],
		);
	});

	test('in the modern era its name is in a header, and a client that takes forms is asked for what is missing', async () => {
		const [body, headers] = modernRequest('prompts/get', { name: 'paint', arguments: { what: 'it', colour: 'red' } });
		const post = mcpEndpoint({ skills: [PAINT] });
		assert.equal((await post(body, headers)).message.result.resultType, 'complete');
		assert.equal((await post(body, { ...headers, 'mcp-name': 'other' })).message.error.code, -32020);
		const refused = await post(...modernRequest('prompts/get', { name: 'paint', arguments: { what: 'it' } }));
		assert.equal(refused.message.error.code, -32602);
		assert.equal(META['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
	});
});

describe('completion/complete', () => {
	const skills = [PAINT, { ...PLAIN, files: { 'a.md': 'A' } }];
	const tools = Array.from({ length: 150 }, (_, at) => sampleTool({ name: `tool_${at}` }));
	const complete = async (ref: object, argument: object, context?: object) =>
		(await mcpEndpoint({ skills, tools })(request('completion/complete', { ref, argument, ...(context && { context }) }))).message;
	const prompt = (name: string) => ({ type: 'ref/prompt', name });
	const template = (uri: string) => ({ type: 'ref/resource', uri });

	test('values of a prompt’s argument that begin with the text come first (utilities, “Completion”)', async () => {
		const { result } = await complete(prompt('paint'), { name: 'colour', value: 'RED' });
		assert.deepEqual(result, { completion: { values: ['red', 'dark red'], total: 2, hasMore: false } });
		assert.deepEqual((await complete(prompt('plain'), { name: 'task', value: '' })).result.completion.values, []);
	});

	test('names of tools and skills, and paths of the chosen skill; at most 100 values', async () => {
		const { completion } = (await complete(template('gatehouse://tools/{name}'), { name: 'name', value: 'tool' })).result;
		assert.deepEqual([completion.values.length, completion.total, completion.hasMore], [100, 150, true]);
		const files = template('skill://{name}/{+path}');
		assert.deepEqual((await complete(files, { name: 'name', value: 'pl' })).result.completion.values, ['plain']);
		const context = { arguments: { name: 'plain' } };
		assert.deepEqual((await complete(files, { name: 'path', value: '' }, context)).result.completion.values, ['SKILL.md', 'a.md']);
	});

	test('what there is not is the error -32602', async () => {
		const cases: [ref: object, argument: object][] = [
			[prompt('none'), { name: 'a', value: '' }],
			[prompt('plain'), { name: 'toString', value: '' }],
			[template('file://{x}'), { name: 'x', value: '' }],
			[{ type: 'other' }, { name: 'x', value: '' }],
			[prompt('plain'), { name: 'task' }],
		];
		for (const [ref, argument] of cases) assert.equal((await complete(ref, argument)).error.code, -32602);
	});
});
