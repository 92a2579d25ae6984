// The contract of every model provider, whatever its wire. A new provider joins by a `contract.test.ts` beside it that provides a fixture.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { asGatewayError } from '../core/contract/errors.ts';
import { createEgress } from '../core/egress/egress.ts';
import type { ChatChunk, ChatRequest, ChatToolCall, JsonObject, LlmProvider, ProviderContext } from '../core/index.ts';
import { assertHidden, isSecretive, plantedFor, type SecretConfigs } from './canary.ts';
import { type LogLine, logInto } from './collected-log.ts';
import { type ConfigSamples, describeManifest, frozen, operatorFor } from './config.ts';
import { loopbackCall } from './fake-call.ts';
import { type Folded, fold } from './provider-answers.ts';
import type { Upstream } from './upstream.ts';
import { isBeforeTimer, lentBy, saving, SILENT as silent, until } from './waiting.ts';

/**
 * Behaviour of a provider's server. `echo` answers with the text of the last message, in several pieces that are torn within characters, and tells USAGE; `tools` asks for
 * both CALLS, their arguments in several pieces; `pause` sends one piece and no more; `flood` sends pieces without end; `refuse` refuses
 * the request, `key` the key, with the key in its answer; `busy` asks to wait for 7 seconds; `fail` is broken; `reset` closes the
 * connection before an answer, `break` in the middle of one; `cut` ends an answer in order, before it is whole; `nonsense` sends what its wire does not have; `hang` never answers.
 */
export type ModelBehaviour =
	| ('echo' | 'tools' | 'pause' | 'flood' | 'hang')
	| ('refuse' | 'key' | 'busy' | 'fail' | 'reset' | 'break' | 'cut' | 'nonsense');

export interface ProviderOptions extends Omit<ConfigSamples, 'good'> {
	/** Starts a server on a free port of 127.0.0.1 that ends with the test. */
	start(t: TestContext, behaviour: ModelBehaviour): Promise<Upstream & { requests(): number }>;
	/** Builds the config of a connection there, with KEY as its key. */
	config(origin: string): JsonObject;
	/** A model whose price the provider itself knows; null when there is none. */
	priced: string | null;
	/** Builds configs that hold each secret of the schema; fields that may be added to `config` are filled without it. Default: `config`. */
	secretConfig?(origin: string): SecretConfigs;
	/** The operator's configuration. */
	operator?: JsonObject;
}

export const KEY = 'canary-0123456789abcdef';
export const USAGE = { inputTokens: 1200, outputTokens: 34, cachedTokens: 1000 };
export const CALLS: readonly ChatToolCall[] = [
	{ id: 'call-1', name: 'weather', arguments: '{"city":"Zürich","days":3}' },
	{ id: 'call-2', name: 'time', arguments: '{}' },
];

const AT_ONCE = 20;
const PRIVATE = ['http://10.0.0.1', 'http://169.254.169.254', 'http://[fd00::1]'];

const asking = (text: string): ChatRequest => ({ model: 'small', messages: [{ role: 'user', content: text }] });

