// The contract of every executor, whatever its protocol. A new executor joins by a `contract.test.ts` beside it that provides a fixture.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError } from '../core/contract/errors.ts';
import { createEgress } from '../core/egress/egress.ts';
import type { AgentRuns, Api, Call, Json, JsonObject, Models, OutboundRequest, ToolExecutor, ToolResult } from '../core/index.ts';
import { checkPlugin } from '../core/registry/manifest.ts';
import { checkPreview } from '../core/tools/check-result.ts';
import { assertHidden, CANARY, isSecretive, plantedFor, type SecretConfigs } from './canary.ts';
import { frozen, operatorFor } from './config.ts';
import { type FakeCallOptions, fakeCall, loopbackCall } from './fake-call.ts';
import { assertDeepResult, assertResult, isRefusal, outcome } from './outcome.ts';
import type { Upstream } from './upstream.ts';
import { isBeforeTimer, saving, until } from './waiting.ts';

/**
 * Behaviour of an upstream: echoes the text that it was sent; reports an error in the way of its protocol; never answers; closes the
 * connection; sends an invalid answer; sends an answer without end; returns the credential that it was sent.
 */
export type Behaviour = 'echo' | 'fail' | 'hang' | 'reset' | 'nonsense' | 'endless' | 'tell';

export interface ExecutorOptions {
	/** Starts a server on a free port of 127.0.0.1 that ends with the test. */
	start(t: TestContext, behaviour: Behaviour): Promise<Upstream>;
	/** Builds the config of a tool that sends its argument `text` there; `more` is merged into it. */
	config(origin: string, more?: JsonObject): JsonObject;
	/** The tool's API, for an executor that finds the address there; absent where the config has it. */
	api?(origin: string): Api;
	/** The model connections of the organization, all at this address behind the guard, for an executor that asks models. */
	models?(t: TestContext, origin: string): Models;
	/** The agents of the organization, which call this address behind the guard, for an executor that runs agents. */
	agents?(t: TestContext, origin: string): AgentRuns;
	/** Reads the echoed text from the result of `echo`. */
	echoed(result: ToolResult): Json | undefined;
	/** Configs that are refused, with a pattern for the message. */
	bad: { config: JsonObject; says: RegExp }[];
	/** The field of the config, in milliseconds, that ends a call; null when there is none. */
	timeoutField: string | null;
	/**
	 * Builds configs that hold each secret that the schema marks; fields that may be added to `config` are filled without it. Default: `config`.
	 */
	secretConfig?(origin: string): SecretConfigs;
	/** The operator's configuration. */
	operator?: JsonObject;
	/** Adds SECRET to a request; null where requests are not signed. */
	signed: ((request: OutboundRequest) => OutboundRequest) | null;
	/** Whether the config holds the address of the calls, so that saving can refuse it. */
	hasAddress: boolean;
}

export const SECRET = CANARY;

const MAX_RESULT_CHARACTERS = 16 * 1024 * 1024;
const AT_ONCE = 20;
const PRIVATE = ['http://10.0.0.1', 'http://192.168.0.1:8080', 'http://169.254.169.254', 'http://[fd00::1]'];
/** Origins on loopback: these tests may call it by its IPv4 address. */
const LOOPBACK = ['http://127.0.0.1', 'http://[::1]', 'http://localhost', 'http://[::ffff:127.0.0.1]'];

/** Arguments that must not crash an executor, whatever the tool's schema allows. */
const HOSTILE: [what: string, args: () => JsonObject][] = [
	['nothing', () => ({})],
	['null', () => ({ text: null })],
	['a list', () => ({ text: ['a', null, [1]] })],
	['an object', () => ({ text: { a: { b: [1] } } })],
	['a member called __proto__', () => JSON.parse('{"text":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1}}') as JsonObject],
	['names of every object', () => ({ constructor: 'x', toString: 'x', hasOwnProperty: 'x', text: 'constructor' })],
	['half of a surrogate pair', () => ({ text: 'a\ud800b', '\udc00': 1 })],
	['NUL, line breaks and a byte order mark', () => ({ text: '\u0000\r\n\u2028\ufeff' })],
	['100 KB', () => ({ text: 'é'.repeat(100_000) })],
	['100 KB of placeholders', () => ({ text: '{text}'.repeat(17_000) })],
	['a thousand levels', () => ({ text: JSON.parse('['.repeat(1000) + ']'.repeat(1000)) as Json })],
	['ten thousand members', () => Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`a${at}`, at]))],
	['numbers at the ends', () => ({ text: Number.MAX_VALUE, min: -0, odd: 1e-7, big: 2 ** 53 + 2 })],
	['markup and quotes', () => ({ text: '</script><!--\'";--$(x)#{y}%0d%0a../..' })],
];

type ExecutorFixture = ExecutorOptions & { executor: ToolExecutor };

