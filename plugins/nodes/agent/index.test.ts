// The loop of a model and its tools, with a real server, core's own connections, and tools whose arguments are checked.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type Json, type JsonObject, type LlmProviderRow } from '../../../core/features.ts';
import { PROVIDER_ID } from '../../../test/helpers/model-connections.ts';
import { type NodeWorldOptions, nodeWorld, type Said, told, Waiting } from '../../../test/helpers/node-world.ts';
import agent from './index.ts';

const input = { input: {}, from: [] };
const scope = { input: { question: 'Where is order 7?' } };
const SAFE = { readOnlyHint: true };
const FIND = {
	...{ name: 'find.order', description: 'Finds an order.', annotations: SAFE },
	parameters: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
	run: ({ id }: JsonObject) => told(`order ${id} is in Graz`),
};
const REFUND = { name: 'refund', description: 'Pays back.', run: () => told('paid') };
const find = (...ids: unknown[]): Said => ({ calls: ids.map((id) => ({ name: 'find_order', args: { id } })) });
const refund: Said = { calls: [{ name: 'refund', args: { amount: 5 } }] };

const configOf = (more: JsonObject = {}) => {
	const { value, error } = agent.config.validate({ providerId: PROVIDER_ID, prompt: '{{input.question}}', ...more });
	if (error) throw error;
	return value;
};
const worldOf = (t: Parameters<typeof nodeWorld>[0], answers: readonly Said[], more: NodeWorldOptions = {}) =>
	nodeWorld(t, { answers, scope, tools: [FIND, REFUND], ...more });
const PRICES = { connection: { prices: { small: { input: 1_000_000, output: 10_000_000 } } } as unknown as Partial<LlmProviderRow> };

test('The model calls a tool, reads its result and answers', async (t) => {
	const world = await worldOf(t, [find(7), 'It is in Graz.']);
	assert.deepEqual(await agent.run(input, configOf({ systemPrompt: 'Be brief.' }), world.call()), { output: 'It is in Graz.' });
	assert.deepEqual(world.ran, [{ name: 'find.order', args: { id: 7 } }]);
	const [first, second] = world.sent;
	assert.deepEqual(
		first?.tools?.map((tool) => tool.function.name),
		['find_order', 'refund'],
	);
	assert.deepEqual(
		second?.messages.map(({ role }) => role),
		['system', 'user', 'assistant', 'tool'],
	);
	assert.deepEqual(second?.messages.at(-1), { role: 'tool', tool_call_id: 'call_0', content: 'order 7 is in Graz' });
	assert.deepEqual(
		world.progress.map(({ done }) => done),
		[1, 2],
	);
});

test('A prompt that is a placeholder of nothing is empty', async (t) => {
	const world = await worldOf(t, ['done']);
	await agent.run(input, configOf({ prompt: '{{input.none}}', systemPrompt: '{{input.none}}' }), world.call());
	assert.deepEqual(world.sent[0]?.messages, [{ role: 'user', content: '' }]);
});

test('What the model thought goes back to it with the results, also after a process was lost', async (t) => {
	const world = await worldOf(t, [{ ...(find(7) as object), thought: 'Look it up.' } as Said, refund, 'done']);
	await agent.run(input, configOf(), world.call());
	const answers = (at: number) => world.sent[at]?.messages.filter(({ role }) => role === 'assistant').map((one) => one.reasoning_content);
	assert.deepEqual([answers(1), answers(2)], [['Look it up.'], ['Look it up.', undefined]]);
	world.steps.delete('turn:2');
	await agent.run(input, configOf(), world.call()).catch(() => undefined);
	assert.deepEqual(answers(3), ['Look it up.']);
});

test('Several calls of one answer run at once, within the bound, and are told in their order', async (t) => {
	let [running, most] = [0, 0];
	const run = async ({ id }: JsonObject) => {
		running += 1;
		most = Math.max(most, running);
		await new Promise((resolve) => setImmediate(resolve));
		running -= 1;
		return told(`${id}`);
	};
	const world = await worldOf(t, [find(1, 2, 3, 4, 5), 'done'], { tools: [{ ...FIND, run }] });
	await agent.run(input, configOf({ parallelCalls: 2 }), world.call());
	assert.equal(most, 2);
	assert.deepEqual(
		world.sent[1]?.messages.slice(2).map(({ content }) => content),
		['1', '2', '3', '4', '5'],
	);
});

const named = (from: number): JsonObject => Object.fromEntries(Array.from({ length: 6000 }, (_, at) => [`n${from + at}`, at]));