/** A request with every member, and a message of every role. */
const FULL: ChatRequest = {
	model: 'small',
	messages: [
		{ role: 'system', content: 'Be brief.' },
		{
			role: 'user',
			content: [
				{ type: 'text', text: 'What is it?' },
				{ type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
			],
		},
		{ role: 'assistant', content: null, toolCalls: CALLS },
		...CALLS.map(({ id }) => ({ role: 'tool' as const, toolCallId: id, content: '{"ok":true}' })),
		{ role: 'assistant', content: 'Well.' },
		{ role: 'user', content: 'full' },
	],
	tools: [{ name: 'weather', description: 'Tells the weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } } }],
	toolChoice: { name: 'weather' },
	parallelToolCalls: false,
	output: { name: 'answer', schema: { type: 'object' } },
	temperature: 0.5,
	topP: 0.9,
	maxTokens: 100,
	stop: ['\n\n'],
	seed: 7,
	extra: { user: 'ada' },
};

type ProviderFixture = ProviderOptions & { provider: LlmProvider };

/** Registers the tests that hold a provider to its contract. */
export function providerContract(provider: LlmProvider, options: ProviderOptions): void {
	const fixture: ProviderFixture = { provider, ...options };
	const { start } = fixture;
	const parsed = (origin: string): unknown => frozen(provider.config.validate(fixture.config(origin)).value);
	const ask = (origin: string, request: ChatRequest, context: ProviderContext): AsyncIterable<ChatChunk> =>
		provider.chat(frozen(request), parsed(origin), context);
	const answer = async (t: TestContext, behaviour: ModelBehaviour, request = asking('hello')): Promise<Folded> =>
		fold(ask((await start(t, behaviour)).origin, request, lend(fixture, t)));

	describe(`${provider.name} keeps the providers’ contract`, () => {
		describeManifest(provider, { good: fixture.config('https://api.example.com'), bad: fixture.bad });

		test('an answer comes in pieces and ends with its model, its reason and its tokens', async (t) => {
			const { text, calls, end } = await answer(t, 'echo', asking('grüße 😀 "\\ \u2028'));
			assert.deepEqual([text, calls, end.reason], ['grüße 😀 "\\ \u2028', [], 'stop']);
			const { costMicroUsd, ...tokens } = end.usage ?? assert.fail('no usage');
			assert.deepEqual(tokens, USAGE);
			assert.ok(costMicroUsd === null || costMicroUsd > 0, 'an unknown cost is null');
		});

		test('a request with every member and every role is sent', async (t) => {
			assert.equal((await answer(t, 'echo', FULL)).text, 'full');
		});

		test('tools are asked for by name and id, with their arguments as the model wrote them', async (t) => {
			const { calls, end } = await answer(t, 'tools');
			assert.deepEqual([calls, end.reason], [CALLS, 'tool_calls']);
		});

		test('a piece is handed on before the next one arrives', async (t) => {
			const { origin } = await start(t, 'pause');
			const chunks = ask(origin, asking('x'), lend(fixture, t))[Symbol.asyncIterator]();
			const first = await chunks.next();
			assert.ok(!first.done && first.value.type === 'text');
			await chunks.return?.();
		});

		test(`${AT_ONCE} answers at once do not mix`, async (t) => {
			const { origin } = await start(t, 'echo');
			const context = lend(fixture, t);
			const texts = Array.from({ length: AT_ONCE }, (_, at) => `question ${at}`);
			const answers = await Promise.all(texts.map((text) => fold(ask(origin, asking(text), context))));
			assert.deepEqual(
				answers.map(({ text }) => text),
				texts,
			);
		});

		describe('It fails', () => describeFailures(fixture, ask));
		describe('It stops', () => describeStops(fixture, ask));

		if (isSecretive(provider))
			test('a secret of the config is in no piece, model, price, error or line of the log', async (t) => {
				for (const behaviour of ANSWERING) await assertKept(fixture, (await start(t, behaviour)).origin, t);
			});

		if (provider.check)
			test('a connection to a private address is refused when it is saved', async () => {
				const egress = createEgress({ allow: [] });
				try {
					for (const origin of PRIVATE)
						await assert.rejects(
							provider.check?.(parsed(origin), { ...saving(egress.check), operator: operatorFor(provider, fixture.operator) }) ??
								assert.fail(),
							withCode('egress_refused'),
							origin,
						);
				} finally {
					await egress.close();
				}
			});

		if (provider.models)
			test('its models are listed by their names', async (t) => {
				const { origin } = await start(t, 'echo');
				const models = (await provider.models?.(parsed(origin), lend(fixture, t))) ?? [];
				assert.ok(models.length > 0 && models.every(({ id }) => typeof id === 'string' && id !== ''));
			});

		if (provider.prices)
			test('an unknown price is null, a known one a number for each kind of token', () => {
				const prices = (model: string) => provider.prices?.(model, parsed('https://api.example.com'));
				assert.equal(prices('no-such-model-0123'), null);
				if (fixture.priced === null) return;
				const { input, output, cached = 0 } = prices(fixture.priced) ?? assert.fail('no price');
				for (const price of [input, output, cached]) assert.ok(Number.isFinite(price) && price >= 0);
			});
	});
}

/** The behaviours after which a chat ends by itself. */
const ANSWERING = ['echo', 'tools', 'refuse', 'key', 'busy', 'fail', 'reset', 'break', 'cut', 'nonsense'] as const;

async function assertKept(fixture: ProviderFixture, origin: string, t: TestContext): Promise<void> {
	const { provider, config, secretConfig = config, operator: given } = fixture;
	for (const { config: planted, operator, texts } of await plantedFor(provider, secretConfig(origin), given)) {
		const lines: LogLine[] = [];
		const context = { ...lend({ provider, operator }, t), log: logInto(lines) };
		const parsed: unknown = await provider.config.validateAsync(planted);
		const chunks: ChatChunk[] = [];
		const chat = async (): Promise<void> => {
			for await (const chunk of provider.chat(asking('hello'), parsed, context)) chunks.push(chunk);
		};
		const see = async (what: string, work: Promise<unknown> | undefined): Promise<void> => {
			const [seen] = await Promise.allSettled([work]);
			assertHidden(seen.status === 'fulfilled' ? what : `the error of ${what}`, seen, texts);
		};
		await see('the chat', chat());
		await see('the models', provider.models?.(parsed, context));
		await see('the check', provider.check?.(parsed, { ...saving(), operator: context.operator }));
		assertHidden('the prices', provider.prices?.('small', parsed) ?? null, texts);
		assertHidden('the answer', chunks, texts);
		assertHidden('the log', lines, texts);
	}
}

type Ask = (origin: string, request: ChatRequest, context: ProviderContext) => AsyncIterable<ChatChunk>;

const FAILURES: readonly [behaviour: ModelBehaviour, code: string][] = [
	['refuse', 'validation_failed'],
	['key', 'upstream_failed'],
	['busy', 'rate_limited'],
	['fail', 'upstream_failed'],
	['reset', 'upstream_failed'],
	['nonsense', 'upstream_failed'],
];

function describeFailures(fixture: ProviderFixture, ask: Ask): void {
	const { start } = fixture;
	for (const [behaviour, code] of FAILURES)
		test(`with ${code} when the server does “${behaviour}”, after one request, and without the key`, async (t) => {
			const { origin, requests } = await start(t, behaviour);
			const failed = asGatewayError(await failureOf(fold(ask(origin, asking('x'), lend(fixture, t)))));
			assert.equal(failed?.code, code, failed?.message);
			assert.ok(!JSON.stringify([failed?.message, failed?.details]).includes(KEY));
			assert.equal(requests(), 1);
			if (behaviour === 'busy') assert.equal(failed?.headers['retry-after'], '7');
		});

	for (const behaviour of ['break', 'cut'] as const)
		test(`with upstream_failed after the first pieces when the server does “${behaviour}”, without an end`, async (t) => {
			const { origin } = await start(t, behaviour);
			const seen: ChatChunk[] = [];
			const reading = (async () => {
				for await (const chunk of ask(origin, asking('x'), lend(fixture, t))) seen.push(chunk);
			})();
			await assert.rejects(reading, withCode('upstream_failed'));
			assert.ok(seen.length > 0 && seen.every(({ type }) => type !== 'end'));
		});

	test('with egress_refused before a byte when the guard refuses the address', async (t) => {
		for (const origin of PRIVATE)
			await assert.rejects(fold(ask(origin, asking('x'), lend(fixture, t))), withCode('egress_refused'), origin);
	});
}

function describeStops(fixture: ProviderFixture, ask: Ask): void {
	const { start } = fixture;
	for (const behaviour of ['hang', 'pause', 'flood'] as const)
		test(`when the caller leaves a server that does “${behaviour}”, down to the connection`, async (t) => {
			const upstream = await start(t, behaviour);
			const caller = new AbortController();
			const reading = failureOf(fold(ask(upstream.origin, asking('x'), lend(fixture, t, caller.signal))));
			await until(() => upstream.requests() === 1, 'the request arrives', 5);
			caller.abort(new Error('the caller left'));
			assert.ok(await isBeforeTimer(5_000, reading), 'it goes on');
			await until(() => upstream.open() === 0, 'the connection is closed', 5);
		});

	test('when its consumer wants no more', async (t) => {
		const upstream = await start(t, 'flood');
		for await (const chunk of ask(upstream.origin, asking('x'), lend(fixture, t))) if (chunk.type === 'text') break;
		await until(() => upstream.open() === 0, 'the connection is closed', 5);
	});

	test('before it begins, when the caller is gone already', async (t) => {
		const upstream = await start(t, 'echo');
		await failureOf(fold(ask(upstream.origin, asking('x'), lend(fixture, t, AbortSignal.abort(new Error('gone'))))));
		assert.equal(upstream.requests(), 0);
	});
}

interface Configured {
	provider: LlmProvider;
	operator?: JsonObject | undefined;
}

function lend({ provider, operator }: Configured, t: TestContext, signal = new AbortController().signal): ProviderContext {
	const { request, stream, fetch, connect, memo } = lentBy(loopbackCall(t, { signal }), {});
	return { log: silent, request, stream, fetch, connect, memo, operator: operatorFor(provider, operator), signal };
}

const withCode = (code: string) => (error: unknown) => {
	assert.equal(asGatewayError(error)?.code, code, String(error));
	return true;
};

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
	promise.then(
		() => assert.fail('it answered'),
		(error: unknown) => error,
	);
