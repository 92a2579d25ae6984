// An agent as a tool: its output, its questions, and the call that finds its run again.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type AgentQuestion, type AgentRuns, asGatewayError, GatewayError, type Json, type JsonObject } from '../../../core/index.ts';
import { type FakeCallOptions, fakeCall } from '../../../testing/fake-call.ts';
import agent from './index.ts';

const AGENT = '00000000-0000-4000-8000-0000000000cc';
const CONFIG = { agentId: AGENT, timeoutMs: 60_000 };
const FORM = { type: 'object', properties: { approved: { type: 'boolean' }, comment: { type: 'string' } }, required: ['approved'] };
const QUESTION: AgentQuestion = { executionId: 'e1', key: 'ask', message: 'Pay 5?', schema: FORM, isRestricted: false };

/** An agent that asks one question and gives its answer as output. */
function asking(question: Partial<AgentQuestion> = {}) {
	const runs: { input: Json; resume?: string | undefined }[] = [];
	const agents: AgentRuns = {
		async run(_agentId, input, { resume, answer } = {}) {
			runs.push({ input, resume });
			const given = await answer?.({ ...QUESTION, ...question });
			if (given === null || given === undefined) throw new GatewayError('conflict', 'It waits for an approval.');
			return { given };
		},
	};
	return { agents, runs };
}

function callOf(t: TestContext, options: FakeCallOptions) {
	const fake = fakeCall({ plugin: agent, ...options });
	t.after(() => fake.close());
	return fake.call;
}

const agentsThatGive = (output: Json): AgentRuns => ({ run: async () => output });

const OUTPUTS: [output: Json, text: string, structured: Json | undefined][] = [
	['Hello', 'Hello', undefined],
	[{ a: [1] }, '{"a":[1]}', { a: [1] }],
	[null, 'null', null],
];

for (const [output, text, structured] of OUTPUTS)
	test(`The output ${JSON.stringify(output)} is a result`, async (t) => {
		const result = await agent.execute({}, CONFIG, callOf(t, { agents: agentsThatGive(output) }));
		assert.deepEqual(result, { content: [{ type: 'text', text }], ...(structured !== undefined && { structured }) });
	});

test('The user of the client is asked, and the answer goes to the run', async (t) => {
	const { agents } = asking();
	const asked: JsonObject[] = [];
	const call = callOf(t, {
		agents,
		ask: async ({ message, schema }) => {
			asked.push({ message, fields: Object.keys(schema.properties) });
			return { action: 'accept', content: { approved: true } };
		},
	});
	const { structured } = await agent.execute({}, CONFIG, call);
	assert.deepEqual(structured, { given: { approved: true } });
	assert.deepEqual(asked, [{ message: 'Pay 5?', fields: ['approved', 'comment'] }]);
});

test('A user who declines rejects, where the form can say so, and else ends the run', async (t) => {
	const ask = async () => ({ action: 'decline' as const });
	const { structured } = await agent.execute({}, CONFIG, callOf(t, { agents: asking().agents, ask }));
	assert.deepEqual(structured, { given: { approved: false } });
	const { agents } = asking({ schema: { type: 'object', properties: { amount: { type: 'number' } } } });
	await assert.rejects(agent.execute({}, CONFIG, callOf(t, { agents, ask })), (error) => asGatewayError(error)?.code === 'forbidden');
});

const NOT_HERE: [what: string, question: Partial<AgentQuestion>, canAsk: boolean][] = [
	['a client that cannot ask', {}, false],
	['a question for some members', { isRestricted: true }, true],
	['a form with nesting', { schema: { type: 'object', properties: { a: { type: 'object' } } } }, true],
	[
		'a form with rules that a client does not know',
		{ schema: { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } } },
		true,
	],
];

for (const [what, question, canAsk] of NOT_HERE)
	test(`${what} leaves the run waiting, and nobody is asked`, async (t) => {
		const { agents } = asking(question);
		const ask = async () => assert.fail('it asked');
		const call = callOf(t, { agents, ...(canAsk && { ask }) });
		await assert.rejects(agent.execute({}, CONFIG, call), /It waits for an approval/);
	});

test('The same call finds the run again that waits; another call, another caller and one after the end do not', async (t) => {
	const { agents, runs } = asking();
	let answers = false;
	const options: FakeCallOptions = { agents, ask: async () => (answers ? { action: 'accept', content: { approved: true } } : 'later') };
	const call = callOf(t, options);
	await assert.rejects(agent.execute({ n: 1 }, CONFIG, call));
	answers = true;
	await agent.execute({ n: 2 }, CONFIG, call);
	await agent.execute({ n: 1 }, CONFIG, call);
	await agent.execute({ n: 1 }, CONFIG, call);
	assert.deepEqual(
		runs.map(({ input, resume }) => [input, resume ?? null]),
		[
			[{ n: 1 }, null],
			[{ n: 2 }, null],
			[{ n: 1 }, 'e1'],
			[{ n: 1 }, null],
		],
	);
});

test('A run that failed, or was left, is found by no further call', async (t) => {
	const runs: (string | undefined)[] = [];
	const faults = [null, new GatewayError('upstream_failed', 'It was rejected.'), new Error('It was cancelled.')];
	const agents: AgentRuns = {
		async run(_agentId, _input, { resume, answer } = {}) {
			const fault = faults[runs.push(resume) - 1] ?? null;
			if (fault === null) await answer?.(QUESTION);
			throw fault ?? new GatewayError('conflict', 'It waits for an approval.');
		},
	};
	const call = callOf(t, { agents, ask: async () => 'later' });
	for (let time = 0; time < 4; time++) await assert.rejects(agent.execute({ n: 1 }, CONFIG, call));
	assert.deepEqual(runs, [undefined, 'e1', undefined, undefined]);
	await assert.rejects(agent.execute({ n: 1 }, CONFIG, call));
	assert.equal(runs.at(-1), 'e1', 'the next one that waits is found');
});

test('Callers without a name share no run', async (t) => {
	const { agents, runs } = asking();
	const call = callOf(t, { agents, caller: { subject: 'anonymous' } });
	for (let time = 0; time < 2; time++) await assert.rejects(agent.execute({}, CONFIG, call));
	assert.deepEqual(
		runs.map(({ resume }) => resume),
		[undefined, undefined],
	);
});