const MISTAKES: [what: string, said: Said, says: RegExp][] = [
	['a tool that is not there', { calls: [{ name: 'nothing', args: {} }] }, /There is no tool "nothing"/],
	['arguments that are no JSON', { calls: [{ name: 'refund', args: '{"amount":' }] }, /not JSON/],
	[
		'arguments that together have more names than are parsed at once',
		{ calls: [0, 6000].map((from) => ({ name: 'refund', args: named(from) })) },
		/more than 10000 different names/,
	],
	['a number beyond a double', { calls: [{ name: 'refund', args: '{"amount":[1e400]}' }] }, /\/amount\/0 is a number beyond/],
	['an integer that would be rounded', { calls: [{ name: 'find_order', args: '{"id":1234567890123456789}' }] }, /\/id must be integer/],
	['arguments that are a list', { calls: [{ name: 'refund', args: '[1]' }] }, /must be a JSON object/],
	['arguments that do not fit', find('seven'), /\/id must be integer/],
	['a tool that fails', { calls: [{ name: 'fail', args: {} }] }, /no luck/],
];

for (const [what, said, says] of MISTAKES)
	test(`the model is told of ${what}, and may go on`, async (t) => {
		const fail = { name: 'fail', run: () => told('no luck', true) };
		const world = await worldOf(t, [said, 'Sorry.'], { tools: [FIND, REFUND, fail] });
		assert.deepEqual(await agent.run(input, configOf(), world.call()), { output: 'Sorry.' });
		assert.match(String(world.sent[1]?.messages.at(-1)?.content), says);
	});

test('A result that is long is cut, and says so', async (t) => {
	const world = await worldOf(t, [find(7), 'x'], { tools: [{ ...FIND, run: () => told('a'.repeat(2000)) }] });
	await agent.run(input, configOf({ maxResultChars: 500 }), world.call());
	assert.equal(world.sent[1]?.messages.at(-1)?.content, `${'a'.repeat(500)}\n[cut: 500 of 2,000 characters]`);
});

test('Only the tools that are named are offered, and a name that is none is a fault', async (t) => {
	const world = await worldOf(t, ['x']);
	await agent.run(input, configOf({ only: ['refund'] }), world.call());
	assert.deepEqual(
		world.sent[0]?.tools?.map((tool) => tool.function.name),
		['refund'],
	);
	await assert.rejects(agent.run(input, configOf({ only: ['refnd'] }), world.call()), /There is no tool "refnd"/);
});

test('More tools than a model takes are refused before it is asked', async (t) => {
	const tools = Array.from({ length: 129 }, (_, at) => ({ ...REFUND, name: `t${at}` }));
	const world = await worldOf(t, [], { tools });
	await assert.rejects(agent.run(input, configOf(), world.call()), /offers 129 tools, and a model takes 128/);
	assert.equal(world.sent.length, 0);
});

test('Names that differ in what models do not take stay apart', async (t) => {
	const tools = [FIND, { ...FIND, name: 'find/order', run: () => told('the other') }];
	const world = await worldOf(t, [{ calls: [{ name: 'find_order_2', args: { id: 1 } }] }, 'x'], { tools });
	await agent.run(input, configOf(), world.call());
	assert.deepEqual(world.ran, [{ name: 'find/order', args: { id: 1 } }]);
});

test('A takeover asks for no turn again, repeats no tool that has ended, and none that may not be repeated', async (t) => {
	const world = await worldOf(t, [{ calls: [{ name: 'refund', args: { amount: 5 } }] }, 'Paid.'], {});
	const config = configOf();
	await agent.run(input, config, world.call());
	assert.deepEqual([world.sent.length, world.ran.length], [2, 1]);
	await agent.run(input, config, world.call());
	assert.deepEqual([world.sent.length, world.ran.length], [2, 1]);
	assert.deepEqual([...world.steps.keys()], ['turn:1', 'tool:1:0', 'turn:2']);
	// The process was lost while the tool ran.
	world.steps.set('tool:1:0', { once: true });
	await assert.rejects(agent.run(input, config, world.call()), /in doubt: tool:1:0/);
	assert.equal(world.ran.length, 1);
});

test('A tool that only reads is repeated after a loss', async (t) => {
	const world = await worldOf(t, [find(7), 'x']);
	await agent.run(input, configOf(), world.call());
	assert.equal(world.steps.get('tool:1:0')?.once, false);
	assert.equal(world.steps.get('turn:1')?.once, false);
});

const APPROVALS: [what: string, more: JsonObject, said: Said, asked: boolean][] = [
	['a tool that is listed', { requireApproval: ['refund'] }, refund, true],
	['one that is not', { requireApproval: ['refund'] }, find(7), false],
	['a tool that changes something', { approval: 'changing' }, refund, true],
	['one that only reads', { approval: 'changing' }, find(7), false],
	['any tool', { approval: 'all' }, find(7), true],
];

