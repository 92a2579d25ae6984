// Tests of questions to the user: what may be asked, what fits as an answer, how many may wait, and values that clients carry.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { failure } from '../../test/helpers/egress.ts';
import type { Answer, Asker, Question } from '../contract/asking.ts';
import { PluginFault } from '../contract/errors.ts';
import type { Caller } from '../contract/nouns.ts';
import { LEAVE_MS } from '../process/hooks.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import { type AskingCall, askUser, WaitingQuestions } from './asking.ts';
import { questionFault } from './question-schema.ts';
import { sealsOf } from './seals.ts';

const FORM: Question['schema'] = {
	type: 'object',
	properties: {
		name: { type: 'string', minLength: 2, maxLength: 3 },
		mail: { type: 'string', format: 'email' },
		site: { type: 'string', format: 'uri' },
		day: { type: 'string', format: 'date' },
		at: { type: 'string', format: 'date-time' },
		size: { type: 'string', enum: ['S', 'L'] },
		tint: { type: 'string', oneOf: [{ const: '#f00', title: 'Red' }] },
		count: { type: 'integer', minimum: 1, maximum: 9 },
		share: { type: 'number' },
		sure: { type: 'boolean' },
		toppings: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['a', 'b', 'c'] } },
		more: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } },
	},
};

const callerOf = (subject: string): Caller => ({ method: 'x', subject, scopes: [] });

const callWith = (asker: Asker | null, parts: Partial<AskingCall> = {}): AskingCall => ({
	...{ plugin: 'executor:x', organizationId: 'one', caller: callerOf('user:1'), signal: new AbortController().signal },
	asker,
	...parts,
});

const accountOf = async (): Promise<string> => 'account';
const ask = (question: unknown, call: AskingCall, waiting = new WaitingQuestions(new AbortController().signal)): Promise<Answer> =>
	askUser(question as Question, call, { waiting, accountOf });

/** Asks and is answered with this content. */
const answered = (schema: Question['schema'], content: unknown): Promise<Answer> =>
	ask(
		{ message: 'Well?', schema },
		callWith(async () => ({ action: 'accept', content }) as Answer),
	);

describe('a question', () => {
	const field = (one: object) => ({ message: 'Well?', schema: { type: 'object', properties: { one } } });
	const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`f${at}`, { type: 'boolean' }]));
	const faults: [title: string, question: unknown, fault: RegExp][] = [
		['nothing', undefined, /missing/],
		['no message', { schema: FORM }, /"message" is required/],
		['a message that is too long', { message: 'x'.repeat(4001), schema: FORM }, /"message" length/],
		['no schema', { message: 'Well?' }, /"schema" is required/],
		['no field', { message: 'Well?', schema: { type: 'object', properties: {} } }, /at least 1 key/],
		['too many fields', { message: 'Well?', schema: { type: 'object', properties: many } }, /20 keys/],
		['a nested object', field({ type: 'object', properties: {} }), /one\.type" must be one of/],
		['a list of objects', field({ type: 'array', items: { type: 'object' } }), /items/],
		['a keyword that clients do not take', field({ type: 'string', pattern: '(a+)+$' }), /"pattern" is not allowed/],
		['a format that nobody checks', field({ type: 'string', format: 'regex' }), /"format" must be one of/],
		['a number that is no JSON', field({ type: 'number', minimum: Number.NaN }), /NaN/],
		['a required field that is not there', { message: 'Well?', schema: { ...FORM, required: ['none'] } }, /"none"/],
		[
			'a name that every object inherits',
			JSON.parse('{"message":"W","schema":{"type":"object","properties":{"a":{"type":"string"},"__proto__":{"type":"string"}}}}'),
			/__proto__/,
		],
		['a time that is none', { message: 'Well?', schema: FORM, timeoutMs: 0 }, /"timeoutMs"/],
		[
			'too much altogether',
			field({ type: 'string', enum: Array.from({ length: 100 }, (_, at) => `${at}`.padEnd(999)) }),
			/32768 characters/,
		],
	];
	for (const [title, question, fault] of faults) {
		test(`with ${title} is the plugin's fault, and is not asked`, async () => {
			assert.match(questionFault(question) ?? '', fault);
			await assert.rejects(
				ask(
					question,
					callWith(async () => assert.fail('it was asked')),
				),
				PluginFault,
			);
		});
	}

	test('is asked as a frozen copy, and every field is allowed', async () => {
		const question: Question = { message: 'Well?', schema: FORM };
		await ask(
			question,
			callWith(async (asked) => {
				assert.deepEqual(asked, question);
				assert.ok(Object.isFrozen(asked.schema.properties['size']) && asked !== question);
				return { action: 'decline' };
			}),
		);
	});

	test('without a way to the user is not implemented, and says which ability is missing', async () => {
		const { details } = await failure(ask({ message: 'Well?', schema: FORM }, callWith(null)), 'not_implemented');
		assert.deepEqual(details[0]?.path, 'client/elicitation');
	});
});

