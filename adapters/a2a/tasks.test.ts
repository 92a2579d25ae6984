// Tests of whose tasks are seen, and of what gives way when an organization keeps the most that it may.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Call, GatewayError, type Json, type Records } from '../../core/index.ts';
import { Agent, message } from '../../test/helpers/a2a-agent.ts';
import { fakeCall } from '../../testing/index.ts';
import { artifactOf } from './artifacts.ts';
import { find, moved, newTask, open, withMessage } from './tasks.ts';

const RETENTION = { taskRetentionHours: 24 };
const fresh = (call: Call) => newTask({ contextId: 'c', state: 'TASK_STATE_WORKING', skill: 'echo', args: {}, modes: null }, call);

test('where there is no room, the tasks of the hour that ended first go, and the client comes again', async () => {
	await using fake = fakeCall();
	const { call } = fake;
	const ended = (at: string) => ({ ...moved(fresh(call), 'TASK_STATE_COMPLETED'), statusAt: at });
	const [first, same, later] = [ended('2026-01-01T10:00:00Z'), ended('2026-01-01T10:59:00Z'), ended('2026-01-01T11:00:00Z')];
	const working = { ...fresh(call), statusAt: '2026-01-01T10:00:00Z' };
	for (const task of [first, same, later, working]) await open(task, call, RETENTION);
	const put: Records['put'] = async () => {
		throw new GatewayError('conflict', 'It is full.');
	};
	// Everything but `put` is the call's own.
	const { records } = call;
	const full = new Proxy(call, { get: (of, name) => (name === 'records' ? withPut(records, put) : Reflect.get(of, name, of)) });
	await assert.rejects(open(fresh(call), full, RETENTION), { code: 'rate_limited', headers: { 'retry-after': '2' } });
	for (const { id } of [first, same]) await assert.rejects(find(id, call), { reason: 'TASK_NOT_FOUND' });
	for (const { id } of [later, working]) assert.equal((await find(id, call)).id, id);
});

const withPut = (records: Records, put: Records['put']): Records =>
	new Proxy(records, {
		get(of, name) {
			const member: unknown = name === 'put' ? put : Reflect.get(of, name, of);
			return typeof member === 'function' ? member.bind(of) : member;
		},
	});

test('callers without a credential are told of the tasks of a context that they know, and of no others', async () => {
	const agent = new Agent({ caller: { method: 'none', subject: 'anonymous', scopes: ['tools:read', 'tools:execute'] } });
	const { contextId } = await agent.send({ skill: 'words' });
	assert.equal(await agent.code('ListTasks'), -32004);
	assert.equal((await agent.result('ListTasks', { contextId })).totalSize, 1);
	await agent.close();
});

test('of a long conversation the oldest messages are dropped', async () => {
	await using fake = fakeCall();
	let task = fresh(fake.call);
	for (let index = 0; index < 5; index++)
		task = withMessage(task, { messageId: String(index), role: 'ROLE_USER', parts: [{ text: 'x'.repeat(250_000) }] });
	assert.deepEqual(
		task.content.history.map(({ messageId }) => messageId),
		['3', '4'],
	);
});

test('a task keeps the result of large arguments; the messages that have no room beside it are dropped', async () => {
	const agent = new Agent();
	const task = await agent.send({ skill: 'echo', arguments: { text: 'x'.repeat(500_000) } });
	assert.equal(task.state ?? task.status.state, 'TASK_STATE_COMPLETED');
	assert.equal((await agent.result('GetTask', { id: task.id })).artifacts[0].parts[0].data.text.length, 500_000);
	await agent.close();
});

test('what the messages of a task bring together is bounded, and the client is told which field is too large', async () => {
	const agent = new Agent();
	const { id: taskId } = await agent.send({ skill: 'echo', arguments: { a: 'x'.repeat(400_000) } });
	const { error } = await agent.rpc('SendMessage', { message: message([{ data: { b: 'x'.repeat(400_000) } }], { taskId }) });
	assert.deepEqual([error.code, error.data[1].fieldViolations[0].field], [-32602, '/params/message/parts']);
	assert.equal((await agent.send({ text: 'short' }, { taskId })).status.state, 'TASK_STATE_COMPLETED');
	await agent.close();
});

test('of a failure in megabytes the beginning is told', async () => {
	const run = () => ({ content: [{ type: 'text' as const, text: 'x'.repeat(3_000_000) }], isError: true });
	const agent = new Agent({ tools: [{ name: 'fails', parameters: { type: 'object' }, run }] });
	const { status } = await agent.send({ skill: 'fails' });
	assert.equal(status.state, 'TASK_STATE_FAILED');
	assert.ok(status.message.parts[0].text.length < 100_000);
	await agent.close();
});

test('an artifact has data once, and the label of a result that was cut', () => {
	const partsOf = (structured: Json, ...texts: string[]) =>
		artifactOf({ content: texts.map((text) => ({ type: 'text' as const, text })), structured }, { id: 'a', name: 'a', modes: null }).parts;
	const label = '[Cut: the first 10 of 20 bytes. Ask for less.]';
	for (const [data, text] of [
		[{ a: 1 }, '{"a":1}'],
		[{}, '{ }'],
		[[{ a: 1 }], '[{"a":1}]'],
		[[-1], '[ -1 ]'],
	] as [Json, string][]) {
		const [part, ...others] = partsOf(data, text, label);
		assert.deepEqual([part?.data, others.map((one) => one.text)], [data, [label]]);
	}
});