/** Registers the tests that hold an executor to its contract. */
export function executorContract(executor: ToolExecutor, options: ExecutorOptions): void {
	const fixture: ExecutorFixture = { executor, ...options };
	const parse = async (config: JsonObject): Promise<unknown> => frozen<unknown>(await executor.config.validateAsync(config));
	const run = async (origin: string, args: JsonObject, call: Call, more: JsonObject = {}): Promise<ToolResult> =>
		executor.execute(args, await parse(fixture.config(origin, more)), call);
	const lend = (t: TestContext, origin: string, more: FakeCallOptions = {}): Call =>
		loopbackCall(t, {
			...{ ...more, plugin: executor },
			...(fixture.api && { api: fixture.api(origin) }),
			...(fixture.models && { models: fixture.models(t, origin) }),
			...(fixture.agents && { agents: fixture.agents(t, origin) }),
			...(fixture.operator && { operator: fixture.operator }),
		});

	describe(`${executor.name} keeps the executors’ contract`, () => {
		test('it says what it is, in one sentence, and its manifest has no fault', () => {
			assert.equal(executor.kind, 'executor');
			assert.match(executor.name, /^[a-z][a-z0-9_]*$/);
			assert.match(executor.summary, /^[A-Z].*\.$/);
			checkPlugin(executor);
		});

		describe('Its config', () => describeConfig(fixture));

		test('an answer becomes content, and what was given stays as it was', async (t) => {
			const { origin } = await fixture.start(t, 'echo');
			const [args, config] = [frozen({ text: 'grüße 😀 "\\' }), await parse(fixture.config(origin))];
			const result = await executor.execute(args, config, lend(t, origin));
			assertResult(result);
			assert.deepEqual([result.isError ?? false, fixture.echoed(result)], [false, 'grüße 😀 "\\']);
		});

		test(`${AT_ONCE} calls at once do not mix`, async (t) => {
			const { origin } = await fixture.start(t, 'echo');
			const call = lend(t, origin);
			const results = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => run(origin, { text: `call ${at}` }, call)));
			assert.deepEqual(
				results.map(fixture.echoed),
				Array.from({ length: AT_ONCE }, (_, at) => `call ${at}`),
			);
		});

		for (const behaviour of ['fail', 'reset', 'nonsense'] as const)
			test(`an upstream that does “${behaviour}” makes a failure of the run, and nothing else`, async (t) => {
				const { origin, connections } = await fixture.start(t, behaviour);
				const failed = await outcome(run(origin, { text: 'x' }, lend(t, origin)));
				assert.ok(failed.isError, JSON.stringify(failed));
				assert.ok(connections() > 0, 'it was called');
			});

		test('an address that the guard refuses ends the run before a byte', async (t) => {
			for (const origin of PRIVATE) assert.ok(isRefusal(await outcome(run(origin, { text: 'x' }, lend(t, origin)))), origin);
		});

		test('an answer without end is ended, or makes a result that is bounded', async (t) => {
			const { origin } = await fixture.start(t, 'endless');
			assert.ok((await outcome(run(origin, { text: 'x' }, lend(t, origin)))).size <= MAX_RESULT_CHARACTERS);
		});

		describe('It stops', () => describeStops(fixture, run, lend));

		test('a credential that the upstream says back is not handed on', async (t) => {
			const { signed: sign } = fixture;
			if (sign === null) return;
			const { origin } = await fixture.start(t, 'tell');
			let signatures = 0;
			const signed = (request: OutboundRequest): OutboundRequest => {
				signatures += 1;
				return sign(request);
			};
			const { said } = await outcome(run(origin, { text: 'x' }, lend(t, origin, { sign: signed })));
			assert.ok(signatures > 0, 'the request was signed');
			assert.ok(!said.includes(SECRET), said);
			assert.ok(!said.includes(Buffer.from(SECRET).toString('base64')), said);
		});

		if (isSecretive(executor))
			test('a secret of the config is in no result, error, preview or line of the log', async (t) => {
				for (const behaviour of ['echo', 'fail', 'reset', 'nonsense', 'endless'] as const)
					await assertKept(fixture, (await fixture.start(t, behaviour)).origin);
			});

		for (const [what, args] of HOSTILE)
			test(`arguments with ${what} are sent or refused, and bring nothing down`, async (t) => {
				const { origin } = await fixture.start(t, 'echo');
				await outcome(run(origin, args(), lend(t, origin)), assertDeepResult);
				assert.equal(({} as { polluted?: number }).polluted, undefined);
				assertResult(await run(origin, { text: 'still there' }, lend(t, origin)));
			});

		if (executor.preview)
			test('its preview shows the request and sends nothing', async (t) => {
				const { origin, connections } = await fixture.start(t, 'echo');
				const config = await parse(fixture.config(origin));
				const shown = await executor.preview?.({ text: 'grüße' }, config, lend(t, origin));
				assert.match(JSON.stringify(checkPreview('the executor', shown)), /grüße/);
				assert.equal(connections(), 0);
			});
	});
}