describe('an answer', () => {
	test('holds the fields that were asked, and no others', async () => {
		const content = {
			...{ name: 'Ada', mail: 'ada@example.com', site: 'https://x.example', day: '2026-02-28', at: '2026-02-28T10:00:00Z' },
			...{ size: 'L', tint: '#f00', count: 9, share: 0.5, sure: false, toppings: ['a', 'c'], more: [] },
		};
		const answer = await answered(FORM, { ...content, extra: 1 });
		assert.deepEqual(answer, { action: 'accept', content });
		assert.deepEqual(await answered(FORM, {}), { action: 'accept', content: {} });
	});

	for (const action of ['decline', 'cancel'] as const) {
		test(`of ${action} has no content`, async () => {
			const answer = await ask(
				{ message: 'Well?', schema: FORM },
				callWith(async () => ({ action, content: { name: 'Ada' } }) as Answer),
			);
			assert.deepEqual(answer, { action });
		});
	}

	const unfit: [path: string, content: unknown][] = [
		['', null],
		['', []],
		['/name', { name: 'A' }],
		['/name', { name: 'Adam' }],
		['/name', { name: 5 }],
		['/mail', { mail: 'a@b, c@d' }],
		['/site', { site: 'nowhere' }],
		['/day', { day: '2026-02-30' }],
		['/at', { at: '2026-02-28' }],
		['/at', { at: '2026-02-28T99:00:00Z' }],
		['/size', { size: 'M' }],
		['/tint', { tint: 'Red' }],
		['/count', { count: 10 }],
		['/count', { count: 1.5 }],
		['/share', { share: '1' }],
		['/sure', { sure: 'true' }],
		['/toppings', { toppings: [] }],
		['/toppings', { toppings: ['a', 'a'] }],
		['/toppings', { toppings: ['a', 'b', 'c'] }],
		['/toppings', { toppings: ['d'] }],
		['/more', { more: 'x' }],
	];
	for (const [path, content] of unfit) {
		test(`of ${JSON.stringify(content)} does not fit, and names the field`, async () => {
			assert.equal((await failure(answered(FORM, content), 'validation_failed')).details[0]?.path, path);
		});
	}

	test('without a required field does not fit, nor does one that is too large', async () => {
		const required = { ...FORM, required: ['sure'] };
		assert.equal((await failure(answered(required, {}), 'validation_failed')).details[0]?.path, '/sure');
		await failure(answered(FORM, { name: 'x'.repeat(33_000) }), 'validation_failed');
	});

	test('that is none is the fault of the transport', async () => {
		for (const answer of [null, {}, { action: 'later' }, 'accept'])
			await assert.rejects(
				ask(
					{ message: 'Well?', schema: FORM },
					callWith(async () => answer as Answer, { askedBy: 'transport:y' }),
				),
				/^PluginFault: transport:y: the answer of ask must have accept, decline or cancel as action/,
			);
	});

	test('that never comes gives its place back some time after the call ended, and is the fault of the transport', async (t) => {
		t.mock.timers.enable({ apis: ['setTimeout'] });
		const [leaving, waiting] = [new AbortController(), new WaitingQuestions(new AbortController().signal)];
		const deaf = callWith(() => new Promise(() => undefined), { askedBy: 'transport:y', signal: leaving.signal });
		const asking = Array.from({ length: 16 }, () => ask({ message: 'Well?', schema: FORM }, deaf, waiting));
		for (const one of asking) one.catch(() => undefined);
		await immediate();
		leaving.abort(new Error('The client has left.'));
		t.mock.timers.tick(LEAVE_MS);
		for (const one of asking) await assert.rejects(one, { plugin: 'transport:y', message: /ask did not end within 5 s/ });
		const next = callWith(async () => ({ action: 'decline' }));
		assert.deepEqual(await ask({ message: 'Well?', schema: FORM }, next, waiting), { action: 'decline' });
	});
});

