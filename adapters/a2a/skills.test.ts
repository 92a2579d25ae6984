// Tests of messages that name their skill in the metadata: data and text count for it as for the skill that a task has already.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Agent, type Any, message } from '../../test/helpers/a2a-agent.ts';

const run = (args: Any) => ({ content: [], structured: args });
const [text, integer, object] = [{ type: 'string' }, { type: 'integer' }, { type: 'object' }];
const tool = (name: string, properties: Any, ...required: string[]): Any => ({
	...{ name, parameters: { type: 'object', properties, required }, run },
});
const agent = new Agent({
	tools: [tool('find', { q: text, n: integer }, 'q'), tool('other', { q: text, n: integer }, 'q'), tool('start', { arguments: object })],
});
after(() => agent.close());

const named = { metadata: { skillId: 'find' } };
/** Returns the arguments with which the tool ran. */
function ran(task: Any): [name: string, args: unknown] {
	assert.equal(task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(task.status));
	const [{ name, parts }] = task.artifacts;
	return [name, parts[0].data];
}

test('a follow-up that names its skill again keeps the earlier arguments', async () => {
	for (const further of [{ data: { q: 'x' } }, { data: { arguments: { q: 'x' } } }, { text: 'x' }, { text: 'find {"q": "x"}' }]) {
		const { id: taskId, status } = await agent.send({ n: 5 }, named);
		assert.equal(status.state, 'TASK_STATE_INPUT_REQUIRED');
		assert.deepEqual(ran(await agent.sendPart(further, { ...named, taskId })), ['find', { n: 5, q: 'x' }], JSON.stringify(further));
	}
	const { id: taskId } = await agent.send({ n: 5 }, named);
	const params = { message: message([{ data: { q: 'x' } }], { taskId }), metadata: { skillId: 'find' } };
	const { task } = await agent.result('SendMessage', params);
	assert.deepEqual(ran(task), ['find', { n: 5, q: 'x' }], 'in the metadata of the request');
});

test('a follow-up that names another skill begins with no arguments', async () => {
	const { id: taskId } = await agent.send({ n: 5 }, named);
	assert.deepEqual(ran(await agent.send({ q: 'x' }, { metadata: { skillId: 'other' }, taskId })), ['other', { q: 'x' }]);
});

test('a first message may give the arguments in each form, too', async () => {
	for (const part of [{ data: { q: 'x' } }, { data: { arguments: { q: 'x' } } }, { text: 'x' }, { text: '{"q": "x"}' }])
		assert.deepEqual(ran(await agent.sendPart(part, named)), ['find', { q: 'x' }], JSON.stringify(part));
	const data = { skill: 'other', q: 'x' };
	assert.deepEqual(ran(await agent.send(data, named)), ['find', data], 'data name no other skill');
});

test('an argument of the skill that is called `arguments` is one', async () => {
	const data = { arguments: { q: 'x' } };
	assert.deepEqual(ran(await agent.send(data, { metadata: { skillId: 'start' } })), ['start', data]);
	assert.deepEqual(ran(await agent.send({ skill: 'start', arguments: data })), ['start', data]);
});
