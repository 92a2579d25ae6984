// Tests of messages that are refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Call, GatewayError } from '../../core/index.ts';
import { Agent, type Any, message, TOOLS } from '../../test/helpers/a2a-agent.ts';
import { fakeCall } from '../../testing/index.ts';
import a2a from './index.ts';
import { readSending, take } from './sending.ts';
import { find } from './tasks.ts';

const ECHO = { skill: 'echo', arguments: { text: 'hello' } };
const url = 'http://127.0.0.1:8080/';
const stateOf = ({ status }: Any) => status.state.replace('TASK_STATE_', '');

/** An object of core with other members in place of its own. */
const like = <T extends object>(one: T, other: Partial<T>): T =>
	new Proxy(one, {
		get(of, name) {
			if (Object.hasOwn(other, name)) return Reflect.get(other, name);
			const member: unknown = Reflect.get(of, name, of);
			return typeof member === 'function' ? member.bind(of) : member;
		},
	});

test('a message whose receiver is refused leaves its task where it was', async () => {
	const agent = new Agent();
	const { id: taskId } = await agent.send({ skill: 'echo' });
	for (let at = 0; at < 10; at++) await agent.result('CreateTaskPushNotificationConfig', { taskId, url });
	const params = { message: message([{ data: ECHO }], { taskId }), configuration: { taskPushNotificationConfig: { url } } };
	assert.equal(await agent.code('SendMessage', params), -32602);
	assert.equal(stateOf(await agent.result('GetTask', { id: taskId })), 'INPUT_REQUIRED');
	assert.equal(stateOf(await agent.send(ECHO, { taskId })), 'COMPLETED');
	await agent.close();
});

test('a message that is refused leaves no receiver', async () => {
	const agent = new Agent();
	const { id: taskId } = await agent.send(ECHO);
	const params = { message: message([{ data: ECHO }], { taskId }), configuration: { taskPushNotificationConfig: { url } } };
	assert.equal(await agent.code('SendMessage', params), -32004);
	assert.deepEqual((await agent.result('ListTaskPushNotificationConfigs', { taskId })).configs, []);
	await agent.close();
});

test('a message for whose work there is no room leaves its task where it was, and may be sent again', async () => {
	await using fake = fakeCall({ plugin: a2a as Any, tools: TOOLS });
	const send = async (call: Call, data: object, more: object = {}) => {
		const asked: Any = {
			params: { message: message([{ data }], more) },
			at: '/params',
			protocol: '1.0',
			config: { taskRetentionHours: 24 },
			call,
		};
		return take(await readSending(asked), asked, true);
	};
	const { task } = await send(fake.call, { skill: 'echo' });
	const add = async () => {
		throw new GatewayError('rate_limited', 'There are too many jobs.');
	};
	const full = like(fake.call, { jobs: like(fake.call.jobs, { add }) });
	await assert.rejects(send(full, ECHO, { taskId: task.id }), { code: 'rate_limited' });
	const after = await find(task.id, fake.call);
	assert.deepEqual([after.state, after.content], [task.state, task.content]);
	const { jobId } = await send(fake.call, ECHO, { taskId: task.id });
	assert.ok(jobId);
});
