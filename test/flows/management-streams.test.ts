// Tests that open event streams of the management API end with what admitted them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../helpers/clock.ts';
import { bearer } from '../helpers/gateway-auth.ts';
import { addMember } from '../helpers/members.ts';
import { type Account, must, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service?.stop());

/** Opens the live analytics, and waits for the first event. */
async function listen(secret: string): Promise<{ hasEnded(): boolean; leave(): Promise<void> }> {
	const response = await fetch(`${service.url}/analytics/live`, {
		headers: { ...bearer(secret), accept: 'text/event-stream', 'x-organization-id': account.organization.id },
	});
	assert.equal(response.status, 200);
	const reader = response.body?.getReader() ?? assert.fail();
	const first = await reader.read();
	assert.ok(first.value);
	let hasEnded = false;
	const rest = async (): Promise<void> => {
		for (let part = await reader.read(); !part.done; part = await reader.read());
	};
	void rest().finally(() => (hasEnded = true));
	return { hasEnded: () => hasEnded, leave: () => reader.cancel() };
}

test('a stream ends with the login, the membership, the role and the key that admitted it, and no other one', async () => {
	const stays = await listen(account.token);
	const [loggedOut, removed] = [await addMember(account, 'member'), await addMember(account, 'member')];
	const { id } = must(await removed.get('/auth/profile'), 200).body.data;
	const key = must(await account.post('/access-keys', { name: 'k', permissions: ['analytics:read'] }), 201).body.data;
	for (const [secret, withdraw] of [
		[loggedOut.token, () => loggedOut.post('/auth/logout')],
		[removed.token, () => account.del(`/organizations/${account.organization.id}/members/${id}`)],
		[key.key, () => account.del(`/access-keys/${key.id}`)],
	] as const) {
		const stream = await listen(secret);
		assert.ok((await withdraw()).status < 300);
		await until(stream.hasEnded, 'the stream has ended');
	}
	assert.equal(stays.hasEnded(), false);
	await stays.leave();
});
