// Tests that MCP's own TypeScript clients log in by themselves with nothing but the gateway's URL: every step is the SDK's, except the
// user's.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addMember } from '../helpers/members.ts';
import { METADATA } from '../helpers/oauth.ts';
import { type Account, must, publishGateway, send, startTestService } from '../helpers/service.ts';
import { ANSWER, endAccessTokens, grantsOf, letIn, openStage, publishClientDocument, type Stage, TOOL } from './oauth-clients.ts';
import { createMemory, lastAsked, type Memory, NAME, PINNED, SDKS, type Sdk, type Session, signInAt } from './oauth-clients-sdk.ts';

let stage: Stage;
before(async () => {
	// A service in this process trusts the certificate of a client document that a test publishes.
	stage = await openStage(await startTestService());
});
after(() => stage?.stop());

const idOf = ({ client }: Memory): string => client?.client_id ?? assert.fail('the client has no id');

const scopesOf = (asked: URL): string[] => (asked.searchParams.get('scope') ?? '').split(' ').sort();

const signIn = (sdk: Sdk, memory: Memory, url = stage.url, person: Account = stage.account): Promise<Session> =>
	signInAt(sdk, memory, { url, person });

/** Signs in with `tools:read` alone, the only scope that the client requests. */
async function signInToRead(sdk: Sdk, memory: Memory): Promise<Session> {
	const began = sdk.open(stage.url, memory);
	assert.equal(await sdk.authorize(stage.url, memory, 'tools:read'), 'REDIRECT');
	await began.finish(await letIn(lastAsked(memory), stage.account));
	assert.equal(memory.token?.scope, 'tools:read');
	const session = sdk.open(stage.url, memory);
	await session.connect();
	assert.deepEqual(await session.listTools(), [TOOL]);
	return session;
}

