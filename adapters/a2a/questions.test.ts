// Tests of questions to the client's user: each answer is for one question, for the arguments with which it was asked, and for one run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError, type Question } from '../../core/index.ts';
import { Agent, type Any, message } from '../../test/helpers/a2a-agent.ts';
import { answered, asker, type KeptQuestion, keptQuestion } from './questions.ts';

const parameters: Any = { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] };

/** A tool that the user must confirm. */
function paying(more: object = {}) {
	const paid: number[] = [];
	const run = ({ amount }: Any) => {
		paid.push(amount);
		return { content: [], structured: { amount } };
	};
	return { paid, agent: new Agent({ tools: [{ name: 'pay', parameters, confirm: 'destructive' as const, run, ...more }] }) };
}
const stateOf = ({ status }: Any) => status.state.replace('TASK_STATE_', '');
const pay = (amount: unknown) => ({ skill: 'pay', arguments: { amount } });

test('a tool that the user must confirm waits for the client, and runs once when it says yes', async () => {
	const { agent, paid } = paying();
	for (const yes of [{ data: { run: true } }, { data: { action: 'accept', content: { run: true } } }, { text: 'Yes' }]) {
		const asked = await agent.send(pay(7));
		const [text, data] = asked.status.message.parts;
		assert.equal(stateOf(asked), 'INPUT_REQUIRED');
		assert.match(text.text, /Run the tool “pay” with these arguments\?\n.*"amount": 7/s);
		assert.deepEqual([Object.keys(data.data.question), data.data.question.schema.required], [['key', 'schema'], ['run']]);
		const before = paid.length;
		const done = await agent.sendPart(yes, { taskId: asked.id });
		assert.deepEqual([stateOf(done), paid.length - before], ['COMPLETED', 1]);
		assert.equal(await agent.code('SendMessage', { message: message([yes], { taskId: asked.id }) }), -32004, 'nobody asked again');
		assert.equal(paid.length - before, 1);
	}
	await agent.close();
});

test('anything but a yes is a no', async () => {
	const { agent, paid } = paying();
	const noes = [{ data: { run: false } }, { data: { action: 'decline' } }, { data: { action: 'cancel' } }, { data: {} }];
	for (const no of [...noes, { data: { run: 'true' } }, { text: 'no' }, { text: 'sure, go on' }]) {
		const { id: taskId } = await agent.send(pay(7));
		const ended = await agent.sendPart(no, { taskId });
		assert.deepEqual(
			[stateOf(ended), ended.status.message.parts[0].text],
			['FAILED', 'The user did not confirm the call, so the tool did not run.'],
		);
	}
	assert.deepEqual(paid, []);
	await agent.close();
});

test('a yes is for the arguments that were shown: with others, or again, it is asked for anew', async () => {
	let runs = 0;
	const run = () => {
		runs += 1;
		throw new GatewayError('validation_failed', 'Too much.', { details: [{ path: '/amount', message: 'is too much' }] });
	};
	const { agent } = paying({ run });
	const { id: taskId } = await agent.send(pay(7));
	const refused = await agent.send({ run: true }, { taskId });
	assert.deepEqual([stateOf(refused), runs], ['INPUT_REQUIRED', 1]);
	assert.match(refused.status.message.parts[0].text, /Too much/);
	for (const amount of [7, 8]) {
		const again = await agent.send({ amount }, { taskId });
		assert.deepEqual([stateOf(again), runs], ['INPUT_REQUIRED', amount - 6]);
		assert.match(again.status.message.parts[0].text, new RegExp(`Run the tool.*"amount": ${amount}`, 's'));
		await agent.send({ run: true }, { taskId });
	}
	assert.equal(runs, 3);
	await agent.close();
});

test('a call that brings the word of the user with it is asked all the same', async () => {
	const { agent, paid } = paying({ confirm: 'always', annotations: { readOnlyHint: true } });
	for (const more of [{ run: true }, { answers: { 'confirm-x': { run: true } } }, { question: { key: 'confirm' } }])
		assert.equal(stateOf(await agent.send({ ...pay(7), ...more })), 'INPUT_REQUIRED');
	const { agent: free, paid: unasked } = paying({ annotations: { readOnlyHint: true } });
	assert.equal(stateOf(await free.send(pay(1))), 'COMPLETED', 'what only reads is not destructive');
	assert.deepEqual([paid, unasked], [[], [1]]);
	await Promise.all([agent.close(), free.close()]);
});

const form = (message: string, type = 'string', key?: string): Question =>
	({ message, schema: { type: 'object', properties: { it: { type } } }, ...(key && { key }) }) as Question;
const task = (answers: object = {}): Any => ({ id: 't', contextId: 'c', content: { answers } });
const signal = new AbortController().signal;

test('questions without names are told apart by their order, and an answer to another question is none', async () => {
	const [first, second] = [form('Who?'), form('When?')];
	const asked: KeptQuestion[] = [];
	let now = task();
	assert.equal(await asker(now, asked)(first, signal), 'later');
	now = answered(now, asked[0] ?? assert.fail(), { parts: [{ text: 'me' }] } as Any);
	const ask = asker(now, asked);
	assert.deepEqual(await ask(first, signal), { action: 'accept', content: { it: 'me' } });
	assert.equal(await ask(second, signal), 'later');
	assert.deepEqual(
		asked.map(({ key }) => key),
		['question-1', 'question-2'],
	);
	assert.equal(await asker(now, asked)(form('Whom shall we pay?'), signal), 'later');
	assert.notEqual(keptQuestion(form('a', 'string', 'x'), 1).hash, keptQuestion(form('a', 'boolean', 'x'), 1).hash);
});

test('a text is read as the type of its field', () => {
	const read = (type: string, text: string): unknown => {
		const { content } = answered(task(), keptQuestion(form('?', type), 1), { parts: [{ text }] } as Any);
		return (content.answers as Any)['question-1'].answer.content.it;
	};
	assert.deepEqual([read('boolean', 'YES'), read('boolean', 'false'), read('boolean', 'maybe')], [true, false, 'maybe']);
	assert.deepEqual([read('integer', ' 7 '), read('number', '1.5'), read('integer', 'seven'), read('integer', '')], [7, 1.5, 'seven', '']);
	assert.equal(read('string', '7'), '7');
});
