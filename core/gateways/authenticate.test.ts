// Tests of the challenges of a refusal and their order, with methods that no gateway has yet.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Joi from 'joi';
import type { GateContext } from '../contract/admission.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { AuthMethod } from '../contract/kinds.ts';
import type { Caller, Gateway, Incoming } from '../contract/nouns.ts';
import { authenticate, type MountedMethod, scopeChallenge } from './authenticate.ts';

// No other member of the gateway is read.
const gateway = { url: 'https://gatehouse.example/acme/main' } as Partial<Gateway> as Gateway;
const incoming = (headers: Record<string, string> = {}): Incoming => ({ headers, address: '127.0.0.1' }) as Partial<Incoming> as Incoming;
const context = {} as GateContext;

const CALLER: Caller = { method: 'x', subject: 'x', scopes: ['tools:read'] };
type Outcome = 'admits' | 'none' | 'unauthorized' | 'forbidden';

function method(name: string, outcome: Outcome, challenge?: AuthMethod['challenge'], rules: MountedMethod['rules'] = {}): MountedMethod {
	const plugin: AuthMethod = {
		kind: 'auth',
		name,
		summary: 'Of a test.',
		config: Joi.object({}),
		async authenticate() {
			if (outcome === 'admits') return CALLER;
			if (outcome === 'none') return null;
			throw new GatewayError(outcome, `${name} refuses`);
		},
		...(challenge && { challenge }),
	};
	return { plugin, isRequired: true, config: {}, rules };
}

const bearer: AuthMethod['challenge'] = (_gateway, _config, fault) => `Bearer realm="r"${fault ? `, error="${fault.error}"` : ''}`;
const oauth: AuthMethod['challenge'] = (_gateway, _config, fault) =>
	`Bearer ${fault ? `error="${fault.error}", ` : ''}resource_metadata="https://m.example"`;
const basic: AuthMethod['challenge'] = () => 'Basic realm="r"';

async function refusal(methods: MountedMethod[], headers: Record<string, string> = {}): Promise<GatewayError> {
	const around = { contextOf: () => context, given: () => undefined, onBadCredential: async () => undefined };
	const thrown: unknown = await authenticate(incoming(headers), gateway, methods, around).then(
		() => assert.fail('admitted'),
		(error: unknown) => error,
	);
	return asGatewayError(thrown) ?? assert.fail(thrown as Error);
}

const challenge = async (methods: MountedMethod[]): Promise<string | undefined> => (await refusal(methods)).headers['www-authenticate'];

describe('challenges', () => {
	test('the one that names the OAuth metadata comes first, other Bearer ones next, then the rest (decisions, 26)', async () => {
		const methods = [method('b', 'none', basic), method('k', 'none', bearer), method('o', 'none', oauth)];
		assert.equal(await challenge(methods), 'Bearer resource_metadata="https://m.example", Bearer realm="r", Basic realm="r"');
	});

	test('two methods with the same challenge send it once, for the one whose credential was bad', async () => {
		const error = 'Bearer realm="r", error="invalid_token"';
		assert.equal(await challenge([method('a', 'none', bearer), method('b', 'none', bearer)]), 'Bearer realm="r"');
		assert.equal(await challenge([method('a', 'unauthorized', bearer), method('b', 'none', bearer)]), error);
		assert.equal(await challenge([method('a', 'none', bearer), method('b', 'unauthorized', bearer)]), error);
		assert.equal(await challenge([method('a', 'unauthorized', bearer), method('b', 'unauthorized', bearer)]), error);
	});

	test('each method reports only on its own credential', async () => {
		const methods = [method('k', 'unauthorized', bearer), method('o', 'none', oauth)];
		assert.equal(await challenge(methods), 'Bearer resource_metadata="https://m.example", Bearer realm="r", error="invalid_token"');
	});

	test('a refused credential is what is told, also where a later method has found none', async () => {
		const [bad, none] = [method('k', 'unauthorized', bearer), method('o', 'none', oauth)];
		for (const methods of [
			[bad, none],
			[none, bad],
		])
			assert.equal((await refusal(methods)).message, 'k refuses');
		const { code, message } = await refusal([method('k', 'forbidden'), bad, none, method('f', 'forbidden')]);
		assert.deepEqual([code, message], ['forbidden', 'f refuses']);
		assert.equal((await refusal([method('f', 'forbidden'), none])).message, 'A credential is required.');
	});

	test('a credential that is valid elsewhere is not called invalid; a 403 carries no challenge', async () => {
		assert.equal(await challenge([method('a', 'forbidden', bearer), method('b', 'none', basic)]), 'Bearer realm="r", Basic realm="r"');
		const last = await refusal([method('b', 'none', basic), method('a', 'forbidden', bearer)]);
		assert.deepEqual([last.code, last.headers], ['forbidden', {}]);
	});

	test('a method whose rule fails is skipped, so its credential is not called invalid', async () => {
		const rules = { requiredHeaders: ['X-Team'] };
		assert.equal(
			await challenge([method('a', 'unauthorized', bearer, rules), method('b', 'none', basic)]),
			'Bearer realm="r", Basic realm="r"',
		);
	});
});

