// Tests that notifications go nowhere that the guard refuses, however the address is spelt.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { EGRESS_CASES } from '../../test/catalog/egress.ts';
import { Agent, message } from '../../test/helpers/a2a-agent.ts';

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
