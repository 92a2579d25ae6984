// The requirements of A2A 1.0 as its test kit names them, one small test each.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { asGatewayError } from '../../core/index.ts';
import { Agent, type Any, message, TOOLS } from '../../test/helpers/a2a-agent.ts';

const ECHO = { skill: 'echo', arguments: { text: 'hello' } };
const NOW = { returnImmediately: true };
const waiting = async (agent: Agent): Promise<string> => (await agent.send({ skill: 'waits' }, {}, NOW)).id;

const REQUIREMENTS: Record<string, (agent: Agent) => Promise<unknown>> = {
	async 'CORE-SEND-001 a message is answered with a task'(agent) {
		const { id, contextId, status, artifacts, history } = await agent.send(ECHO);
		assert.deepEqual([typeof id, typeof contextId, status.state], ['string', 'string', 'TASK_STATE_COMPLETED']);
		assert.match(status.timestamp, /Z$/);
		const parts = [{ data: { text: 'hello' }, mediaType: 'application/json' }];
		assert.deepEqual(artifacts, [{ artifactId: 'turn-1', name: 'echo', parts }]);
		assert.deepEqual([history[0].taskId, history[0].role], [id, 'ROLE_USER']);
	},
	async 'CORE-SEND-002 a message without what it needs is refused, with its field'(agent) {
		const bad: [object, string][] = [
			[{}, '/params/message'],
			[{ message: message([]) }, '/params/message/parts'],
			[{ message: message([{}]) }, '/params/message/parts/0'],
			[{ message: message([{ text: 'a', data: {} }]) }, '/params/message/parts/0'],
			[{ message: message([{ text: 1 }]) }, '/params/message/parts/0/text'],
			[{ message: { ...message([{ text: 'a' }]), messageId: '' } }, '/params/message/messageId'],
			[{ message: message([{ text: 'a' }], { role: 'ROLE_AGENT' }) }, '/params/message/role'],
			[{ message: message([{ text: 'a' }]), configuration: { historyLength: -1 } }, '/params/configuration/historyLength'],
			[{ message: message([{ text: 'a' }]), configuration: { returnImmediately: 1 } }, '/params/configuration/returnImmediately'],
		];
		for (const [params, field] of bad) {
			const { error } = await agent.rpc('SendMessage', params);
			assert.deepEqual([error.code, error.data[1].fieldViolations[0].field], [-32602, field]);
		}
	},
	async 'CORE-SEND-003 media that no skill takes are refused'(agent) {
		for (const part of [
			{ raw: 'AAAA', mediaType: 'image/png' },
			{ url: 'https://a.example/b' },
			{ data: {}, mediaType: 'application/xml' },
			{ raw: 'AAAA' },
		])
			assert.equal(await agent.code('SendMessage', { message: message([part]) }), -32005);
	},
	async 'SEND every form that names a skill is understood'(agent) {
		const data = { text: 'hello' };
		const forms: [object[], object?][] = [
			[[{ data: ECHO }]],
			[[{ data: { tool: 'echo', arguments: data } }]],
			[[{ data: { name: 'echo', arguments: data } }]],
			[[{ data }], { metadata: { skillId: 'echo' } }],
			[[{ text: JSON.stringify(ECHO) }]],
			[[{ text: 'echo {"text": "hello"}' }]],
			[[{ raw: Buffer.from(JSON.stringify(ECHO)).toString('base64'), mediaType: 'application/json' }]],
		];
		for (const [parts, more] of forms) {
			const { task } = await agent.result('SendMessage', { message: message(parts, more) });
			assert.equal(task.artifacts?.[0].parts[0].data.text, 'hello', JSON.stringify(parts));
		}
		const { task } = await agent.result('SendMessage', { message: message([{ data }]), metadata: { skillId: 'echo' } });
		assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
	},
	async 'SEND an unknown skill is rejected, a tool that fails fails'(agent) {
		assert.equal((await agent.send({ skill: 'none' })).status.state, 'TASK_STATE_REJECTED');
		const { status } = await agent.send({ skill: 'fails' });
		assert.deepEqual([status.state, status.message.role, status.message.parts[0].text], ['TASK_STATE_FAILED', 'ROLE_AGENT', 'no luck']);
	},
	async 'SEND artifacts have the type of what the tool returned'(agent) {
		const parts = async (skill: string, configuration?: object) => (await agent.send({ skill }, {}, configuration)).artifacts[0].parts;
		assert.deepEqual(await parts('words'), [{ text: 'two words', mediaType: 'text/plain' }]);
		assert.deepEqual(await parts('picture'), [{ raw: 'AAAA', mediaType: 'image/png' }]);
		const { artifacts } = await agent.send(ECHO, {}, { acceptedOutputModes: ['text/plain'] });
		assert.deepEqual(artifacts[0].parts, [{ text: '{"text":"hello"}', mediaType: 'text/plain' }]);
		const [{ data }] = await parts('large');
		assert.equal(data.text.length, 700_000, 'in pieces');
	},
	async 'STREAM-001 a stream begins with the task and ends with its last status'(agent) {
		const events = await agent.events('SendStreamingMessage', { message: message([{ data: ECHO }]) });
		assert.equal(events[0].task.status.state, 'TASK_STATE_SUBMITTED');
		const { id: taskId, contextId } = events[0].task;
		const { statusUpdate } = events.at(-1);
		assert.deepEqual([statusUpdate.taskId, statusUpdate.contextId, statusUpdate.status.state], [taskId, contextId, 'TASK_STATE_COMPLETED']);
	},
	async 'STREAM-002 artifacts come before the end, with their last chunk'(agent) {
		const { artifactUpdate } = (await agent.events('SendStreamingMessage', { message: message([{ data: ECHO }]) })).at(-2);
		assert.deepEqual([artifactUpdate.lastChunk, artifactUpdate.artifact.parts[0].data], [true, { text: 'hello' }]);
	},
	async 'STREAM-003 a stream of a task that waits for its client ends there'(agent) {
		const events = await agent.events('SendStreamingMessage', { message: message([{ data: { skill: 'echo' } }]) });
		assert.equal(events.at(-1).statusUpdate.status.state, 'TASK_STATE_INPUT_REQUIRED');
		const { id } = events[0].task;
		const again = await agent.events('SubscribeToTask', { id });
		assert.deepEqual(
			again.map((event) => event.task?.status.state),
			['TASK_STATE_INPUT_REQUIRED'],
		);
	},
	async 'STREAM subscribing to a task that has ended, or is none, is refused'(agent) {
		assert.equal(await agent.code('SubscribeToTask', { id: (await agent.send(ECHO)).id }), -32004);
		assert.equal(await agent.code('SubscribeToTask', { id: randomUUID() }), -32001);
	},
	async 'CORE-GET-001 a task is got as it is'(agent) {
		const task = await agent.send(ECHO);
		assert.deepEqual(await agent.result('GetTask', { id: task.id }), task);
	},
	async 'CORE-GET-002 a task that is not there is not found'(agent) {
		for (const id of [randomUUID(), '../x', 'x'.repeat(256)]) assert.equal(await agent.code('GetTask', { id }), -32001);
		for (const id of ['', 7, null]) assert.equal(await agent.code('GetTask', { id }), -32602);
	},
	async 'CORE-LIST-001 the last changed comes first'(agent) {
		const ids = [(await agent.send(ECHO)).id, (await agent.send(ECHO)).id, (await agent.send(ECHO)).id];
		const { tasks } = await agent.result('ListTasks');
		assert.deepEqual(new Set(tasks.map(({ id }: Any) => id)), new Set(ids));
		const times = tasks.map(({ status }: Any) => status.timestamp);
		assert.deepEqual(times, times.toSorted().reverse());
	},
	async 'CORE-LIST-002 pages follow each other by their tokens'(agent) {
		for (let index = 0; index < 3; index++) await agent.send(ECHO);
		const first = await agent.result('ListTasks', { pageSize: 2 });
		const second = await agent.result('ListTasks', { pageSize: 2, pageToken: first.nextPageToken });
		assert.deepEqual([first.tasks.length, second.tasks.length, first.totalSize], [2, 1, 3]);
		assert.equal(new Set([...first.tasks, ...second.tasks].map(({ id }) => id)).size, 3);
		assert.equal(await agent.code('ListTasks', { pageToken: 'nonsense' }), -32602);
		assert.equal(await agent.code('ListTasks', { pageToken: first.nextPageToken, contextId: 'other' }), -32602, 'of another list');
	},
	async 'CORE-LIST-003 nextPageToken is empty on the last page, and always there'(agent) {
		assert.deepEqual(await agent.result('ListTasks'), { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
		assert.equal((await agent.rest('GET', '/tasks')).body.nextPageToken, '');
	},
	async 'CORE-LIST-004 artifacts are left out unless asked for'(agent) {
		await agent.send(ECHO);
		const at = async (params: object) => (await agent.result('ListTasks', params)).tasks[0];
		assert.equal((await at({})).artifacts, undefined);
		assert.equal((await at({ includeArtifacts: true })).artifacts.length, 1);
		assert.equal((await at({ historyLength: 5 })).history.length, 1);
	},
	async 'CORE-LIST-005 filters are by context, status and time, and bad ones are refused'(agent) {
		const { contextId } = await agent.send(ECHO);
		await agent.send({ skill: 'fails' });
		const count = async (params: object) => (await agent.result('ListTasks', params)).totalSize;
		assert.deepEqual(
			[await count({ contextId }), await count({ status: 'TASK_STATE_FAILED' }), await count({ contextId: 'none' })],
			[1, 1, 0],
		);
		const past = { statusTimestampAfter: new Date(Date.now() - 60_000).toISOString() };
		const future = { statusTimestampAfter: new Date(Date.now() + 3_600_000).toISOString() };
		assert.deepEqual([await count(past), await count(future)], [2, 0]);
		const bad = [
			{ statusTimestampAfter: 'yesterday' },
			{ statusTimestampAfter: '2026-13-01T00:00:00Z' },
			{ status: 'DONE' },
			{ pageSize: 0 },
		];
		for (const params of [
			...bad,
			{ pageSize: 101 },
			{ pageSize: 1.5 },
			{ historyLength: -1 },
			{ contextId: 7 },
			{ includeArtifacts: 'yes' },
		])
			assert.equal(await agent.code('ListTasks', params), -32602, JSON.stringify(params));
		for (const query of ['pageSize=x', 'status=DONE', 'statusTimestampAfter=1', 'includeArtifacts=1', 'historyLength=-1'])
			assert.equal((await agent.rest('GET', '/tasks', { query })).status, 400, query);
	},
	async 'CORE-CANCEL-001 a task at work is cancelled'(agent) {
		const id = await waiting(agent);
		assert.equal((await agent.result('CancelTask', { id })).status.state, 'TASK_STATE_CANCELED');
		assert.equal((await agent.result('GetTask', { id })).status.state, 'TASK_STATE_CANCELED');
	},
	async 'CORE-CANCEL-002 a task that is not there is not found'(agent) {
		assert.equal(await agent.code('CancelTask', { id: randomUUID() }), -32001);
	},
	async 'CORE-CANCEL-003 a task that has ended cannot be cancelled; one that waits can'(agent) {
		assert.equal(await agent.code('CancelTask', { id: (await agent.send(ECHO)).id }), -32002);
		const { id } = await agent.send({ skill: 'echo' });
		assert.equal((await agent.result('CancelTask', { id })).status.state, 'TASK_STATE_CANCELED');
	},
	async 'EXECUTION-MODE-001 a message waits for the end'(agent) {
		assert.equal((await agent.send(ECHO)).status.state, 'TASK_STATE_COMPLETED');
	},
	async 'EXECUTION-MODE-002 returnImmediately does not'(agent) {
		const { id, status } = await agent.send({ skill: 'waits' }, {}, NOW);
		assert.ok(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'].includes(status.state));
		await agent.result('CancelTask', { id });
	},
	async 'CAP-001 to 004 what the card declares is served, and nothing is refused as unsupported'(agent) {
		const { body } = await agent.rest('GET', '/.well-known/agent-card.json', { headers: { 'a2a-version': '1.0' } });
		assert.deepEqual([body.capabilities.streaming, body.capabilities.pushNotifications], [true, true]);
		const { id } = await agent.send(ECHO);
		assert.deepEqual(await agent.result('ListTaskPushNotificationConfigs', { taskId: id }), { configs: [], nextPageToken: '' });
		assert.equal(body.capabilities.extendedAgentCard, true);
		assert.deepEqual((await agent.result('GetExtendedAgentCard')).skills, body.skills);
	},
	async 'MULTI-001 and 002 a context is made up, or is the client’s'(agent) {
		assert.match((await agent.send(ECHO)).contextId, /^[0-9a-f-]{36}$/);
		assert.equal((await agent.send(ECHO, { contextId: 'mine' })).contextId, 'mine');
	},
	async 'MULTI-003 a follow-up keeps task and context, and completes the arguments'(agent) {
		const { id, contextId, status } = await agent.send({ skill: 'echo' });
		assert.equal(status.state, 'TASK_STATE_INPUT_REQUIRED');
		assert.match(JSON.stringify(status.message.parts[1].data.errors), /text/);
		const done = await agent.send({ text: 'there' }, { taskId: id });
		assert.deepEqual([done.id, done.contextId, done.artifacts[0].parts[0].data], [id, contextId, { text: 'there' }]);
		const { id: other } = await agent.send({ skill: 'echo' });
		const { task } = await agent.result('SendMessage', { message: message([{ text: 'by a text' }], { taskId: other }) });
		assert.deepEqual(task.artifacts[0].parts[0].data, { text: 'by a text' });
	},
	async 'MULTI-004 a context that is not that of the task is refused'(agent) {
		const { id } = await agent.send({ skill: 'echo' });
		assert.equal(await agent.code('SendMessage', { message: message([{ data: ECHO }], { taskId: id, contextId: 'other' }) }), -32602);
	},
	async 'MULTI-005 a task that is not there is not gone on with'(agent) {
		assert.equal(await agent.code('SendMessage', { message: message([{ data: ECHO }], { taskId: randomUUID() }) }), -32001);
	},
	async 'MULTI-006 a task that has ended, or is at work, takes no message'(agent) {
		for (const taskId of [(await agent.send(ECHO)).id, await waiting(agent)])
			assert.equal(await agent.code('SendMessage', { message: message([{ data: ECHO }], { taskId }) }), -32004);
	},
	async 'MULTI a message without a skill is told which ones there are'(agent) {
		const { id, status } = await agent.send({ hello: 1 });
		assert.equal(status.state, 'TASK_STATE_INPUT_REQUIRED');
		assert.deepEqual(
			status.message.parts[1].data.skills.map((one: Any) => one.id),
			TOOLS.map(({ name }) => name),
		);
		const { task } = await agent.result('SendMessage', { message: message([{ text: 'words' }], { taskId: id }) });
		assert.equal(task.status.state, 'TASK_STATE_COMPLETED', 'its name is enough');
	},
	async 'HIST-001 to 006 as many messages as were asked for, in every method'(agent) {
		const { id } = await agent.send({ skill: 'echo' });
		await agent.send({ text: 'x' }, { taskId: id });
		const lengths = async (historyLength?: number) => (await agent.result('GetTask', { id, historyLength })).history?.length ?? 0;
		assert.deepEqual([await lengths(), await lengths(0), await lengths(1), await lengths(2), await lengths(99)], [3, 0, 1, 2, 3]);
		assert.equal(await agent.code('GetTask', { id, historyLength: -1 }), -32602);
		assert.equal(await agent.code('GetTask', { id, historyLength: 'all' }), -32602);
		assert.equal((await agent.send(ECHO, {}, { historyLength: 0 })).history, undefined);
	},
	async 'PUSH a configuration is made, got, listed and removed, and never tells its secrets'(agent) {
		const taskId = await waiting(agent);
		const url = 'http://127.0.0.1:8099/hook';
		const given = { taskId, id: 'a', url, token: 'secret-token', authentication: { scheme: 'Bearer', credentials: 'secret-credentials' } };
		const shown = { id: 'a', taskId, url, authentication: { scheme: 'Bearer' } };
		assert.deepEqual(await agent.result('CreateTaskPushNotificationConfig', given), shown);
		assert.deepEqual(await agent.result('GetTaskPushNotificationConfig', { taskId, id: 'a' }), shown);
		const created = await agent.rest('POST', '/tasks/{id}/pushNotificationConfigs', { params: { id: taskId }, body: { url } });
		assert.equal(created.status, 201);
		assert.equal((await agent.result('ListTaskPushNotificationConfigs', { taskId })).configs.length, 2);
		const path = '/tasks/{id}/pushNotificationConfigs/{config}';
		assert.equal((await agent.rest('DELETE', path, { params: { id: taskId, config: 'a' } })).status, 204);
		assert.equal(await agent.code('GetTaskPushNotificationConfig', { taskId, id: 'a' }), -32001);
		assert.equal(await agent.code('GetTaskPushNotificationConfig', { taskId: randomUUID(), id: 'a' }), -32001);
		for (const config of [{}, { url: 'nonsense' }, { url, token: 'a\nb' }, { url, authentication: { scheme: 'a b', credentials: 'x' } }])
			assert.equal(await agent.code('CreateTaskPushNotificationConfig', { taskId, ...config }), -32602, JSON.stringify(config));
		for (let index = 0; index < 9; index++) await agent.result('CreateTaskPushNotificationConfig', { taskId, url });
		assert.equal(await agent.code('CreateTaskPushNotificationConfig', { taskId, url }), -32602, 'the eleventh');
		await agent.result('CancelTask', { id: taskId });
	},
	async 'RPC what is no request is refused by its kind, with the id if there is one'(agent) {
		const bad: [unknown, number, unknown][] = [
			['{', -32700, null],
			['', -32700, null],
			[[], -32600, null],
			[{ id: 1, method: 'GetTask' }, -32600, 1],
			[{ jsonrpc: '1.0', id: 'a', method: 'GetTask' }, -32600, 'a'],
			[{ jsonrpc: '2.0', id: 1 }, -32600, 1],
			[{ jsonrpc: '2.0', id: 1, method: 7 }, -32600, 1],
			[{ jsonrpc: '2.0', method: 'GetTask' }, -32600, null],
			[{ jsonrpc: '2.0', id: {}, method: 'GetTask' }, -32600, null],
		];
		for (const [body, code, id] of bad) {
			const { status, body: told } = await agent.raw(body);
			assert.deepEqual([status, told.error.code, told.id], [400, code, id], JSON.stringify(body));
		}
		const { status, body } = await agent.raw({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: [] });
		assert.deepEqual([status, body.error.code], [200, -32602]);
		assert.equal(await agent.code('Nonsense'), -32601);
	},
	async 'VERSION the header decides, else the query, else the method'(agent) {
		const both = ['SendMessage', 'message/send'];
		const codes = async (headers: object) => Promise.all(both.map(async (method) => (await agent.rpc(method, {}, headers)).error.code));
		assert.deepEqual(await codes({}), [-32602, -32602]);
		assert.deepEqual(await codes({ 'a2a-version': '1.0' }), [-32602, -32601]);
		assert.deepEqual(await codes({ 'a2a-version': '1.0.7' }), [-32602, -32601]);
		assert.deepEqual(await codes({ 'a2a-version': '0.3' }), [-32601, -32602]);
		assert.deepEqual(await codes({ 'a2a-version': '2.0' }), [-32009, -32009]);
		assert.equal((await agent.rest('GET', '/tasks', { query: 'A2A-Version=9' })).body.error.details[0].reason, 'VERSION_NOT_SUPPORTED');
		assert.equal((await agent.rest('GET', '/tasks', { headers: { 'a2a-version': '0.3' } })).status, 400);
	},
	async 'REST errors have the status and the reason of their kind'(agent) {
		const missing = await agent.rest('GET', '/tasks/{id}', { params: { id: randomUUID() } });
		assert.deepEqual([missing.status, missing.body.error.status, missing.body.error.code], [404, 'NOT_FOUND', 404]);
		const [info] = missing.body.error.details;
		assert.deepEqual([info.reason, info.domain], ['TASK_NOT_FOUND', 'a2a-protocol.org']);
		const broken = await agent.rest('POST', '/message:send', { body: '{' });
		assert.deepEqual([broken.status, broken.body.error.status], [400, 'INVALID_ARGUMENT']);
		const type = { headers: { 'content-type': 'text/plain' }, body: '{}' };
		await assert.rejects(agent.rest('POST', '/message:send', type), (error) => asGatewayError(error)?.code === 'unsupported_media_type');
		const { headers } = await agent.rest('POST', '/message:send', { body: { message: message([{ data: ECHO }]) } });
		assert.deepEqual([headers['content-type'], headers['a2a-version']], ['application/a2a+json', '1.0']);
	},
	async 'CARD-EXT an extension that is asked for and known is echoed'(agent) {
		const { headers } = await agent.rest('GET', '/tasks', { headers: { 'a2a-extensions': 'urn:other, urn:gatehouse:a2a:tool-call:v1' } });
		assert.equal(headers['a2a-extensions'], 'urn:gatehouse:a2a:tool-call:v1');
	},
};

for (const [name, requirement] of Object.entries(REQUIREMENTS))
	test(name, async () => {
		const agent = new Agent();
		try {
			await requirement(agent);
		} finally {
			await agent.close();
		}
	});
