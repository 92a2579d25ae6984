// Tests codes and refresh tokens that are sent many times at once, over two replicas (decisions, 27): each code yields one pair, a double
// send costs nobody anything, and a token that is reused later ends its grant.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { openBrowser } from '../helpers/browser.ts';
import { ask, bearer } from '../helpers/gateway-auth.ts';
import { addMember, join } from '../helpers/members.ts';
import { type OAuthClient, obtainCode, redeem, refresh, registerClient, sendForm } from '../helpers/oauth.ts';
import { GRACE_OVER, grantBytes, passTime, SECOND } from '../helpers/oauth-time.ts';
import { rounds } from '../helpers/sampled.ts';
import {
	type Account,
	type Answer,
	must,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
} from '../helpers/service.ts';
import { soon } from '../helpers/soon.ts';

const ROUNDS = rounds({ few: 1, all: 20 });
/** Those that come at once. */
const PARALLEL = rounds({ few: 16, all: 50 });
const SHARERS = rounds({ few: 8, all: 20 });
/** Decisions, 27: the regular pair, and at most fifty siblings. */
const MAX_PAIRS = 1 + 50;

let services: [TestService, TestService];
let account: Account;
let browser = openBrowser();
/** URLs of one gateway, one at each replica. */
let urls: [string, string];
let client: OAuthClient;
before(async () => {
	const first = await startTestService();
	services = [first, await startTestService({ replicaOf: first })];
	account = await registerAccount(first.url);
	const { url } = await publishGateway(account, { auth: 'oauth2' });
	urls = [url, services[1].url + new URL(url).pathname];
	client = await registerClient(url);
});
after(async () => {
	await services[1].stop();
	await services[0].stop();
});
beforeEach(() => {
	browser = openBrowser();
});

interface Pair {
	access_token: string;
	refresh_token: string;
}

const newCode = () => obtainCode(urls[0], client, account, { browser });
const newPair = async (): Promise<Pair> => must(await redeem(urls[0], client, await newCode()), 200).body;
const at = (turn: number): string => urls[turn % 2 === 0 ? 0 : 1];

/** Sends requests all at once to alternating replicas. */
const all = (count: number, send: (url: string, turn: number) => Promise<Answer>): Promise<Answer[]> =>
	Promise.all(Array.from({ length: count }, (_none, turn) => send(at(turn), turn)));

/** Returns the pairs that were issued; all other answers must be the same error. */
function pairsOf(answers: Answer[]): Pair[] {
	for (const { status, body } of answers.filter((answer) => answer.status !== 200))
		assert.deepEqual([status, body.error], [400, 'invalid_grant'], JSON.stringify(body));
	return answers.filter(({ status }) => status === 200).map(({ body }) => body);
}

async function assertOpen(pairs: Pair[], what: string): Promise<void> {
	for (const { access_token } of pairs) {
		for (const url of urls) assert.equal((await ask(url, bearer(access_token))).status, 200, what);
	}
}

/** Checks at every replica, within a second, that the pairs give no access and no other pair. */
async function assertDead(pairs: Pair[], what: string, { status = 401 } = {}): Promise<void> {
	for (const { access_token, refresh_token } of pairs) {
		for (const url of urls) await soon(async () => (await ask(url, bearer(access_token))).status === status, what);
		const again = await refresh(urls[1], client, refresh_token);
		assert.notEqual(again.status, 200, what);
		assert.ok(again.status < 500, what);
	}
}

const secretOf = (pair: Pair | undefined): string => pair?.refresh_token ?? assert.fail('no pair');

test(`of ${PARALLEL} redemptions of one code one is answered, ${ROUNDS}×, and what it got is good`, async () => {
	for (let round = 0; round < ROUNDS; round++) {
		const code = await newCode();
		const pairs = pairsOf(await all(PARALLEL, (url) => redeem(url, client, code)));
		assert.equal(pairs.length, 1, `round ${round}`);
		await assertOpen(pairs, `round ${round}: the tokens of the one`);
		must(await refresh(urls[1], client, secretOf(pairs[0])), 200);
	}
});

test(`of ${PARALLEL} refreshes each gets a pair, ${ROUNDS} generation(s) long, and one chain goes on`, async () => {
	let head = secretOf(await newPair());
	for (let generation = 0; generation < ROUNDS; generation++) {
		const pairs = pairsOf(await all(PARALLEL, (url) => refresh(url, client, head)));
		assert.equal(pairs.length, PARALLEL, `generation ${generation}`);
		assert.equal(new Set(pairs.map(secretOf)).size, PARALLEL);
		await assertOpen(pairs, `generation ${generation}`);
		await passTime(services[0], GRACE_OVER);
		// All siblings are valid until one of them is used, and during the grace after that.
		const next: Pair = must(await refresh(at(generation), client, secretOf(pairs[generation])), 200).body;
		await assertOpen([...pairs, next], `generation ${generation}: nothing was revoked`);
		await passTime(services[0], GRACE_OVER);
		head = secretOf(next);
	}
	must(await refresh(urls[0], client, head), 200);
});

