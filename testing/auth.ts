// The contract of every authentication method.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GateContext, Received } from '../core/contract/admission.ts';
import type { Identity } from '../core/contract/context.ts';
import { asGatewayError } from '../core/contract/errors.ts';
import type { AuthMethod } from '../core/contract/kinds.ts';
import type { Caller, Incoming, JsonObject } from '../core/contract/nouns.ts';
import { schemeOf } from '../core/gateways/admission.ts';
import type { MountedMethod } from '../core/gateways/authenticate.ts';
import { checkCaller, checkChallenge, checkTakes } from '../core/gateways/check-caller.ts';
import { assertHidden, CANARY, isSecretive, type PlantedPlugin, plantedFor, type SecretConfigs } from './canary.ts';
import { type ConfigSamples, describeManifest, frozen } from './config.ts';
import { type FakeCall, type FakeCallOptions, fakeCall } from './fake-call.ts';
import { fakeRequest, sampleGateway } from './samples.ts';
import { patiently } from './waiting.ts';

export interface AuthOptions extends Omit<ConfigSamples, 'good'> {
	/** A config with which the requests below are admitted or refused, each of its secrets a text. */
	config: JsonObject;
	/** Configs that hold each secret of the schema; fields that may be added to `config` are filled without it. Default: `config`. */
	secretConfig?: SecretConfigs;
	/** The operator's configuration. */
	operator?: JsonObject;
	/** Requests whose credential is good; none for a method whose callers come otherwise. */
	admitted: readonly Partial<Incoming>[];
	/** Requests with a credential of this kind that is no good. */
	refused: readonly Partial<Incoming>[];
	/** Whether a request without any credential is admitted. Default: it is not. */
	isOpen?: boolean;
	/** The accounts and keys that core's identity knows. */
	identity?: Partial<Identity>;
	/** Addresses that the method may call, as EGRESS_ALLOW has them. */
	allow?: readonly string[];
}

type AuthFixture = AuthOptions & { method: AuthMethod };

/** Header values that must neither be admitted nor bring anything down. */
const HOSTILE = [
	'',
	' ',
	'Bearer',
	'Bearer ',
	'Basic',
	'Basic !',
	'Basic Og==',
	'Bearer a.b.c',
	'Bearer \u00ff',
	`Bearer ${'x'.repeat(16_000)}`,
	'null',
];
const REFUSALS = ['unauthorized', 'forbidden', 'rate_limited'];

/** Registers the tests that hold a method to its contract. */
export function authContract(method: AuthMethod, options: AuthOptions): void {
	const fixture: AuthFixture = { method, ...options };
	const { config, isOpen = false } = options;

	describe(`${method.name} keeps the authentication methods’ contract`, () => {
		describeManifest(method, { good: config, bad: options.bad });

		test('a request without a credential has no caller, and is not refused as one with a wrong credential', async () => {
			const { caller } = await attempt(fixture, {});
			assert.equal(caller !== null, isOpen);
		});

		test('a good credential gives a caller that core takes, the same each time', async () => {
			for (const request of options.admitted) {
				const [first, second] = [await attempt(fixture, request), await attempt(fixture, request)];
				assert.ok(first.caller, `it was not admitted: ${first.refusal?.message}`);
				assert.equal(second.caller?.subject, first.caller.subject);
			}
		});

		test('a credential that is no good is refused with a code of refusals, or left to other methods', async () => {
			for (const request of options.refused) {
				const { caller, refusal } = await attempt(fixture, request);
				assert.equal(caller, null, 'it was admitted');
				if (refusal) assert.ok(REFUSALS.includes(refusal.code), refusal.code);
			}
		});

		test('whatever stands in the headers, the query or a cookie admits nobody and brings nothing down', async () => {
			for (const value of HOSTILE)
				for (const place of placesOf(method, config, value)) {
					const { caller, refusal } = await attempt(fixture, place);
					assert.equal(caller !== null, isOpen, `${value.slice(0, 40)} was admitted`);
					if (refusal) assert.ok(REFUSALS.includes(refusal.code), refusal.code);
				}
		});

		if (method.verifyBody)
			test('it checks the body of whom it admitted, and refuses one by throwing', async () => {
				for (const request of options.admitted) {
					const { refusal } = await checkBody(fixture, request, config);
					if (refusal) assert.ok(REFUSALS.includes(refusal.code), refusal.code);
				}
			});

		test('what it tells clients is a line, and its scheme is JSON', async () => {
			const parsed = parse(fixture, config);
			const gateway = sampleGateway();
			checkTakes(method.name, method.takes?.(parsed));
			for (const line of [method.challenge?.(gateway, parsed, null), method.challenge?.(gateway, parsed, { error: 'invalid_token' })])
				if (line !== undefined) assert.match(checkChallenge(method.name, line), /^[\x20-\x7e]+$/);
			// The check reads no other members.
			const mounted = { plugin: method, shownConfig: () => parsed } as unknown as MountedMethod;
			const scheme = schemeOf(mounted, gateway);
			if (scheme) assert.deepEqual(JSON.parse(JSON.stringify(scheme)), scheme);
		});

		if (isSecretive(method))
			test('a secret of the config is in no caller, refusal, challenge, scheme or line of the log', async () => {
				for (const planted of await plantedFor(method, options.secretConfig ?? config, options.operator))
					await assertKept(fixture, planted);
			});
	});
}