for (const [what, more, said, asked] of APPROVALS)
	test(`${what} waits ${asked ? '' : 'not '}for a person`, async (t) => {
		const world = await worldOf(t, [said, 'x']);
		const running = agent.run(input, configOf(more), world.call());
		if (asked) await assert.rejects(running, Waiting);
		else await running;
		assert.equal(world.ran.length, asked ? 0 : 1);
		assert.equal(world.questions.length, asked ? 1 : 0);
	});

test('The question shows tool and arguments, and the answer lets the call run', async (t) => {
	let answer: Json = null;
	const world = await worldOf(t, [refund, 'Done.'], { agreed: () => answer });
	const config = configOf({ requireApproval: ['refund'], approvers: { roles: ['owner'] }, approvalTimeoutMs: 60_000 });
	await assert.rejects(agent.run(input, config, world.call()), Waiting);
	answer = { approved: true };
	assert.deepEqual(await agent.run(input, config, world.call()), { output: 'Done.' });
	const { key, question: rest } = world.questions[0] ?? assert.fail();
	assert.match(rest.message, /“refund” with these arguments\?\n\{\n "amount": 5\n\}/);
	assert.deepEqual([key, rest.approvers, rest.timeoutMs], ['approve:1:0', { roles: ['owner'] }, 60_000]);
	assert.equal(world.sent.length, 2);
});

test('A call that a person does not allow does not run, and the model reads why', async (t) => {
	const world = await worldOf(t, [refund, 'Then not.'], { agreed: () => ({ approved: false, comment: 'Too much.' }) });
	assert.deepEqual(await agent.run(input, configOf({ approval: 'all' }), world.call()), { output: 'Then not.' });
	assert.deepEqual(world.ran, []);
	assert.match(String(world.sent[1]?.messages.at(-1)?.content), /did not allow this call\. They said: Too much\./);
});

test('At its bound the loop fails, or lets the model answer without tools', async (t) => {
	const world = await worldOf(t, [find(1), find(2)]);
	await assert.rejects(agent.run(input, configOf({ maxIterations: 2 }), world.call()), (error) => {
		assert.equal(asGatewayError(error)?.code, 'conflict');
		return /no answer after 2 turns/.test(String(error));
	});
	const other = await worldOf(t, [find(1), 'That is all.']);
	const given = configOf({ maxIterations: 2, atLimit: 'answer' });
	assert.deepEqual(await agent.run(input, given, other.call()), { output: 'That is all.' });
	assert.deepEqual(
		other.sent.map(({ tool_choice }) => tool_choice),
		[undefined, 'none'],
	);
});

test('What may be spent ends the loop before the next answer', async (t) => {
	// A thousand tokens in at 1 dollar a million, a hundred out at 10: 0.002 dollars.
	const world = await worldOf(t, [find(1), find(2), 'x'], PRICES);
	await assert.rejects(
		agent.run(input, configOf({ maxCost: 0.003 }), world.call()),
		/has cost 0\.0040 US dollars, and "maxCost" is 0\.003/,
	);
	assert.equal(world.sent.length, 2);
});

test('A bound of cost is not kept by a guess: a model without a price fails', async (t) => {
	const world = await worldOf(t, [find(1), 'x']);
	await assert.rejects(agent.run(input, configOf({ maxCost: 1 }), world.call()), /cost of this model is not known/);
	assert.equal(world.sent.length, 1);
});

test('The last answer is data where a schema says so, after one repair at most', async (t) => {
	const schema = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
	const config = configOf({ output: { schema } });
	const world = await worldOf(t, [find(7), 'Graz', '{"place":"Graz"}']);
	assert.deepEqual(await agent.run(input, config, world.call()), { output: { place: 'Graz' } });
	const other = await worldOf(t, ['Graz', 'Graz', '{"place":"Graz"}']);
	await assert.rejects(agent.run(input, config, other.call()), /not JSON of the schema/);
	assert.equal(other.sent.length, 2);
});

test('The rows that it names are told to core, with their places', () => {
	assert.deepEqual(agent.uses(configOf({ toolIds: ['t'], gatewayIds: ['g', 'h'] })), [
		{ kind: 'provider', id: PROVIDER_ID, path: '/providerId' },
		{ kind: 'tool', id: 't', path: '/toolIds/0' },
		{ kind: 'gateway', id: 'g', path: '/gatewayIds/0' },
		{ kind: 'gateway', id: 'h', path: '/gatewayIds/1' },
	]);
});