test('siblings that are all used at once, or in turn, all go on: nobody who shares a grant is left behind', async () => {
	const inTurn = async (secrets: string[]): Promise<Answer[]> => {
		const answers: Answer[] = [];
		for (const [turn, secret] of secrets.entries()) answers.push(await refresh(at(turn), client, secret));
		return answers;
	};
	for (const use of [inTurn, (secrets: string[]) => Promise.all(secrets.map((secret, turn) => refresh(at(turn), client, secret)))]) {
		let pairs = [await newPair()];
		pairs = pairsOf(await all(SHARERS, (url) => refresh(url, client, secretOf(pairs[0]))));
		for (let hour = 0; hour < 3; hour++) {
			await passTime(services[0], GRACE_OVER);
			pairs = pairsOf(await use(pairs.map(secretOf)));
			assert.equal(pairs.length, SHARERS, `hour ${hour}`);
		}
		await assertOpen(pairs, 'all of them');
	}
});

test(`of more than ${MAX_PAIRS} refreshes that come at once, ${MAX_PAIRS} get a pair, and the others nothing, without consequences`, async () => {
	const first = secretOf(await newPair());
	const pairs = pairsOf(await all(70, (url) => refresh(url, client, first)));
	assert.equal(pairs.length, MAX_PAIRS);
	await assertOpen(pairs, 'nothing was revoked');
	must(await refresh(urls[1], client, secretOf(pairs.at(-1))), 200);
});

test('fifty siblings again and again fill no storage: the document of the grant keeps its size', async () => {
	const sizes: number[] = [];
	let head = secretOf(await newPair());
	for (let round = 0; round < 6; round++) {
		const answers: Answer[] = [];
		// One after another they fill the document as they do at once.
		for (let turn = 0; turn < MAX_PAIRS; turn++) answers.push(await refresh(at(turn), client, head));
		const pairs = pairsOf(answers);
		assert.equal(pairs.length, MAX_PAIRS);
		head = secretOf(pairs[round]);
		sizes.push(await grantBytes(services[0]));
	}
	assert.ok(Math.max(...sizes) < 48 * 1024, `${sizes} bytes`);
	assert.ok(Math.abs((sizes[5] ?? 0) - (sizes[4] ?? 0)) < 1024, `${sizes} bytes`);
});

describe('a token or code that is used again', () => {
	test('a former refresh token after the grace ends its grant: no access at the other replica within a second', async () => {
		const first = await newPair();
		const second: Pair = must(await refresh(urls[0], client, secretOf(first)), 200).body;
		await assertOpen([first, second], 'before');
		await passTime(services[0], GRACE_OVER);
		assert.equal(must(await refresh(urls[0], client, secretOf(first)), 400).body.error, 'invalid_grant');
		await assertDead([first, second], 'after a former token came back');
	});

	test('a sibling that was passed by ends its grant after the grace', async () => {
		const first = secretOf(await newPair());
		const siblings = pairsOf(await all(3, (url) => refresh(url, client, first)));
		assert.equal(siblings.length, 3);
		const head: Pair = must(await refresh(urls[0], client, secretOf(siblings[0])), 200).body;
		await passTime(services[0], GRACE_OVER);
		assert.equal(must(await refresh(urls[1], client, secretOf(siblings[1])), 400).body.error, 'invalid_grant');
		await assertDead([...siblings, head], 'after a sibling that was passed by came back');
	});

	test('a code after the grace ends what it was redeemed for; within the grace it does not', async () => {
		const code = await newCode();
		const pair: Pair = must(await redeem(urls[0], client, code), 200).body;
		assert.equal(must(await redeem(urls[1], client, code), 400).body.error, 'invalid_grant');
		await assertOpen([pair], 'within the grace');
		const next: Pair = must(await refresh(urls[0], client, secretOf(pair)), 200).body;
		await passTime(services[0], GRACE_OVER);
		assert.equal(must(await redeem(urls[1], client, code), 400).body.error, 'invalid_grant');
		await assertDead([pair, next], 'after the grace');
	});

	test('a predecessor’s predecessor within the grace gets a pair as well, and nothing is revoked', async () => {
		const first = await newPair();
		const second: Pair = must(await refresh(urls[0], client, secretOf(first)), 200).body;
		const third: Pair = must(await refresh(urls[1], client, secretOf(second)), 200).body;
		await passTime(services[0], 50 * SECOND);
		const again = pairsOf(await all(10, (url) => refresh(url, client, secretOf(first))));
		assert.equal(again.length, 10);
		await assertOpen([first, second, third, ...again], 'nothing was revoked');
		must(await refresh(urls[0], client, secretOf(third)), 200);
	});

	test('a former token does not live longer for being used again: its grace began with its first use', async () => {
		const first = await newPair();
		must(await refresh(urls[0], client, secretOf(first)), 200);
		for (let time = 0; time < 2; time++) {
			await passTime(services[0], 25 * SECOND);
			must(await refresh(urls[time % 2 === 0 ? 0 : 1], client, secretOf(first)), 200);
		}
		await passTime(services[0], 11 * SECOND);
		assert.equal(must(await refresh(urls[0], client, secretOf(first)), 400).body.error, 'invalid_grant');
		await assertDead([first], 'after the grace');
	});

	test('a guess at the refresh token of a grant ends nothing', async () => {
		const pair = await newPair();
		const [id = '', family = ''] = secretOf(pair).split('.');
		for (const guess of [`${id}.${'A'.repeat(43)}.${'A'.repeat(43)}`, `${id}.${family}`, `${secretOf(pair)}A`])
			assert.equal(must(await refresh(urls[0], client, guess), 400).body.error, 'invalid_grant');
		await assertOpen([pair], 'after guesses');
	});
});

