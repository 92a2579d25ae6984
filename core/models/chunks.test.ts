// Tests the reading of what providers yield and list: whatever a plugin does, the call ends, and its faults name it.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import Joi from 'joi';
import { modelsAt, PROVIDER_ID } from '../../test/helpers/model-connections.ts';
import type { ChatChunk, LlmProvider } from '../contract/providers.ts';
import { LEAVE_MS } from '../process/hooks.ts';
import { SILENCE_MS } from './call-time.ts';
import { checkModels } from './check-provider.ts';

const CONFIG = Joi.object({ baseUrl: Joi.string().description('Its address.'), apiKey: Joi.string().description('Its key.') });
const ASKED = { providerId: PROVIDER_ID, messages: [{ role: 'user' as const, content: 'x' }] };
const END: ChatChunk = { type: 'end', reason: 'stop', model: 'm', usage: null };
const never = (): Promise<never> => new Promise(() => undefined);

/** Connects a provider with this `chat`. */
const connected = (t: TestContext, chat: unknown) => {
	const plugin = { ...{ kind: 'provider', api: 1, name: 'odd', summary: 'Odd.', config: CONFIG }, chat } as LlmProvider;
	return modelsAt(t, 'https://models.example.com', { provider: 'odd', plugin });
};

/** Lets all promises settle that can. */
async function settle(): Promise<void> {
	for (let turn = 0; turn < 10; turn++) await immediate();
}

test('a chat that goes on although its signal aborted ends the call as late, in its name, and the call is counted', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	for (const before of [[], [{ type: 'text', text: 'x' }]]) {
		const { models, settled } = connected(t, async function* () {
			yield* before;
			await never();
		});
		const asking = models.ask(ASKED);
		asking.catch(() => undefined);
		await settle();
		t.mock.timers.tick(SILENCE_MS);
		await settle();
		t.mock.timers.tick(LEAVE_MS);
		const message = 'provider:odd: chat did not end within 5 s after its signal aborted.';
		await assert.rejects(asking, { name: 'PluginFault', code: 'upstream_timeout', message });
		assert.equal(settled.length, 1);
	}
});

test('a chat that does not end in order holds nobody: the answer is what was read', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const { models } = connected(t, async function* () {
		try {
			yield END;
		} finally {
			await never();
		}
	});
	const asking = models.ask(ASKED);
	await settle();
	t.mock.timers.tick(LEAVE_MS);
	assert.equal((await asking).model, 'm');
});

test('what is no chat, and an error of its own, is a fault that names it', async (t) => {
	const wrong: [chat: unknown, said: RegExp][] = [
		[() => undefined, /chat must return an async iterable/],
		[async () => [END], /chat must return an async iterable/],
		[() => ({ [Symbol.asyncIterator]: () => ({ next: async () => undefined }) }), /next of the iterator of chat must return an object/],
		[
			() => {
				throw new TypeError('canary');
			},
			/chat failed unexpectedly/,
		],
		[
			// biome-ignore lint/correctness/useYield: it fails before its first chunk
			async function* () {
				throw new TypeError('canary');
			},
			/chat failed unexpectedly/,
		],
	];
	for (const [chat, said] of wrong)
		await assert.rejects(
			connected(t, chat).models.ask(ASKED),
			({ name, message }: Error) => name === 'PluginFault' && message.startsWith('provider:odd: ') && said.test(message),
			String(said),
		);
});

test('models are a list of objects with names', () => {
	const good = [{ id: 'a', details: { size: 1 } }, { id: 'b' }];
	assert.deepEqual(checkModels('provider:odd', good), good);
	for (const wrong of [undefined, null, {}, ['a'], [{}], [{ id: '' }], [{ id: 7 }], Array.from({ length: 10_001 }, () => ({ id: 'a' }))])
		assert.throws(
			() => checkModels('provider:odd', wrong),
			/^PluginFault: provider:odd: models must return a list of at most 10000 objects/,
		);
});
