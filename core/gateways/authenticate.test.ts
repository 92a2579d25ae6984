// Which challenges a refusal carries, in which order, by methods that a gateway of ours does not have yet.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Joi from 'joi';
import type { Context } from '../contract/context.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { AuthMethod } from '../contract/kinds.ts';
import type { Caller, Gateway, Incoming } from '../contract/nouns.ts';
import { authenticate, type MountedMethod, scopeChallenge } from './authenticate.ts';

// Nothing else of them is read.
const gateway = { url: 'https://gatehouse.example/acme/main' } as Partial<Gateway> as Gateway;
const incoming = (headers: Record<string, string> = {}): Incoming => ({ headers, address: '127.0.0.1' }) as Partial<Incoming> as Incoming;
const context = {} as Context;

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
	const around = { contextOf: () => context, onBadCredential: async () => undefined };
	const thrown: unknown = await authenticate(incoming(headers), gateway, methods, around).then(
		() => assert.fail('admitted'),
		(error: unknown) => error,
	);
	return asGatewayError(thrown) ?? assert.fail(thrown as Error);
}

const challenge = async (methods: MountedMethod[]): Promise<string | undefined> => (await refusal(methods)).headers['www-authenticate'];

describe('challenges', () => {
	test('the one that says where OAuth begins comes first, other Bearer ones next, then the rest (decisions, 26)', async () => {
		const methods = [method('b', 'none', basic), method('k', 'none', bearer), method('o', 'none', oauth)];
		assert.equal(await challenge(methods), 'Bearer resource_metadata="https://m.example", Bearer realm="r", Basic realm="r"');
	});

	test('two methods that ask alike ask once, and for the one whose credential was bad', async () => {
		const error = 'Bearer realm="r", error="invalid_token"';
		assert.equal(await challenge([method('a', 'none', bearer), method('b', 'none', bearer)]), 'Bearer realm="r"');
		assert.equal(await challenge([method('a', 'unauthorized', bearer), method('b', 'none', bearer)]), error);
		assert.equal(await challenge([method('a', 'none', bearer), method('b', 'unauthorized', bearer)]), error);
		assert.equal(await challenge([method('a', 'unauthorized', bearer), method('b', 'unauthorized', bearer)]), error);
	});

	test('each method says only what became of its own credential', async () => {
		const methods = [method('k', 'unauthorized', bearer), method('o', 'none', oauth)];
		assert.equal(await challenge(methods), 'Bearer resource_metadata="https://m.example", Bearer realm="r", error="invalid_token"');
	});

	test('a credential that is good elsewhere is no invalid one; a 403 asks for nothing', async () => {
		assert.equal(await challenge([method('a', 'forbidden', bearer), method('b', 'none', basic)]), 'Bearer realm="r", Basic realm="r"');
		const last = await refusal([method('b', 'none', basic), method('a', 'forbidden', bearer)]);
		assert.deepEqual([last.code, last.headers], ['forbidden', {}]);
	});

	test('a method whose rule fails was not asked, so its credential was not bad', async () => {
		const rules = { requiredHeaders: ['X-Team'] };
		assert.equal(
			await challenge([method('a', 'unauthorized', bearer, rules), method('b', 'none', basic)]),
			'Bearer realm="r", Basic realm="r"',
		);
	});
});

describe('what a gateway says it takes', () => {
	const taking = (name: string, outcome: Outcome, takes?: (config: unknown) => string): MountedMethod => {
		const made = method(name, outcome, bearer);
		return { ...made, config: { header: 'X-Key' }, plugin: { ...made.plugin, ...(takes && { takes }) } };
	};
	const key = (config: unknown): string => `a key in ${(config as { header: string }).header}`;

	test('is what its admitting methods say of themselves, by their configuration, each once', async () => {
		assert.equal((await refusal([taking('k', 'none', key)])).message, 'Send a key in X-Key.');
		const several = [taking('k', 'none', key), taking('l', 'none', key), taking('m', 'none'), taking('b', 'none', () => 'a password')];
		assert.equal((await refusal(several)).message, 'Send a key in X-Key, or a password.');
		assert.equal((await refusal([taking('m', 'none')])).message, 'A credential is required.');
		assert.match((await refusal([])).message, /no authentication configured/);
	});

	test('is not said of a credential that is bad, of a method whose rule fails, or of one that admits nobody', async () => {
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

	test('is told by the method that admitted the caller, with what they have and what is missing, once each', () => {
		assert.equal(asked('o'), 'Bearer {"error":"insufficient_scope","scopes":["tools:read","tools:execute"]}');
		assert.match(scopeChallenge('tools:read', { gateway, caller: { ...CALLER, method: 'o' }, methods }) ?? '', /\["tools:read"\]/);
	});

	test('is not told by a method that takes no Bearer tokens, or is gone', () => {
		assert.equal(asked('b'), null);
		assert.equal(asked('other'), null);
	});
});
