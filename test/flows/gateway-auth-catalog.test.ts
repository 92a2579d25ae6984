// Tests validation rules with every method, and the rows of the catalog about a gateway's credentials (specification 5.2).

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import {
	ADDRESS_CASES,
	BASIC_CASES,
	CONFUSION_CASES,
	HEADER_CASES,
	JWKS_URL_CASES,
	KEY_CASES,
	PIPELINE_CASES,
	RULE_CASES,
	SCOPE_CASES,
	TOKEN_CASES,
} from '../catalog/identity.ts';
import { processCpuMs } from '../helpers/clock.ts';
import { ask, basic, bearer, type GuardedGateway, guardedGateway, issuerKey, LIST, MCP, startIssuer } from '../helpers/gateway-auth.ts';
import { sampled } from '../helpers/sampled.ts';
import { type Account, must, registerAccount, startTestService, type TestService } from '../helpers/service.ts';

const SECRET = 'm'.repeat(40);
const seconds = (): number => Math.floor(Date.now() / 1000);

let service: TestService;
let account: Account;
/** All types of methods. */
let methods: string[];
before(async () => {
	// One proxy is trusted, since the catalog's addresses are those of clients behind one.
	service = await startTestService({ env: { TRUST_PROXY: '127.0.0.1' }, passwordCost: 10 });
	account = await registerAccount(service.url);
	const { plugins } = must(await account.get('/plugins'), 200).body.data;
	methods = plugins.filter(({ kind }: { kind: string }) => kind === 'auth').map(({ name }: { name: string }) => name);
});
after(() => service.stop());

const keyOf = async ({ id }: { id: string }): Promise<string> =>
	must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'k' }), 201).body.data.key;

