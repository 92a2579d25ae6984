// Tests one user with several calls or programs that refresh with one token (decisions, 27): MCP's own clients stay signed in, and nobody
// has to log in again.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { passTime, SECOND } from '../helpers/oauth-time.ts';
import { startTestService } from '../helpers/service.ts';
import { ANSWER, endAccessTokens, grantsOf, openStage, type Stage } from './oauth-clients.ts';
import { createMemory, type Memory, PINNED, SDKS, type Sdk, type Session, signInAt } from './oauth-clients-sdk.ts';

let stage: Stage;
before(async () => {
	stage = await openStage(await startTestService());
});
after(() => stage?.stop());

const idOf = ({ client }: Memory): string => client?.client_id ?? assert.fail('the client has no id');
const signIn = (sdk: Sdk, memory: Memory): Promise<Session> => signInAt(sdk, memory, { url: stage.url, person: stage.account });

/** Starts another process of the same program, which read its memory from the same file a while ago. */
async function startSecond(sdk: Sdk, first: Memory): Promise<{ memory: Memory; session: Session }> {
	const memory = createMemory();
	memory.client = first.client && { ...first.client };
	memory.token = first.token && { ...first.token };
	const session = sdk.open(stage.url, memory);
	await session.connect();
	return { memory, session };
}

/**
 * Calls a tool, and again where SDK 1.32 has given up by itself: it takes a 401 for final once any other call of the same transport has signed in
 * (`_hasCompletedAuthFlow` in its streamableHttp.js), also one that it was sent before that.
 */
async function callTool(sdk: Sdk, session: Session): Promise<string> {
	try {
		return await session.callTool();
	} catch (thrown) {
		if (sdk !== SDKS[0]) throw thrown;
		assert.match(String(thrown), /Server returned 401 after successful authentication/);
		return session.callTool();
	}
}

for (const sdk of [...SDKS, PINNED]) {
	test(`${sdk.name}: ten parallel calls with an ended access token are all answered, and so is the next`, async () => {
		const memory = createMemory();
		const session = await signIn(sdk, memory);
		for (let round = 0; round < 2; round++) {
			await endAccessTokens(stage, idOf(memory));
			for (const answer of await Promise.all(Array.from({ length: 10 }, () => callTool(sdk, session)))) assert.match(answer, ANSWER);
			assert.match(await session.callTool(), ANSWER);
		}
		assert.equal(memory.asked.length, 1, 'its user was sent once, to sign in');
		assert.notEqual(memory.token, undefined);
		await session.close();
	});

	for (const seconds of [0, 2, 12]) {
		test(`${sdk.name}: a second process that refreshes with the same token ${seconds} s later stays signed in, and so does the first`, async () => {
			const memory = createMemory();
			const session = await signIn(sdk, memory);
			const second = await startSecond(sdk, memory);
			await endAccessTokens(stage, idOf(memory));
			assert.match(await session.callTool(), ANSWER);
			await passTime(stage.service, seconds * SECOND);
			assert.match(await second.session.callTool(), ANSWER);
			assert.notEqual(second.memory.token?.refresh_token, memory.token?.refresh_token);
			await endAccessTokens(stage, idOf(memory));
			for (const one of [session, second.session]) assert.match(await one.callTool(), ANSWER);
			assert.deepEqual([memory.asked.length, second.memory.asked.length], [1, 0]);
			assert.equal((await grantsOf(stage, idOf(memory))).length, 1);
			for (const one of [session, second.session]) await one.close();
		});
	}
}
