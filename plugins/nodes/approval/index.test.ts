// The question that is asked, and what follows a rejection.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type Json, type NodeCall, type Suspension } from '../../../core/index.ts';
import approval from './index.ts';

const input = { input: {}, from: [] };

function callThatAnswers(answer: Json) {
	const asked: Suspension[] = [];
	const suspend: NodeCall['suspend'] = async (question) => {
		asked.push(question);
		return answer;
	};
	return { asked, call: { fill: (value: Json) => value, suspend } as unknown as NodeCall };
}

test('The question has the message, a form that needs a decision, and those who may answer', async () => {
	const { asked, call } = callThatAnswers({ approved: true });
	const approvers = { roles: ['owner' as const], emails: ['Ada@Example.com'] };
	const { value } = approval.config.validate({ message: 'Pay?', approvers, timeoutMs: 5000 });
	await approval.run(input, value, call);
	const [{ message = '', schema = {}, ...rest } = {}] = asked;
	assert.deepEqual([message, schema['required']], ['Pay?', ['approved']]);
	assert.deepEqual(rest, { timeoutMs: 5000, approvers: { roles: ['owner'], emails: ['ada@example.com'] } });
});

test('A message that is a placeholder of nothing is empty, and one of an object is its JSON', async () => {
	for (const [filled, shown] of [
		[null, ''],
		[{ price: 3 }, '{"price":3}'],
	] as const) {
		const { asked, call } = callThatAnswers({ approved: true });
		const { value } = approval.config.validate({ message: '{{input.what}}' });
		await approval.run(input, value, { ...call, fill: () => filled });
		assert.equal(asked[0]?.message, shown);
	}
});

test('A rejection makes the node fail unless something else is said', async () => {
	const { call } = callThatAnswers({ approved: false });
	const { value } = approval.config.validate({ message: 'Pay?' });
	await assert.rejects(approval.run(input, value, call), (error) => asGatewayError(error)?.code === 'forbidden');
});

test('A form without `approved` rejects nothing', async () => {
	const { call } = callThatAnswers({ amount: 3 });
	const schema = { type: 'object', properties: { amount: { type: 'number' } } };
	const { value } = approval.config.validate({ message: 'How much?', schema });
	assert.deepEqual(await approval.run(input, value, call), { output: { amount: 3 } });
});
