// Tests that notifications go nowhere that the guard refuses, however the address is spelt.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import { after, before, type TestContext, test } from 'node:test';
import { EGRESS_CASES } from '../../test/catalog/egress.ts';
import { Agent, message } from '../../test/helpers/a2a-agent.ts';
import { until } from '../../test/helpers/clock.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { fakeCall } from '../../testing/index.ts';
import a2a from './index.ts';
import { notify, putReceiver, readReceiver } from './push.ts';
import { newTask } from './tasks.ts';

let agent: Agent;
let taskId: string;
before(async () => {
	agent = new Agent({ allow: [] });
	taskId = (await agent.send({ skill: 'waits' }, {}, { returnImmediately: true })).id;
});
after(() => agent.close());

// Names are resolved by the guard of each delivery, which `core/egress` tests; what is opened here stays shut, too.
// A body with NUL is refused before anything is read of it.
const spelt = EGRESS_CASES.filter(({ input, answers, allow }) => !answers && !allow && !input.includes('\0'));
for (const { id, input } of spelt)
	test(`${id} is refused for a task and with a message, naming the field`, async () => {
		const url = input.replaceAll('{port}', '8080');
		const alone = await agent.rpc('CreateTaskPushNotificationConfig', { taskId, url });
		assert.deepEqual([alone.error?.code, alone.error?.data[1].fieldViolations[0].field], [-32602, '/params/url'], url);
		const sent = await agent.rpc('SendMessage', {
			message: message([{ data: { skill: 'words' } }], { contextId: randomUUID() }),
			configuration: { taskPushNotificationConfig: { url } },
		});
		const field = '/params/configuration/taskPushNotificationConfig/url';
		assert.deepEqual([sent.error?.code, sent.error?.data[1].fieldViolations[0].field], [-32602, field], url);
	});

/** Lets the system's resolver answer as the test says. @returns the names that it was asked for */
function resolving(t: TestContext, answers: Record<string, string[]>): string[] {
	const asked: string[] = [];
	const own = dns.lookup;
	const lookup = async (name: string) => {
		asked.push(name);
		return (answers[name] ?? []).map((address) => ({ address, family: 4 }));
	};
	Object.assign(dns, { lookup });
	syncBuiltinESMExports();
	t.after(() => {
		Object.assign(dns, { lookup: own });
		syncBuiltinESMExports();
	});
	return asked;
}

test('a name that leads to a private address by the time of the notification gets none, and none may be set for it', async (t) => {
	const got: string[] = [];
	const receiver = await httpUpstream(t, (request, response) => {
		got.push(request.url ?? '');
		response.writeHead(204).end();
	});
	const PUBLIC = '93.184.216.34';
	const answers: Record<string, string[]> = {};
	const asked = resolving(t, answers);
	const { port } = new URL(receiver.origin);
	for (const { name, first, later, allow } of [
		{ name: 'moved.example', first: [PUBLIC], later: ['127.0.0.1'], allow: [] },
		{ name: 'both.example', first: [PUBLIC], later: [PUBLIC, '10.9.8.7', '127.0.0.1'], allow: [] },
		{ name: 'open.example', first: ['127.0.0.1'], later: ['127.0.0.1'], allow: ['127.0.0.1'] },
	]) {
		await using fake = fakeCall({ plugin: a2a as never, allow, jobs: 'by hand' });
		const { call, lines } = fake;
		const state = 'TASK_STATE_COMPLETED';
		const task = { ...newTask({ contextId: 'c', state, skill: 'words', args: {}, modes: null }, call), pushes: true };
		const given = { url: `http://${name}:${port}/${name}`, token: 'canary-of-a-token' };
		const read = () => readReceiver(given, { at: '', call, protocol: '1.0' });
		answers[name] = first;
		await putReceiver(task, await read(), call);
		await notify(task, call);
		answers[name] = later;
		asked.length = 0;
		await fake.runJobs();
		assert.ok(asked.includes(name), 'the name is resolved again when it is sent');
		if (allow.length === 0) await assert.rejects(read(), { code: 'egress_refused' });
		assert.ok(!JSON.stringify(lines).includes('canary'));
	}
	await until(() => got.length > 0, 'the name that may be asked is');
	assert.deepEqual(got, ['/open.example']);
});
