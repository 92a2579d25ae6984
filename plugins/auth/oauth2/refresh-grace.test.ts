// Tests of how long a used refresh token stays valid, as a gateway's owners configure it (decisions, 27).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from '../../../test/helpers/browser.ts';
import { ask, bearer, guardedGateway } from '../../../test/helpers/gateway-auth.ts';
import { obtainCode, redeem, refresh, registerClient } from '../../../test/helpers/oauth.ts';
import { passTime, SECOND } from '../../../test/helpers/oauth-time.ts';
import { type Account, type Answer, must, registerAccount, startTestService, type TestService } from '../../../test/helpers/service.ts';

let service: TestService;
let account: Account;
const browser = openBrowser();
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
});
after(() => service.stop());

interface Pair {
	access_token: string;
	refresh_token: string;
}

const told = ({ status, body }: Answer): string => `${status} ${body?.error ?? ''}`.trim();

describe('refreshGraceSeconds', () => {
	const sceneOf = async (refreshGraceSeconds: number) => {
		const { url } = await guardedGateway(account, [{ type: 'oauth2', configuration: { refreshGraceSeconds } }]);
		const own = await registerClient(url);
		const pair: Pair = must(await redeem(url, own, await obtainCode(url, own, account, { browser })), 200).body;
		return { url, own, pair, use: ({ refresh_token }: Pair) => refresh(url, own, refresh_token) };
	};

	for (const [seconds, within, after] of [
		[10, 5, 11],
		[300, 290, 301],
	] as const) {
		test(`of ${seconds}: a former token is good ${within} s later, and ends its family ${after} s later`, async () => {
			const { url, pair, use } = await sceneOf(seconds);
			const second: Pair = must(await use(pair), 200).body;
			await passTime(service, within * SECOND);
			const sibling: Pair = must(await use(pair), 200).body;
			await passTime(service, (after - within) * SECOND);
			assert.equal(told(await use(pair)), '400 invalid_grant');
			for (const { access_token } of [second, sibling]) must(await ask(url, bearer(access_token)), 401);
			for (const one of [second, sibling]) assert.equal(told(await use(one)), '400 invalid_grant');
		});
	}

	test('of 0: each second use ends the family, at once', async () => {
		const { url, pair, use } = await sceneOf(0);
		const second: Pair = must(await use(pair), 200).body;
		must(await ask(url, bearer(second.access_token)), 200);
		assert.equal(told(await use(pair)), '400 invalid_grant');
		must(await ask(url, bearer(second.access_token)), 401);
		assert.equal(told(await use(second)), '400 invalid_grant');
	});

	test('of 0: of two that use one token at once one gets a pair, and the family is ended', async () => {
		const { url, pair, use } = await sceneOf(0);
		const answers = await Promise.all([use(pair), use(pair)]);
		assert.deepEqual(answers.map(told).sort(), ['200', '400 invalid_grant']);
		for (const { body } of answers.filter(({ status }) => status === 200)) must(await ask(url, bearer(body.access_token)), 401);
	});

	test('is a whole number from 0 to 300', async () => {
		const { id } = await guardedGateway(account, []);
		for (const refreshGraceSeconds of [-1, 301, 1.5, 'long', null, []]) {
			const { status, body } = await account.post(`/gateways/${id}/auth`, { type: 'oauth2', configuration: { refreshGraceSeconds } });
			assert.equal(status, 400, String(refreshGraceSeconds));
			assert.equal(body.details[0].path, '/configuration/refreshGraceSeconds');
		}
	});
});
