// Tests that an access key that is limited to some permissions gives nobody, and itself, what it does not have.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { bearer } from '../helpers/gateway-auth.ts';
import { type Account, must, publishGateway, registerAccount, type SharedService, send, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
let gatewayId: string;
let agentId: string;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
	gatewayId = (await publishGateway(account)).id;
	const nodes = [
		{ id: 'in', type: 'input', data: {} },
		{ id: 'out', type: 'output', data: {} },
	];
	const pipeline = { nodes, edges: [{ id: 'e', source: 'in', target: 'out' }] };
	agentId = must(await account.post('/agents', { name: 'Echo', pipeline }), 201).body.data.id;
});
after(() => service?.stop());

/** Sends a request with a key of these permissions. @returns its status, and the message of a refusal */
async function withKey(permissions: string[], path: string, body: object, method = 'POST'): Promise<[number, string?]> {
	const { key } = must(await account.post('/access-keys', { name: 'k', permissions }), 201).body.data;
	const answer = await send(service.url + path, method, { body, headers: bearer(key) });
	return answer.status < 300 ? [answer.status] : [answer.status, answer.body.message];
}

const lacks = (permission: string): [number, string] => [403, `The access key does not have the permission ${permission}.`];

test('a key of a gateway has no scope that its maker lacks', async () => {
	const path = `/gateways/${gatewayId}/auth/api-keys`;
	const ask = (permissions: string[], scopes: string[]) => withKey(permissions, path, { name: 'k', scopes });
	assert.deepEqual(await ask(['gateway:write'], ['tools:execute']), lacks('tools:execute'));
	assert.deepEqual(await ask(['gateway:write', 'tools:read'], ['tools:read', 'tools:execute']), lacks('tools:execute'));
	assert.deepEqual(await ask(['gateway:write', 'tools:execute'], ['tools:execute']), [201]);
});

test('a webhook, its new secret and a schedule start an agent, so who makes them must be able to', async () => {
	const hook = must(await account.post(`/agents/${agentId}/webhooks`, { name: 'h', scheme: 'standard' }), 201).body.data;
	for (const [path, body, status] of [
		['/webhooks', { name: 'k', scheme: 'standard' }, 201],
		[`/webhooks/${hook.id}/secret`, {}, 200],
		['/schedule', { cron: '0 0 1 1 *' }, 200],
	] as const) {
		assert.deepEqual(await withKey(['agents:write'], `/agents/${agentId}${path}`, body), lacks('agents:execute'), path);
		assert.deepEqual(await withKey(['agents:write', 'agents:execute'], `/agents/${agentId}${path}`, body), [status], path);
	}
});

test('who activates a webhook must be able to start the agent; who stops it need not', async () => {
	const { id } = must(await account.post(`/agents/${agentId}/webhooks`, { name: 'h' }), 201).body.data;
	const ask = (permissions: string[], status: string) => withKey(permissions, `/agents/${agentId}/webhooks/${id}`, { status }, 'PATCH');
	assert.deepEqual(await ask(['agents:write'], 'inactive'), [200]);
	assert.deepEqual(await ask(['agents:write'], 'active'), lacks('agents:execute'));
	assert.deepEqual(await ask(['agents:write', 'agents:execute'], 'active'), [200]);
});

test('a tool of an agent runs it for whoever calls the tool, so who makes one must be able to', async () => {
	const path = `/organizations/${account.organization.id}/tools`;
	const runs = (id: string) => ({ executionConfig: { agentId: id } });
	const tool = { name: 'echo', description: 'x', type: 'agent', ...runs(agentId) };
	assert.deepEqual(await withKey(['tools:write', 'tools:execute'], path, tool), lacks('agents:execute'));
	assert.deepEqual(await withKey(['tools:write', 'agents:execute'], path, tool), [201]);
	const { id } = must(await account.post(path, tool), 201).body.data;
	const other = must(await account.post(`/agents/${agentId}/duplicate`, {}), 201).body.data.id;
	const change = (permissions: string[], body: object) => withKey(permissions, `/tools/${id}`, body, 'PATCH');
	// Nothing else about the tool needs it, nor does calling one that somebody else made.
	assert.deepEqual(await change(['tools:write'], { description: 'y' }), [200]);
	assert.deepEqual(await change(['tools:write'], { executionConfig: { agentId, timeoutMs: 1000 } }), [200]);
	assert.deepEqual(await withKey(['tools:execute'], `${path}/${id}/execute`, { parameters: {} }), [200]);
	assert.deepEqual(await change(['tools:write'], { status: 'inactive' }), [200]);
	for (const body of [runs(other), { status: 'active' }]) {
		assert.deepEqual(await change(['tools:write'], body), lacks('agents:execute'));
		assert.deepEqual(await change(['tools:write', 'agents:execute'], body), [200]);
	}
});

test('an alert tells what is measured, so who makes or changes one must be able to read it', async () => {
	const alert = { name: 'a', kind: 'error_rate', bound: 0.5, url: 'https://example.com/a' };
	const { id } = must(await account.post('/alerts', alert), 201).body.data;
	for (const [method, path, body, status] of [
		['POST', '/alerts', alert, 201],
		['PATCH', `/alerts/${id}`, { url: alert.url }, 200],
	] as const) {
		assert.deepEqual(await withKey(['gateway:write'], path, body, method), lacks('analytics:read'), method);
		assert.deepEqual(await withKey(['gateway:write', 'analytics:read'], path, body, method), [status], method);
	}
});
