// The contract of every transport.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asGatewayError, ERRORS, type ErrorCode, GatewayError } from '../core/contract/errors.ts';
import type { GatewayRoute, TransportAdapter } from '../core/contract/kinds.ts';
import type { Incoming, JsonObject } from '../core/contract/nouns.ts';
import { type CheckedReply, checkReply } from '../core/gateways/check-reply.ts';
import { checkRefusal } from '../core/gateways/refusals.ts';
import { assertHidden, CANARY, isSecretive, plantedFor, type SecretConfigs } from './canary.ts';
import { type ConfigSamples, describeManifest, frozen } from './config.ts';
import { type FakeCallOptions, type FakeTool, fakeCall } from './fake-call.ts';
import { fakeRequest, sampleGateway } from './samples.ts';
import { patiently } from './waiting.ts';

/** A request to one of the routes. */
export interface TransportSample {
	/** Completes “answers …”. */
	name: string;
	method: GatewayRoute['method'];
	/** The path of the route, as it is declared. */
	path: string;
	/** Whatever the request has. A body of JSON becomes bytes where the route takes it raw. */
	request?: Partial<Incoming>;
	/** The status of the answer. */
	status: number;
	/** A text that the answer has. */
	has?: string | RegExp;
}

export interface TransportOptions extends Omit<ConfigSamples, 'good'> {
	config: JsonObject;
	/** Configs that hold each secret of the schema; fields that may be added to `config` are filled without it. Default: `config`. */
	secretConfig?: SecretConfigs;
	/** The operator's configuration. */
	operator?: JsonObject;
	/** Requests that are answered; TOOLS are the tools of the gateway. One of them should run `echo`. */
	samples: readonly TransportSample[];
	/** Replaces parts of the call. */
	call?: FakeCallOptions;
}

type TransportFixture = TransportOptions & { adapter: TransportAdapter };

/** The tools of the gateway: `echo` answers with its argument `text`, `fail` fails with the text “no luck”. */
const TOOLS: readonly FakeTool[] = [
	{
		...{ name: 'echo', description: 'Says it again.' },
		parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
		run: ({ text }) => ({ content: [{ type: 'text', text: String(text) }], structured: { text: text ?? null } }),
	},
	{ name: 'fail', description: 'Fails.', run: () => ({ content: [{ type: 'text', text: 'no luck' }], isError: true }) },
];
/** The most of an answer that is read. */
const MAX_READ = 1024 * 1024;
/** Bodies that no protocol expects. */
const HOSTILE: readonly unknown[] = [
	null,
	0,
	'',
	'x',
	[],
	[null],
	{},
	{ __proto__: null },
	{ method: 1 },
	{ jsonrpc: '2.0', id: {}, method: [] },
];

/** Registers the tests that hold a transport to its contract. */
export function transportContract(adapter: TransportAdapter, options: TransportOptions): void {
	const fixture: TransportFixture = { adapter, ...options };

	describe(`${adapter.name} keeps the transports’ contract`, () => {
		describeManifest(adapter, { good: options.config, bad: options.bad });

		for (const sample of options.samples)
			test(`it answers ${sample.name}`, async () => {
				assertAnswer(sample, await ask(fixture, sample));
			});

		test('twenty requests at once do not mix', async () => {
			const { samples } = options;
			assert.ok(samples.length > 0, 'it has a sample');
			const sent = Array.from({ length: Math.max(20, samples.length) }, (_, at) => samples[at % samples.length] as TransportSample);
			const answers = await Promise.all(sent.map((sample) => ask(fixture, sample)));
			for (const [at, sample] of sent.entries()) assertAnswer(sample, answers[at] as Answered);
		});

		for (const [at, body] of HOSTILE.entries())
			test(`body ${at} that no protocol expects is answered or refused, by each route`, async () => {
				for (const route of adapter.routes.filter(({ method }) => method !== 'GET')) {
					const { method, path } = route;
					const headers = { 'content-type': 'application/json', ...options.samples[0]?.request?.headers };
					await ask(fixture, { name: '', method, path, request: { headers, body, params: paramsOf(path) }, status: 0 });
				}
			});

		test('every error has a form, or core’s, and the form has the status of an error', () => {
			const config = frozen(parsed(fixture, options.config));
			for (const code of Object.keys(ERRORS) as ErrorCode[]) {
				// Core never asks for a 429.
				if (code === 'rate_limited') continue;
				const error = new GatewayError(code, 'A sentence.');
				const reply = adapter.fail?.(error, fakeRequest(), config, sampleGateway()) ?? null;
				if (reply !== null) checkRefusal(reply, error.status, `${from(adapter).plugin}: ${code}`);
			}
		});

		test('what its client cannot do is no fault of the service', () => {
			const details = [{ path: 'client/elicitation', message: 'is needed.' }];
			const error = new GatewayError('not_implemented', 'A sentence.', { details });
			const reply = adapter.fail?.(error, fakeRequest(), frozen(parsed(fixture, options.config)), sampleGateway()) ?? error;
			assert.ok(reply.status < 500, `${reply.status}`);
		});

		if (isSecretive(adapter))
			test('a secret of the config is in no answer, refusal or line of the log', async () => {
				for (const { config, operator, texts } of await plantedFor(adapter, options.secretConfig ?? options.config, options.operator))
					for (const sample of options.samples) {
						const { text, headers, lines } = await ask({ ...fixture, ...(operator && { operator }) }, sample, config);
						assertHidden(`the answer to ${sample.name}`, headers + text, texts);
						assertHidden('the log', lines, texts);
					}
			});

		test('the secrets of the request are in no answer and no line of the log', async () => {
			for (const sample of options.samples) {
				const headers = { ...sample.request?.headers, authorization: `Bearer ${CANARY}`, cookie: `gatehouse_token=${CANARY}` };
				const answer = await ask(fixture, { ...sample, request: { ...sample.request, headers } });
				const { text, lines } = answer;
				assertHidden(`the answer to ${sample.name}`, answer.headers + text);
				assertHidden('the log', lines);
			}
		});
	});
}

