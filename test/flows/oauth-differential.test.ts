// Compares the authorization server with oidc-provider: the same bad requests to both get the same answers, or the difference has a reason.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DIFFERENTIAL_CASES, type DifferentialCase, type Fields, type Outcome } from '../catalog/oauth-differential.ts';
import { type Browser, openBrowser } from '../helpers/browser.ts';
import { METADATA, type OAuthClient, obtainCode, type Person, pkce, REDIRECT, redeem, registerClient } from '../helpers/oauth.ts';
import { type OtherServer, startOtherServer } from '../helpers/oidc-provider.ts';
import { must, publishGateway, registerAccount, type SharedService, send, sharedService } from '../helpers/service.ts';

/** One of the servers, with values that it issued. */
interface Side {
	url: string;
	person: Person;
	browser: Browser;
	clients: Record<'client' | 'other' | 'two' | 'still' | 'confidential' | 'posting', OAuthClient>;
}

let service: SharedService;
let other: OtherServer;
let ours: Side;
let theirs: Side;
before(async () => {
	service = await sharedService();
	other = await startOtherServer();
	const account = await registerAccount(service.url);
	ours = await sideAt((await publishGateway(account, { auth: 'oauth2' })).url, account);
	theirs = await sideAt(other.url, account);
});
after(async () => {
	await other.stop();
	await service.stop();
});

async function sideAt(url: string, person: Person): Promise<Side> {
	const clients = {
		client: await registerClient(url),
		other: await registerClient(url),
		two: await registerClient(url, { redirect_uris: [REDIRECT, 'http://127.0.0.1:7777/second'] }),
		still: await registerClient(url, { grant_types: ['authorization_code'] }),
		confidential: await registerClient(url, { token_endpoint_auth_method: 'client_secret_basic' }),
		posting: await registerClient(url, { token_endpoint_auth_method: 'client_secret_post' }),
	};
	return { url, person, browser: openBrowser(), clients };
}

/** Provides the values lazily, so that each case gets fresh codes and tokens. */
function givenBy({ url, person, browser, clients }: Side): Record<string, () => Promise<string>> {
	const { client, other: another, two, still, confidential, posting } = clients;
	const obtained = once(() => obtainCode(url, client, person, { browser, parameters: { scope: 'tools:read' } }));
	const tokens = once(async () => must(await redeem(url, client, await obtained()), 200).body);
	const constant = (value: string | null) => async () => value ?? '';
	return {
		$client: constant(client.id),
		$other: constant(another.id),
		$two: constant(two.id),
		$still: constant(still.id),
		$confidential: constant(confidential.id),
		$posting: constant(posting.id),
		$secret: constant(confidential.secret),
		$postingSecret: constant(posting.secret),
		$redirect: constant(client.redirectUri),
		$resource: constant(url),
		$challenge: async () => pkce((await obtained()).verifier).challenge,
		$verifier: async () => (await obtained()).verifier,
		$code: async () => (await obtained()).code,
		$usedCode: async () => tokens().then(async () => (await obtained()).code),
		$refresh: async () => (await tokens()).refresh_token,
		$access: async () => (await tokens()).access_token,
	};
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
	let made: Promise<T> | null = null;
	return () => {
		made ??= make();
		return made;
	};
}

type Given = ReturnType<typeof givenBy>;

/** Replaces the names of values, longer ones first, since `$posting` begins with another name. */
async function fill(text: string, given: Given): Promise<string> {
	let filled = text;
	for (const name of Object.keys(given).sort((a, b) => b.length - a.length))
		if (filled.includes(name)) filled = filled.replaceAll(name, (await given[name]?.()) ?? '');
	return filled;
}

async function encode(fields: Fields, given: Given): Promise<URLSearchParams> {
	const encoded = new URLSearchParams();
	for (const [name, value] of Object.entries(fields))
		for (const one of [value].flat()) if (one !== null) encoded.append(name, await fill(one, given));
	return encoded;
}

const BASES: Record<string, Fields> = {
	authorize: {
		response_type: 'code',
		client_id: '$client',
		redirect_uri: '$redirect',
		state: 'some state',
		code_challenge: 'c'.repeat(43),
		code_challenge_method: 'S256',
		scope: 'tools:read',
	},
	code: { grant_type: 'authorization_code', code: '$code', code_verifier: '$verifier', redirect_uri: '$redirect', client_id: '$client' },
	refresh: { grant_type: 'refresh_token', refresh_token: '$refresh', client_id: '$client' },
	revoke: { token: '$refresh', client_id: '$client' },
};

async function answerOf(side: Side, { at, base, change, headers = {} }: DifferentialCase): Promise<Outcome> {
	const given = givenBy(side);
	const url = `${side.url}/${at}`;
	// The change of a form holds only strings.
	const form = typeof change === 'string' ? change : { ...BASES[base ?? at], ...(change as Fields) };
	if (at === 'authorize') return authorized(`${url}?${await encode(form as Fields, given)}`);
	const metadata = typeof change === 'string' ? change : { ...METADATA, ...change };
	const body = at === 'register' ? metadata : typeof form === 'string' ? form : (await encode(form, given)).toString();
	const type = at === 'register' ? 'application/json' : 'application/x-www-form-urlencoded';
	const sent: Record<string, string> = { 'content-type': type };
	for (const [name, value] of Object.entries(headers)) sent[name] = encodeBasic(await fill(value, given));
	const answer = await send(url, 'POST', { body, headers: sent });
	return `${answer.status} ${answer.body?.error ?? ''}`.trim();
}

/** Sends a request without a login: a valid one gets a page, or a redirect to one. */
async function authorized(url: string): Promise<Outcome> {
	const answer = await fetch(url, { redirect: 'manual', headers: { accept: 'text/html' } });
	const location = answer.headers.get('location');
	if (location === null) return answer.status === 200 ? 'login' : `page ${answer.status}`;
	const target = new URL(location, url);
	if (target.origin === new URL(url).origin) return 'login';
	const error = target.searchParams.get('error') ?? new URLSearchParams(target.hash.slice(1)).get('error');
	return `client ${error}`;
}

const encodeBasic = (header: string): string =>
	header.startsWith('Basic ') && header.includes(':') ? `Basic ${Buffer.from(header.slice(6)).toString('base64')}` : header;

for (const one of DIFFERENTIAL_CASES) {
	const { id, at, base, answer } = one;
	test(`${base ?? at}, ${id}: ${typeof answer === 'string' ? answer : `${answer.ours}, there ${answer.theirs}`}`, async () => {
		const got = { ours: await answerOf(ours, one), theirs: await answerOf(theirs, one) };
		if (typeof answer === 'string') return assert.deepEqual(got, { ours: answer, theirs: answer });
		assert.deepEqual(got, { ours: answer.ours, theirs: answer.theirs });
	});
}

test('there are enough cases, no two of one name, and each difference has its reason', () => {
	assert.ok(DIFFERENTIAL_CASES.length >= 60, `${DIFFERENTIAL_CASES.length} cases`);
	assert.equal(new Set(DIFFERENTIAL_CASES.map(({ base, at, id }) => `${base ?? at} ${id}`)).size, DIFFERENTIAL_CASES.length);
	for (const { id, answer } of DIFFERENTIAL_CASES) {
		if (typeof answer === 'string') continue;
		assert.notEqual(answer.ours, answer.theirs, `${id}: this is no difference any more`);
		assert.match(answer.why, /(RFC \d{4}|OAuth 2\.1|MCP|OpenID).*§/, id);
	}
});