test('a question that the client takes along ends the run, also one that goes on', async () => {
	const ended = Promise.withResolvers<unknown>();
	const { details } = await failure(
		ask(
			{ message: 'Well?', schema: FORM },
			callWith(async () => 'later', { suspend: ended.resolve }),
		),
		'not_implemented',
	);
	assert.deepEqual(((await ended.promise) as { details: unknown }).details, details);
});

test('questions that wait are bounded by caller and by account, and make room when they end', async () => {
	const waiting = new WaitingQuestions(new AbortController().signal);
	const question = { message: 'Well?', schema: FORM };
	const { promise, resolve } = Promise.withResolvers<Answer>();
	const open = (subject: string, count: number) =>
		Array.from({ length: count }, () =>
			ask(
				question,
				callWith(() => promise, { caller: callerOf(subject) }),
				waiting,
			),
		);
	const first = open('user:1', 16);
	await failure(
		ask(
			question,
			callWith(async () => ({ action: 'cancel' })),
			waiting,
		),
		'rate_limited',
	);
	const rest = Array.from({ length: 5 }, (_, at) => open(`user:${at + 2}`, 16)).flat();
	const last = open('anonymous', 4);
	await failure(
		ask(
			question,
			callWith(async () => ({ action: 'cancel' }), { caller: callerOf('user:9') }),
			waiting,
		),
		'rate_limited',
	);
	resolve({ action: 'decline' });
	await Promise.all([...first, ...rest, ...last]);
	assert.deepEqual(
		await ask(
			question,
			callWith(async () => ({ action: 'cancel' })),
			waiting,
		),
		{ action: 'cancel' },
	);
});

test('a question that waits ends when the service stops', async () => {
	const stopping = new AbortController();
	const asker: Asker = (_question, signal) =>
		new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
	const asked = ask({ message: 'Well?', schema: FORM }, callWith(asker), new WaitingQuestions(stopping.signal));
	stopping.abort(new Error('stopping'));
	await assert.rejects(asked, /stopping/);
});

test('a question is not asked in a call that has ended', async () => {
	const signal = AbortSignal.abort(new Error('over'));
	await assert.rejects(
		ask(
			{ message: 'Well?', schema: FORM },
			callWith(async () => assert.fail('it was asked'), { signal }),
		),
		/over/,
	);
});

describe('a sealed value', () => {
	const secrets = createSecrets('ab'.repeat(32));
	const place = { plugin: 'transport:x', organizationId: 'one', at: 'gateway' };
	const seals = sealsOf(secrets, place);

	test('is opened by the same plugin at the same gateway on any replica, and by no other', () => {
		const sealed = seals.seal({ n: [1] }, 60_000);
		assert.deepEqual(sealsOf(createSecrets('ab'.repeat(32)), place).unseal(sealed), { n: [1] });
		for (const other of [{ plugin: 'transport:y' }, { organizationId: 'two' }, { at: 'other' }])
			assert.equal(sealsOf(secrets, { ...place, ...other }).unseal(sealed), null);
		assert.equal(sealsOf(createSecrets('cd'.repeat(32)), place).unseal(sealed), null);
	});

	test('that was changed, cut or has expired is none', () => {
		const sealed = seals.seal('text', 60_000);
		const changed = sealed.slice(0, -4) + (sealed.endsWith('AAAA') ? 'BBBB' : 'AAAA');
		for (const text of [changed, sealed.slice(0, 30), 'v2.', '', 'x'.repeat(600_000), seals.seal('text', -1)])
			assert.equal(seals.unseal(text), null);
	});
});