test('a method that gives no answer within 30 s ends the request, and the next one is not asked', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const silent = method('s', 'none');
	const methods = [
		{ ...silent, plugin: { ...silent.plugin, authenticate: () => new Promise<never>(() => undefined) } },
		method('a', 'admits'),
	];
	const around = { contextOf: () => context, given: () => undefined, onBadCredential: async () => undefined };
	const asked = authenticate(incoming(), gateway, methods, around);
	t.mock.timers.tick(30_000);
	await assert.rejects(asked, { message: 'auth:s: authenticate gave no answer within 30 s.' });
});

test('an error that nobody foresaw is a fault that names the method and its function, however it is thrown', async () => {
	const faulty = method('s', 'none');
	const around = { contextOf: () => context, given: () => undefined, onBadCredential: async () => undefined };
	for (const thrown of [new TypeError('canary'), 'canary', null]) {
		const atOnce = (): never => {
			throw thrown;
		};
		for (const asking of [atOnce, () => Promise.reject(thrown)]) {
			const methods = [{ ...faulty, plugin: { ...faulty.plugin, authenticate: asking } }];
			const cause = { name: 'PluginFault', message: 'auth:s: authenticate failed unexpectedly.', cause: thrown };
			await assert.rejects(authenticate(incoming(), gateway, methods, around), cause);
		}
	}
});

describe('the credentials that a refusal asks for', () => {
	const taking = (name: string, outcome: Outcome, takes?: (config: unknown) => string): MountedMethod => {
		const made = method(name, outcome, bearer);
		return { ...made, config: { header: 'X-Key' }, plugin: { ...made.plugin, ...(takes && { takes }) } };
	};
	const key = (config: unknown): string => `a key in ${(config as { header: string }).header}`;

	test('are those that the admitting methods name by their configuration, each once', async () => {
		assert.equal((await refusal([taking('k', 'none', key)])).message, 'Send a key in X-Key.');
		const several = [taking('k', 'none', key), taking('l', 'none', key), taking('m', 'none'), taking('b', 'none', () => 'a password')];
		assert.equal((await refusal(several)).message, 'Send a key in X-Key, or a password.');
		assert.equal((await refusal([taking('m', 'none')])).message, 'A credential is required.');
		assert.match((await refusal([])).message, /no authentication configured/);
	});

	test('leave out bad credentials, methods whose rule fails, and methods that admit nobody', async () => {
		const ruled = { ...taking('r', 'none', () => 'a password'), rules: { requiredHeaders: ['X-Team'] } };
		assert.equal((await refusal([ruled, taking('k', 'none', key)])).message, 'Send a key in X-Key.');
		assert.equal((await refusal([taking('k', 'none', key), taking('b', 'unauthorized', () => 'x')])).message, 'b refuses');
		const optional = { ...taking('o', 'none', () => 'a password'), isRequired: false };
		assert.equal((await refusal([taking('k', 'none', key), optional])).message, 'Send a key in X-Key.');
	});
});

describe('insufficient_scope', () => {
	const methods = [method('b', 'none', basic), method('o', 'none', (_gateway, _config, fault) => `Bearer ${JSON.stringify(fault)}`)];
	const asked = (name: string): string | null => scopeChallenge('tools:execute', { gateway, caller: { ...CALLER, method: name }, methods });

	test('is reported by the method that admitted the caller, with the present and the missing scopes, each once', () => {
		assert.equal(asked('o'), 'Bearer {"error":"insufficient_scope","scopes":["tools:read","tools:execute"]}');
		assert.match(scopeChallenge('tools:read', { gateway, caller: { ...CALLER, method: 'o' }, methods }) ?? '', /\["tools:read"\]/);
	});

	test('is not reported by a method without Bearer tokens, or one that was removed', () => {
		assert.equal(asked('b'), null);
		assert.equal(asked('other'), null);
	});
});
