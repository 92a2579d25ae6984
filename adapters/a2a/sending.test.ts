// Tests of messages that are refused, and of members that are null.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type Call, GatewayError } from '../../core/index.ts';
import { Agent, type Any, like, message, TOOLS } from '../../test/helpers/a2a-agent.ts';
import { fakeCall } from '../../testing/index.ts';
import a2a from './index.ts';
import { readSending, take } from './sending.ts';
import { find } from './tasks.ts';
import { cancel } from './work.ts';

const ECHO = { skill: 'echo', arguments: { text: 'hello' } };
const url = 'http://127.0.0.1:8080/';
const stateOf = ({ status }: Any) => status.state.replace('TASK_STATE_', '');

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

async function send(call: Call, data: object, more: object = {}) {
	const asked: Any = {
		params: { message: message([{ data }], more) },
		at: '/params',
		protocol: '1.0',
		config: { taskRetentionHours: 24 },
		call,
	};
	return take(await readSending(asked), asked, true);
}

test('a message for whose work there is no room leaves its task where it was, and may be sent again', async () => {
	await using fake = fakeCall({ plugin: a2a as Any, tools: TOOLS });
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

test('a task that is set to work just before it is cancelled is cancelled with its work', async () => {
	await using fake = fakeCall({ plugin: a2a as Any, tools: TOOLS, jobs: 'by hand' });
	const { task } = await send(fake.call, { skill: 'echo' });
	const { jobId } = await send(fake.call, ECHO, { taskId: task.id });
	// The one who cancels has read the task before that.
	const after = await cancel(task, { call: fake.call, retention: { taskRetentionHours: 24 } });
	assert.equal(after?.state, 'TASK_STATE_CANCELED');
	assert.equal((await fake.call.jobs.get(jobId ?? ''))?.status, 'cancelled');
});

test('null is the same as what is left out', async () => {
	const agent = new Agent();
	const none = { contextId: null, taskId: null, metadata: null, extensions: null, referenceTaskIds: null };
	const part = { text: 'words', raw: null, url: null, data: null, mediaType: null, filename: null, metadata: null };
	const sent = await agent.result('SendMessage', { message: message([part], none), configuration: null, metadata: null });
	assert.equal(stateOf(sent.task), 'COMPLETED');
	assert.equal(stateOf(await agent.send({ skill: 'words', arguments: null })), 'COMPLETED');
	assert.ok((await agent.raw({ jsonrpc: '2.0', id: 7, method: 'ListTasks', params: null }, { 'a2a-version': '1.0' })).body.result.tasks);
	await agent.close();
});

test('null is the same as what is left out in 0.3, and a configuration that is none is named by its place', async () => {
	const agent = new Agent();
	const send = (configuration: object, part: object = { kind: 'data', data: ECHO, metadata: null }) =>
		agent.rpc('message/send', { message: { messageId: randomUUID(), role: 'user', kind: 'message', parts: [part] }, configuration }, {});
	const none = { acceptedOutputModes: null, historyLength: null, blocking: null, pushNotificationConfig: null };
	assert.equal((await send(none)).result.status.state, 'completed');
	assert.equal((await send({}, { kind: 'file', file: { bytes: null, uri: url } })).error.code, -32005);
	const { error } = await send({ pushNotificationConfig: 'x' });
	assert.equal(error.data[1].fieldViolations[0].field, '/params/configuration/pushNotificationConfig');
	await agent.close();
});

test('the history has the message as it was sent, without the defaults that the tool got', async () => {
	const parameters: Any = { type: 'object', properties: { n: { type: 'integer' }, unit: { type: 'string', default: 'kg' } } };
	const agent = new Agent({ tools: [{ name: 'weigh', parameters, run: (args: Any) => ({ content: [], structured: args }) }] });
	const data = { skill: 'weigh', arguments: { n: 1 } };
	const { artifacts, history } = await agent.send(data);
	assert.deepEqual(artifacts[0].parts[0].data, { n: 1, unit: 'kg' });
	assert.deepEqual(history[0].parts[0].data, data);
	await agent.close();
});