interface Answered {
	status: number;
	/** The headers of a refusal. */
	headers: string;
	/** The body, and the headers unless it is a refusal. */
	text: string;
	lines: unknown;
}

/** Lets a route handle a request as core would. @throws whatever the handler throws that is no error of ours */
async function ask(fixture: TransportFixture, sample: TransportSample, config = fixture.config): Promise<Answered> {
	const { adapter, call = {}, operator } = fixture;
	const route = adapter.routes.find(({ method, path }) => method === sample.method && path === sample.path);
	assert.ok(route, `there is no route ${sample.method} ${sample.path}`);
	const leaving = new AbortController();
	const given = fakeRequest({ method: sample.method, path: pathOf(sample), ...sample.request });
	const request = { ...given, body: bodyFor(route, given.body) };
	await using fake = fakeCall({
		tools: TOOLS,
		...(route.public && { caller: null }),
		...(operator && { operator }),
		...call,
		plugin: adapter,
		request,
		signal: leaving.signal,
	});
	try {
		const reply = await patiently(route.handler(request, frozen(parsed(fixture, config)), fake.call), sample.name);
		const { status, headers, ...answer } = checkReply(reply, from(adapter));
		const text = JSON.stringify(headers) + (await patiently(read(answer), `the answer to ${sample.name}`));
		return { status, headers: '', text, lines: fake.lines };
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (!error) throw thrown;
		const isAsked = error.code !== 'rate_limited';
		const reply = isAsked ? (adapter.fail?.(error, request, frozen(parsed(fixture, config)), sampleGateway()) ?? null) : null;
		const { status, headers, body } = reply
			? checkRefusal(reply, error.status, from(adapter).plugin)
			: { status: error.status, headers: {}, body: error.message };
		return { status, headers: JSON.stringify(headers), text: String(body), lines: fake.lines };
	} finally {
		leaving.abort();
	}
}

function assertAnswer({ status, has }: TransportSample, answer: Answered): void {
	const { text } = answer;
	assert.equal(answer.status, status, text);
	if (typeof has === 'string') assert.ok(text.includes(has), text);
	else if (has) assert.match(text, has);
}

/** The parameters of a path: a name, with the number of segments for which it stands. */
const PARAMETER = /\{(\w+)(?:\*(\d*)|\?)?\}/g;

/** Returns a value for each parameter of a path: core never calls a route without them. */
const paramsOf = (path: string): Record<string, string> =>
	Object.fromEntries(
		[...path.matchAll(PARAMETER)].map(([, name = '', count]) => [
			name,
			Array(Number(count || 1))
				.fill('x')
				.join('/'),
		]),
	);

/** Returns the path of the request, with the parameters that it has. */
function pathOf({ path, request: { params = {} } = {} }: TransportSample): string {
	const encoded = (value: string): string => value.split('/').map(encodeURIComponent).join('/');
	return path.replaceAll(PARAMETER, (whole, name: string) => (params[name] === undefined ? whole : encoded(params[name])));
}

/** Returns the body as core gives it to the route. */
function bodyFor({ body: form = 'raw' }: GatewayRoute, body: unknown): unknown {
	if (body === null || Buffer.isBuffer(body) || body instanceof URLSearchParams || form === 'json') return body;
	const text = typeof body === 'string' ? body : JSON.stringify(body);
	return form === 'raw' ? Buffer.from(text) : new URLSearchParams(text);
}

const from = ({ name }: TransportAdapter) => ({ plugin: `transport:${name}`, gaveCookie: () => false });

async function read({ body, events }: Pick<CheckedReply, 'body' | 'events'>): Promise<string> {
	if (!events && (body === undefined || typeof body === 'string' || Buffer.isBuffer(body))) return String(body ?? '');
	let text = '';
	for await (const part of events?.source ?? (body as AsyncIterable<Buffer>)) {
		text += Buffer.isBuffer(part) ? part.toString() : JSON.stringify(part);
		if (text.length > MAX_READ) break;
	}
	return text;
}

// Each config is JSON.
const parsed = ({ adapter }: TransportFixture, config: JsonObject): JsonObject => {
	const { value, error } = adapter.config.validate(config);
	assert.equal(error, undefined);
	return value as JsonObject;
};