describe('validation rules, at every method (5.2 rule 5)', () => {
	/** Returns the headers of a valid credential for the method; null where it needs more than that. */
	const goodAt = async (type: string, gateway: GuardedGateway): Promise<Record<string, string> | null> => {
		if (type === 'none') return {};
		if (type === 'basic_auth') return basic(account.email, account.password);
		if (type === 'api_key' || type === 'bearer_token') return bearer(await keyOf(gateway));
		return type === 'jwt' ? bearer(account.token) : null;
	};

	/** Returns the cases of a method: in `npm test` every third one, from another one on at each method, so that each case is at some. */
	const dealt = <T>(cases: T[], at: number): T[] => sampled(cases, 3, at % 3);

	test('the methods that this is about are all there', () => {
		for (const name of ['none', 'api_key', 'bearer_token', 'basic_auth', 'jwt']) assert.ok(methods.includes(name), name);
	});

	test('81: an address outside of the ranges is a 403 with a good credential and without; inside, the method decides', async () => {
		for (const [at, type] of methods.entries()) {
			for (const { id, ranges, forwardedFor, isIn } of dealt(ADDRESS_CASES, at)) {
				const gateway = await guardedGateway(account, [{ type, validationRules: { allowedIpRanges: ranges } }]);
				const from = forwardedFor === null ? {} : { 'x-forwarded-for': forwardedFor };
				const without = await ask(gateway.url, from);
				assert.equal(without.status, isIn ? (type === 'none' ? 200 : 401) : 403, `${type}: ${id}`);
				const good = await goodAt(type, gateway);
				if (good) assert.equal((await ask(gateway.url, { ...from, ...good })).status, isIn ? 200 : 403, `${type}: ${id}`);
			}
		}
	});

	test('81, 82: a contradictory or malformed rule is refused with its field, whatever the method', async () => {
		const { id } = await guardedGateway(account, []);
		for (const [at, type] of methods.entries()) {
			for (const { id: name, rules } of dealt(RULE_CASES, at)) {
				const answer = await account.post(`/gateways/${id}/auth`, { type, validationRules: rules });
				assert.equal(answer.status, 400, `${type}: ${name}`);
				assert.match(answer.body.details[0].path, /^\/validationRules/, `${type}: ${name}`);
			}
		}
	});

	/** Sends header lines one by one, since `fetch` would join repeated ones. */
	const sendLines = (url: string, sent: [string, string][], headers: Record<string, string>): Promise<number> => {
		const body = JSON.stringify(LIST);
		const fixed = { ...MCP, ...headers, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
		const raw = [['host', new URL(url).host], ...Object.entries(fixed), ...sent].flat();
		return new Promise((resolve, reject) => {
			const outgoing = request(url, { method: 'POST', headers: raw }, (response) => {
				response.resume().once('end', () => resolve(response.statusCode ?? 0));
			});
			outgoing.once('error', reject).end(body);
		});
	};

	test('82: a required header must be there with a value, in any case; a good credential does not replace it', async () => {
		for (const [at, type] of methods.entries()) {
			for (const { id, required, sent, isIn } of dealt(HEADER_CASES, at)) {
				const gateway = await guardedGateway(account, [{ type, validationRules: { requiredHeaders: required } }]);
				assert.equal(await sendLines(gateway.url, sent, {}), isIn ? (type === 'none' ? 200 : 401) : 403, `${type}: ${id}`);
				const good = await goodAt(type, gateway);
				if (good) assert.equal(await sendLines(gateway.url, sent, good), isIn ? 200 : 403, `${type}: ${id}`);
			}
		}
	});
});

describe('the catalog, at the methods of a gateway', () => {
	let ofSecret: GuardedGateway;
	let ofPassword: GuardedGateway;
	let ofToken: GuardedGateway;
	before(async () => {
		ofSecret = await guardedGateway(account, [{ type: 'jwt', configuration: { secret: SECRET } }]);
		ofPassword = await guardedGateway(account, [{ type: 'basic_auth' }]);
		ofToken = await guardedGateway(account, [{ type: 'bearer_token' }]);
	});

	for (const { row, id, make, isOurs } of TOKEN_CASES) {
		test(`${row}: a JWT with ${id} is ${isOurs ? 'somebody else’s to judge' : 'refused'}`, async () => {
			const claims = { sub: 'a', exp: seconds() + 60 };
			const answer = await ask(ofSecret.url, bearer(make(claims, SECRET)));
			if (!isOurs) assert.equal(answer.status, 401, JSON.stringify(answer.body));
			assert.ok(answer.status < 500);
		});
	}

	test('70: a token made of what an issuer publishes is none of the issuer’s', async (t) => {
		const key = issuerKey('RS256', 'k');
		const issuer = await startIssuer(t, [key.jwk]);
		const { url } = await guardedGateway(account, [{ type: 'jwt', configuration: { jwksUrl: issuer.url } }]);
		const claims = { sub: 'a', exp: seconds() + 60 };
		assert.equal((await ask(url, bearer(key.token(claims)))).status, 200);
		for (const { id, make } of CONFUSION_CASES) {
			const answer = await ask(url, bearer(make({ kid: key.kid, key: key.publicKey }, claims)));
			assert.equal(answer.status, 401, id);
			assert.match(answer.headers.get('www-authenticate') ?? '', /error="invalid_token"/, id);
		}
		assert.equal(issuer.requests(), 1);
	});

	test('70: keys are not read from where the guard lets nobody, which is said when the method is added', async () => {
		const { id } = await guardedGateway(account, []);
		for (const { id: jwksUrl } of JWKS_URL_CASES) {
			const answer = await account.post(`/gateways/${id}/auth`, { type: 'jwt', configuration: { jwksUrl } });
			assert.equal(answer.status, 400, `${jwksUrl}: ${JSON.stringify(answer.body)}`);
		}
	});

	for (const { row, id, make } of BASIC_CASES) {
		test(`${row}: Basic with ${id} opens nothing`, async () => {
			const answer = await ask(ofPassword.url, { authorization: make(account.email, account.password) });
			assert.equal(answer.status, 401, JSON.stringify(answer.body));
		});
	}

	test('72: a flood of the right password costs one hash, and of wrong ones is answered without a 5xx', async () => {
		const good = basic(account.email, account.password);
		await ask(ofPassword.url, good);
		const cpuMs = await processCpuMs(async () => {
			const answers = await Promise.all(Array.from({ length: 200 }, () => ask(ofPassword.url, good)));
			assert.ok(answers.every(({ status }) => status === 200));
		});
		// At this cost a hash takes 60 ms, two hundred of them 12 s.
		assert.ok(cpuMs < 8_000, `${cpuMs} ms`);
		const wrong = await Promise.all(Array.from({ length: 8 }, (_, at) => ask(ofPassword.url, basic(account.email, `Wrong1Horse${at}`))));
		assert.ok(wrong.every(({ status }) => status === 401 || status === 429));
	});

	for (const { row, id, make } of KEY_CASES) {
		test(`${row}: bearer_token takes no key ${id}`, async () => {
			const bad = make(await keyOf(ofToken));
			assert.equal((await ask(ofToken.url, { 'x-api-key': bad })).status, 401);
			assert.equal((await ask(ofToken.url, bearer(bad))).status, 401);
		});
	}
});

test('the rows of the catalog about gateways are here, with cases', () => {
	const tables = [TOKEN_CASES, KEY_CASES, CONFUSION_CASES, JWKS_URL_CASES, BASIC_CASES, SCOPE_CASES, PIPELINE_CASES, RULE_CASES];
	const count = new Map<number, number>();
	for (const { row } of [...tables.flat(), ...ADDRESS_CASES, ...HEADER_CASES]) count.set(row, (count.get(row) ?? 0) + 1);
	assert.deepEqual([...count.keys()].sort(), [67, 70, 72, 73, 74, 76, 81, 82]);
	for (const [row, cases] of count) assert.ok(cases >= 5, `${row}: ${cases}`);
	assert.ok([...count.values()].reduce((sum, one) => sum + one) >= 200);
});