for (const sdk of SDKS) {
	test(`${sdk.name}: finds the server, registers, sends its user, and lists and calls`, async () => {
		const memory = createMemory();
		const session = await signIn(sdk, memory);
		const { searchParams, origin, pathname } = lastAsked(memory);
		assert.equal(origin + pathname, `${stage.url}/authorize`);
		assert.equal(searchParams.get('resource'), stage.url);
		assert.equal(searchParams.get('code_challenge_method'), 'S256');
		assert.deepEqual(scopesOf(lastAsked(memory)), ['tools:execute', 'tools:read']);
		assert.equal(session.version(), sdk.version);
		assert.deepEqual(await session.listTools(), [TOOL]);
		assert.match(await session.callTool(), ANSWER);
		assert.equal(memory.asked.length, 1);
		const [grant] = await grantsOf(stage, idOf(memory));
		assert.equal(grant?.clientName, NAME);
		await session.close();
	});

	test(`${sdk.name}: refreshes by itself when its access token has ended, and does not bother its user`, async () => {
		const memory = createMemory();
		const session = await signIn(sdk, memory);
		const former = memory.token;
		assert.equal(await endAccessTokens(stage, idOf(memory)), 1);
		assert.match(await session.callTool(), ANSWER);
		assert.equal(memory.saved, 2);
		assert.notEqual(memory.token?.access_token, former?.access_token);
		assert.notEqual(memory.token?.refresh_token, former?.refresh_token);
		assert.equal(memory.asked.length, 1);
		await session.close();
	});

	test(`${sdk.name}: keeps a secret where it registers for one, by either way of sending it`, async () => {
		for (const method of ['client_secret_basic', 'client_secret_post']) {
			const memory = createMemory({ token_endpoint_auth_method: method });
			const session = await signIn(sdk, memory);
			assert.ok(memory.client && 'client_secret' in memory.client && memory.client.client_secret);
			await endAccessTokens(stage, idOf(memory));
			assert.match(await session.callTool(), ANSWER);
			await session.close();
		}
	});

	test(`${sdk.name}: refreshes for six calls at once, each for itself, and bothers nobody`, async () => {
		const memory = createMemory();
		const session = await signIn(sdk, memory);
		await endAccessTokens(stage, idOf(memory));
		for (const answer of await Promise.all(Array.from({ length: 6 }, () => session.callTool()))) assert.match(answer, ANSWER);
		await endAccessTokens(stage, idOf(memory));
		assert.match(await session.callTool(), ANSWER);
		assert.equal(memory.asked.length, 1);
		await session.close();
	});

	for (const [spelling, write] of [
		['with a slash behind it', ({ href }: URL) => `${href}/`],
		['with @ before the organization', ({ origin, pathname }: URL) => `${origin}/@${pathname.slice(1)}`],
	] as const) {
		test(`${sdk.name}: signs in at the gateway’s URL ${spelling}, too`, async () => {
			const memory = createMemory();
			const url = write(new URL(stage.url));
			const session = await signIn(sdk, memory, url);
			assert.equal(lastAsked(memory).searchParams.get('resource'), url);
			await endAccessTokens(stage, idOf(memory));
			assert.match(await session.callTool(), ANSWER);
			await session.close();
		});
	}

	test(`${sdk.name}: signs in at a gateway that takes keys and passwords as well`, async () => {
		const { id, url } = await publishGateway(stage.account, { auth: 'api_key' });
		must(await stage.account.post(`/gateways/${id}/auth`, { type: 'basic_auth' }), 201);
		must(await stage.account.post(`/gateways/${id}/auth`, { type: 'oauth2' }), 201);
		const session = await signIn(sdk, createMemory(), url);
		assert.deepEqual(await session.listTools(), []);
		await session.close();
	});

	test(`${sdk.name}: when its user may only read, gets no further than they, and goes round in no circle`, async () => {
		const viewer = await addMember(stage.account, 'viewer');
		const memory = createMemory({ grant_types: ['authorization_code'] });
		const session = await signIn(sdk, memory, stage.url, viewer);
		assert.deepEqual(await session.listTools(), [TOOL]);
		await assert.rejects(session.callTool(), sdk.isUnauthorized);
		await session.finish(await letIn(lastAsked(memory), viewer));
		assert.equal(memory.token?.scope, 'tools:read');
		await assert.rejects(session.callTool());
		assert.ok(memory.asked.length <= 3);
		await session.close();
	});

	test(`${sdk.name}: asks its user again when its grant has been ended`, async () => {
		const memory = createMemory();
		const session = await signIn(sdk, memory);
		const [grant] = await grantsOf(stage, idOf(memory));
		must(await stage.account.del(`/gateways/${stage.gatewayId}/oauth/grants/${grant?.grantId}`), 200);
		await assert.rejects(session.callTool(), sdk.isUnauthorized);
		assert.equal(memory.asked.length, 2);
		await session.finish(await letIn(lastAsked(memory), stage.account));
		assert.match(await session.callTool(), ANSWER);
		await session.close();
	});

	test(`${sdk.name}: registers again when its registration has been removed`, async () => {
		const memory = createMemory();
		const session = await signIn(sdk, memory);
		const former = idOf(memory);
		must(await stage.account.del(`/gateways/${stage.gatewayId}/oauth/clients/${former}`), 200);
		await assert.rejects(session.callTool(), sdk.isUnauthorized);
		assert.notEqual(idOf(memory), former);
		await session.finish(await letIn(lastAsked(memory), stage.account));
		assert.match(await session.callTool(), ANSWER);
		await session.close();
	});

	test(`${sdk.name}: when it may only read and does not refresh, asks its user for more when it calls`, async () => {
		const memory = createMemory({ grant_types: ['authorization_code'] });
		const session = await signInToRead(sdk, memory);
		assert.equal(memory.token?.refresh_token, undefined);
		await assert.rejects(session.callTool(), sdk.isUnauthorized);
		assert.deepEqual(scopesOf(lastAsked(memory)), ['tools:execute', 'tools:read']);
		await session.finish(await letIn(lastAsked(memory), stage.account));
		assert.match(await session.callTool(), ANSWER);
		await session.close();
	});

	test(`${sdk.name}: when it may only read and can refresh, ${sdk.stepsUp ? 'asks its user for more' : 'is told 403, and asks for more without its tokens'}`, async () => {
		const memory = createMemory();
		const session = await signInToRead(sdk, memory);
		if (!sdk.stepsUp) {
			await assert.rejects(session.callTool(), /403 after trying upscoping/);
			assert.equal(memory.asked.length, 1);
			memory.token = undefined;
		}
		await assert.rejects(session.callTool(), sdk.isUnauthorized);
		assert.deepEqual(scopesOf(lastAsked(memory)), ['tools:execute', 'tools:read']);
		await session.finish(await letIn(lastAsked(memory), stage.account));
		assert.match(await session.callTool(), ANSWER);
		await session.close();
	});

	test(`${sdk.name}: when it describes itself under a URL, is let in without registering`, async () => {
		using document = await publishClientDocument(METADATA);
		const memory = createMemory({}, document.url);
		const session = await signIn(sdk, memory);
		assert.equal(idOf(memory), document.url);
		assert.match(await session.callTool(), ANSWER);
		assert.equal(await endAccessTokens(stage, document.url), 1);
		assert.match(await session.callTool(), ANSWER);
		assert.equal(document.requests(), 1);
		await session.close();
	});
}

test(`${PINNED.name}, finds the server, signs in, refreshes and asks for more as well`, async () => {
	const memory = createMemory();
	const session = await signInToRead(PINNED, memory);
	assert.equal(session.version(), PINNED.version);
	await assert.rejects(session.callTool(), PINNED.isUnauthorized);
	await session.finish(await letIn(lastAsked(memory), stage.account));
	assert.equal(await endAccessTokens(stage, idOf(memory)), 2);
	assert.match(await session.callTool(), ANSWER);
	assert.equal(memory.asked.length, 2);
	await session.close();
});

test('a scope challenge names in one place all that the client needs', async () => {
	const [sdk] = SDKS;
	assert.ok(sdk);
	const memory = createMemory();
	const session = await signInToRead(sdk, memory);
	const refused = await send(stage.url, 'POST', {
		body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: TOOL, arguments: {} } },
		headers: { accept: 'application/json, text/event-stream', authorization: `Bearer ${memory.token?.access_token}` },
	});
	must(refused, 403);
	assert.match(
		refused.headers.get('www-authenticate') ?? '',
		/^Bearer error="insufficient_scope".*scope="tools:(read tools:execute|execute tools:read)"/,
	);
	await session.close();
});