describe('a token or code that is sent while it is being ended', () => {
	/** A gateway, a client and a user of their own. */
	interface Scene {
		id: string;
		urls: [string, string];
		client: OAuthClient;
		member: Account;
		/** The pair of `client`, before anything ends. */
		pair: Pair;
		code: { code: string; verifier: string };
	}
	let member: Account;
	before(async () => {
		member = await addMember(account, 'member');
	});

	async function setScene(): Promise<Scene> {
		const { id, url } = await publishGateway(account, { auth: 'oauth2' });
		const own = await registerClient(url);
		const session = openBrowser();
		const pair: Pair = must(await redeem(url, own, await obtainCode(url, own, member, { browser: session })), 200).body;
		const code = await obtainCode(url, own, member, { browser: session });
		return { id, urls: [url, services[1].url + new URL(url).pathname], client: own, member, pair, code };
	}

	/**
	 * `dead` is the status that a token gets afterwards. `redeems` tells that a code stays valid, since it does not belong to what is ended.
	 */
	const ENDS: { what: string; dead: number; redeems?: true; end(scene: Scene): Promise<Answer>; undo?(scene: Scene): Promise<unknown> }[] =
		[
			{
				what: 'revocation',
				dead: 401,
				redeems: true,
				end: ({ urls: [url], client: { id }, pair }) => sendForm(`${url}/revoke`, { token: pair.refresh_token, client_id: id }),
			},
			{
				what: 'removal of the grant’s client',
				dead: 401,
				end: ({ id, client: own }) => account.del(`/gateways/${id}/oauth/clients/${own.id}`),
			},
			{
				what: 'removal of the member',
				dead: 401,
				end: async ({ member: { get } }) => {
					const user = must(await get('/auth/profile'), 200).body.data;
					return account.del(`/organizations/${account.organization.id}/members/${user.id}`);
				},
				undo: () => join(account, member, 'member'),
			},
			{
				what: 'removal of the method, which is added again',
				dead: 401,
				async end({ id }) {
					const { authMethods } = must(await account.get(`/gateways/${id}/auth`), 200).body.data;
					const removed = await account.del(`/gateways/${id}/auth/${authMethods[0].id}`);
					must(await account.post(`/gateways/${id}/auth`, { type: 'oauth2' }), 201);
					return removed;
				},
			},
			{ what: 'removal of the gateway', dead: 404, end: ({ id }) => account.del(`/gateways/${id}`) },
			{ what: 'deactivation of the gateway', dead: 404, end: ({ id }) => account.patch(`/gateways/${id}`, { status: 'inactive' }) },
		];

	for (const { what, dead, redeems, end, undo } of ENDS) {
		test(`beside ${what}, nothing that a refresh or a redemption got outlives it, and nothing fails`, async () => {
			for (let round = 0; round < rounds({ few: 1, all: 6 }); round++) {
				const scene = await setScene();
				const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
				const refreshes = all(10, async (_url, turn) => {
					await pause();
					return refresh(scene.urls[turn % 2 === 0 ? 0 : 1], scene.client, scene.pair.refresh_token);
				});
				const redemption = pause().then(() => redeem(scene.urls[1], scene.client, scene.code));
				const [ended, answers, redeemed] = await Promise.all([end(scene), refreshes, redemption]);
				must(ended, 200);
				for (const { status, body } of [...answers, redeemed]) assert.ok(status < 500, JSON.stringify(body));
				const given = answers.filter(({ status }) => status === 200).map(({ body }): Pair => body);
				if (redeemed.status === 200 && !redeems) given.push(redeemed.body);
				for (const { access_token, refresh_token } of [scene.pair, ...given]) {
					for (const url of scene.urls) await soon(async () => (await ask(url, bearer(access_token))).status === dead, what);
					assert.notEqual((await refresh(scene.urls[1], scene.client, refresh_token)).status, 200, what);
				}
				await undo?.(scene);
			}
		});
	}
});