async function assertKept(fixture: AuthFixture, { config, operator, texts }: PlantedPlugin): Promise<void> {
	const { method, admitted, refused } = fixture;
	const parsed = parse(fixture, config);
	const gateway = sampleGateway();
	const planted = { ...fixture, ...(operator && { operator }) };
	for (const request of [{}, ...admitted, ...refused, { headers: { authorization: `Bearer ${CANARY}x` } }]) {
		const { caller, refusal, fake } = await attempt(planted, request, config);
		for (const [what, seen] of Object.entries({ caller, refusal, log: fake.lines })) assertHidden(`the ${what}`, seen, texts);
	}
	for (const request of method.verifyBody ? admitted : []) {
		const { refusal, fake } = await checkBody(planted, request, config);
		for (const [what, seen] of Object.entries({ refusal, log: fake.lines })) assertHidden(`the ${what} of verifyBody`, seen, texts);
	}
	assertHidden('takes', method.takes?.(parsed) ?? null, texts);
	assertHidden('the challenge', method.challenge?.(gateway, parsed, { error: 'invalid_token' }) ?? null, texts);
	assertHidden('the scheme', method.scheme?.(gateway, parsed) ?? null, texts);
}

interface Attempt {
	caller: Readonly<Caller> | null;
	refusal: { code: string; message: string } | null;
	fake: FakeCall;
}

/** Authenticates a request, with nothing kept from others. @throws what is no error of ours */
async function attempt(fixture: AuthFixture, request: Partial<Incoming>, config = fixture.config): Promise<Attempt> {
	const { method } = fixture;
	const given = new Map<string, Caller>();
	await using fake = fakeCall(callOf(fixture, request, given));
	try {
		const work = method.authenticate(fakeRequest(request), parse(fixture, config), fake.call as GateContext);
		const found = await patiently(work, 'authenticate');
		return { caller: checkCaller(method.name, found, (subject) => given.get(subject)), refusal: null, fake };
	} catch (error) {
		const refusal = asGatewayError(error);
		if (!refusal) throw error;
		return { caller: null, refusal, fake };
	}
}

/** Has the body of a request checked, whose caller is the one that the config of the test admits. @throws what is no error of ours */
async function checkBody(fixture: AuthFixture, request: Partial<Incoming>, config: JsonObject): Promise<Omit<Attempt, 'caller'>> {
	const { method } = fixture;
	const { caller } = await attempt(fixture, request, fixture.config);
	assert.ok(caller, 'it was not admitted');
	const received: Received = { ...fakeRequest(request), body: null, rawBody: rawOf(request.body) };
	await using fake = fakeCall(callOf(fixture, request, new Map()));
	try {
		const checking = Promise.resolve(method.verifyBody?.(received, caller, parse(fixture, config), fake.call as GateContext));
		const answer: unknown = await patiently(checking, 'verifyBody');
		assert.equal(answer, undefined, 'verifyBody must return nothing: it refuses by throwing');
		return { refusal: null, fake };
	} catch (error) {
		const refusal = asGatewayError(error);
		if (!refusal) throw error;
		return { refusal, fake };
	}
}

/** Returns the bytes of a body; those of JSON unless the test gives bytes or a text. */
function rawOf(body: unknown): Buffer {
	if (Buffer.isBuffer(body)) return body;
	return Buffer.from(typeof body === 'string' ? body : (JSON.stringify(body ?? undefined) ?? ''));
}

const callOf = (
	{ method, identity = {}, allow = [], operator }: AuthFixture,
	request: Partial<Incoming>,
	given: Map<string, Caller>,
): FakeCallOptions => ({
	...{ plugin: method, caller: null, request, allow, identity: noting(identity, given) },
	...(operator && { operator }),
});

/** Notes the callers that identity gives, which alone may say who they are. */
function noting(identity: Partial<Identity>, given: Map<string, Caller>): Partial<Identity> {
	const note =
		<A extends unknown[]>(ask: (...args: A) => Promise<Caller | null>) =>
		async (...args: A): Promise<Caller | null> => {
			const caller = await ask(...args);
			if (caller) given.set(caller.subject, caller);
			return caller;
		};
	return {
		...identity,
		...(identity.credential && { credential: note(identity.credential) }),
		...(identity.password && { password: note(identity.password) }),
		...(identity.member && { member: note(identity.member) }),
		// It never gives null.
		...(identity.token && { token: note(identity.token) as Identity['token'] }),
	};
}

const parse = ({ method }: AuthFixture, config: JsonObject): unknown => {
	const { value, error } = method.config.validate(config);
	assert.equal(error, undefined);
	return frozen<unknown>(value);
};

const placesOf = (method: AuthMethod, config: JsonObject, value: string): Partial<Incoming>[] => [
	...['authorization', 'x-api-key', ...(method.secretHeaders?.(method.config.validate(config).value) ?? [])].map((name) => ({
		headers: { [name.toLowerCase()]: value },
	})),
	{ query: new URLSearchParams({ api_key: value }) },
	{ headers: { cookie: `gatehouse_token=${value}` } },
];