async function assertKept(
	{ executor, config, secretConfig = config, api, operator: given }: ExecutorFixture,
	origin: string,
): Promise<void> {
	for (const { config: planted, operator, texts } of await plantedFor(executor, secretConfig(origin), given)) {
		const options = { plugin: executor, allow: ['127.0.0.1'], ...(api && { api: api(origin) }), ...(operator && { operator }) };
		await using fake = fakeCall(options);
		const parsed = frozen<unknown>(await executor.config.validateAsync(planted));
		const see = async (what: string, work: Promise<unknown> | undefined): Promise<void> => {
			const [seen] = await Promise.allSettled([work]);
			assertHidden(seen.status === 'fulfilled' ? what : `the error of ${what}`, seen, texts);
		};
		await see('the result', executor.execute({ text: 'x' }, parsed, fake.call));
		await see('the preview', executor.preview?.({ text: 'x' }, parsed, fake.call));
		await see('the check', executor.check?.(parsed, { ...saving(), operator: operatorFor(executor, operator) }));
		assertHidden('the log', fake.lines, texts);
	}
}

function describeConfig({ executor, bad, config, hasAddress, api, operator }: ExecutorFixture): void {
	test('takes what it should and refuses any other field by its name', async () => {
		const good = config('https://api.example.com');
		await executor.config.validateAsync(good);
		await assert.rejects(executor.config.validateAsync({ ...good, noSuchField: 1 }), /"noSuchField" is not allowed/);
	});

	test('refuses what is wrong and says what', async () => {
		assert.ok(bad.length > 2);
		for (const { config: wrong, says } of bad) await assert.rejects(executor.config.validateAsync(wrong), says, JSON.stringify(wrong));
	});

	test('says of every field what it is for', () => {
		const { keys } = executor.config.describe() as { keys: Record<string, { flags?: { description?: string } }> };
		for (const [name, field] of Object.entries(keys)) assert.ok(field.flags?.description, name);
	});

	test('is refused when it is saved if its address is private', async () => {
		// An API's address is checked when the API is saved.
		if (!executor.check || !hasAddress || api) return;
		const egress = createEgress({ allow: [] });
		const context = { ...saving(egress.check, egress.checkAddress), operator: operatorFor(executor, operator) };
		try {
			await executor.check(await executor.config.validateAsync(config('http://93.184.215.14')), context);
			for (const origin of [...PRIVATE, ...LOOPBACK]) {
				const checking = executor.check(await executor.config.validateAsync(config(origin)), context);
				await assert.rejects(checking, (error) => asGatewayError(error)?.code === 'egress_refused', origin);
			}
		} finally {
			await egress.close();
		}
	});
}

type Run = (origin: string, args: JsonObject, call: Call, more?: JsonObject) => Promise<ToolResult>;

type Lend = (t: TestContext, origin: string, more?: FakeCallOptions) => Call;

function describeStops({ start, timeoutField }: ExecutorFixture, run: Run, lend: Lend): void {
	if (timeoutField !== null)
		test('when its own time is over', async (t) => {
			const { origin } = await start(t, 'hang');
			const ended = await outcome(run(origin, { text: 'x' }, lend(t, origin), { [timeoutField]: 300 }));
			assert.ok(ended.code === 'upstream_timeout' || (ended.isError && /longer than 300 ms/.test(ended.said)), ended.said);
		});

	test('when the caller leaves, down to the connection', async (t) => {
		const upstream = await start(t, 'hang');
		const caller = new AbortController();
		const running = run(upstream.origin, { text: 'x' }, lend(t, upstream.origin, { signal: caller.signal })).then(
			() => assert.fail('it answered'),
			() => undefined,
		);
		let hasEnded = false;
		running
			.catch(() => undefined)
			.finally(() => {
				hasEnded = true;
			});
		await until(() => upstream.open() > 0 || hasEnded, 'the upstream is called', 5);
		// The request is on its way by then.
		await sleep(50);
		caller.abort(new Error('the caller left'));
		assert.ok(await isBeforeTimer(5_000, running), 'the run goes on');
		await running;
		assert.ok(
			await isBeforeTimer(
				5_000,
				until(() => upstream.open() === 0, 'the connection is closed', 5),
			),
			'the connection is open',
		);
	});

	test('before it begins, when the caller is gone already', async (t) => {
		const upstream = await start(t, 'echo');
		const running = run(upstream.origin, { text: 'x' }, lend(t, upstream.origin, { signal: AbortSignal.abort(new Error('gone')) }));
		await assert.rejects(running);
		assert.equal(upstream.connections(), 0);
	});
}
