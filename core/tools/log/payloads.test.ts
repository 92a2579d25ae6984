import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createArgumentChecks } from '../../arguments/checks.ts';
import type { Json } from '../../contract/nouns.ts';
import type { RunResult } from '../../contract/results.ts';
import type { PayloadLog } from '../../store/store.ts';
import { PayloadKeeper, type Payloads } from './payloads.ts';

const ALL: PayloadLog = { arguments: true, results: true, redactPaths: [], redactPatterns: [], maxBytes: 4096 };
const threads = createArgumentChecks(async (organizationId) => organizationId);
after(() => threads.close());

/** Returns what is kept at once. */
function payloads(args: Json, result: RunResult | null, more: Partial<PayloadLog> = {}): Payloads {
	const told: Payloads[] = [];
	new PayloadKeeper({ ...ALL, ...more }).keep({ organizationId: 'o', args, result }, threads.redactions, (one) => told.push(one));
	return told[0] ?? assert.fail('it was not kept at once');
}

/** Returns what is kept of arguments once patterns have been looked for. */
const redacted = (args: Json, more: Partial<PayloadLog>): Promise<string | null> =>
	new Promise((resolve) => {
		const keeper = new PayloadKeeper({ ...ALL, ...more });
		keeper.keep({ organizationId: 'o', args, result: null }, threads.redactions, (one) => resolve(one.arguments));
	});

const kept = (args: Json, more: Partial<PayloadLog> = {}): string | null => payloads(args, null, more).arguments;
const parsed = (args: Json, more: Partial<PayloadLog> = {}): unknown => JSON.parse(kept(args, more) ?? 'null');
const resultOf = (text: string): RunResult => ({ content: [{ type: 'text', text }] });
const shown = (result: RunResult, more: Partial<PayloadLog> = {}): string | null => payloads({}, result, more).result;

test('what may be kept is written as JSON, and what may not is null', () => {
	const args = { city: 'Bern', days: 3, flags: [true, null], nested: { a: { b: 'ü' } } };
	assert.deepEqual(parsed(args), args);
	const result = resultOf('rain');
	assert.deepEqual(payloads(args, result, { results: false }).result, null);
	assert.deepEqual(payloads(args, result, { arguments: false }), { arguments: null, result: '"rain"' });
	assert.equal(payloads(args, null).result, null);
	assert.equal(payloads(args, null, { arguments: false, redactPatterns: ['a'] }).arguments, null);
});

test('members with the name of a secret are hidden at any depth, whatever they hold', () => {
	const args = {
		password: 'canary',
		a: [{ apiKey: { deep: 'canary' }, access_token: ['canary'], Authorization: 1, pin: 1234, open: 'x' }],
	};
	const hidden = '[redacted]';
	assert.deepEqual(parsed(args), {
		password: hidden,
		a: [{ apiKey: hidden, access_token: hidden, Authorization: hidden, pin: hidden, open: 'x' }],
	});
});

test('paths lead into objects and lists, and into JSON in the text of a result', () => {
	const data = { customer: { email: 'canary', name: 'Ada' }, items: [{ price: 'canary', n: 1 }, { price: ['canary'] }], email: 'x' };
	const redactPaths = ['/customer/email', '/items/*/price', '/absent/x'];
	const expected = {
		customer: { email: '[redacted]', name: 'Ada' },
		items: [{ price: '[redacted]', n: 1 }, { price: '[redacted]' }],
		email: 'x',
	};
	assert.deepEqual(parsed(data, { redactPaths }), expected);
	assert.deepEqual(JSON.parse(shown(resultOf(JSON.stringify(data)), { redactPaths }) ?? ''), expected);
	assert.deepEqual(JSON.parse(shown({ content: [], structured: data }, { redactPaths }) ?? ''), expected);
	assert.deepEqual(parsed({ 'a/b': { '~': 'canary' } }, { redactPaths: ['/a~1b/~0'] }), { 'a/b': { '~': '[redacted]' } });
});

test('JSON behind the status of a failure, and in one of several texts, is redacted, too', () => {
	const data = { customer: { email: 'canary' }, input: { password: 'canary' } };
	const hidden = { customer: { email: '[redacted]' }, input: { password: '[redacted]' } };
	const more = { redactPaths: ['/customer/email'] };
	const failure = resultOf(`HTTP 422 Unprocessable Entity\n${JSON.stringify(data, null, 1)}`);
	assert.deepEqual(JSON.parse(shown(failure, more) ?? ''), ['HTTP 422 Unprocessable Entity', hidden]);
	const noted: RunResult = { content: [JSON.stringify(data), 'A [note].'].map((text) => ({ type: 'text', text })) };
	assert.deepEqual(JSON.parse(shown(noted, more) ?? ''), [hidden, 'A [note].']);
});

test('members with the name of a secret are hidden within a text, too', () => {
	const inner = JSON.stringify({ user: 'ada', password: 'can"ary', n: 1 });
	const cases: [text: string, shown: string][] = [
		[`Said ${inner} and went.`, 'Said {"user":"ada","password":"[redacted]","n":1} and went.'],
		[`Said ${JSON.stringify(inner)}.`, String.raw`Said "{\"user\":\"ada\",\"password\":\"[redacted]\",\"n\":1}".`],
		['sent {"pin": 1234, "open": 2}', 'sent {"pin":"[redacted]", "open": 2}'],
		['sent {"clientSecret": {"a": "canary"}, "b": 1}', 'sent {"clientSecret":"[redacted]"'],
		['cut {"access_token": "canary', 'cut {"access_token":"[redacted]"'],
		['the "password": of the user, "spinner": 5', 'the "password":"[redacted]" the user, "spinner": 5'],
	];
	for (const [text, expected] of cases) {
		assert.deepEqual(parsed({ text }), { text: expected });
		assert.equal(JSON.parse(shown(resultOf(text)) ?? ''), expected);
	}
});

test('JSON that was cut is left out, since nobody can tell what is in it; other texts with brackets are shown', () => {
	const begun = '{"customer":{"email":"canary';
	const cut: RunResult = { content: [begun, '[Cut: the first 28 of 900 bytes.]'].map((text) => ({ type: 'text', text })) };
	assert.equal(shown(cut), '["[JSON of 28 characters]","[Cut: the first 28 of 900 bytes.]"]');
	assert.equal(shown(resultOf(`HTTP 500\n${begun}`)), '["HTTP 500","[JSON of 28 characters]"]');
	for (const text of ['[1] rain', 'a {b} c', '{b}', 'a\n{ b }', '[rain']) assert.equal(shown(resultOf(text)), JSON.stringify(text));
});

test('a text of JSON that is too long to parse is left out: its paths cannot be found', () => {
	const text = JSON.stringify({ canary: 'x'.repeat(70_000) });
	assert.equal(shown(resultOf(text), { redactPaths: ['/canary'] }), `"[JSON of ${text.length} characters]"`);
});

test('patterns find text in values, names and numbers', async () => {
	const redactPatterns = ['\\d{4}-?\\d{4}', '(?i)canary[a-z]*'];
	const args = { note: 'card 1234-5678, CanaryBird', CANARY: 1, card: 12345678, list: ['canary'] };
	assert.deepEqual(JSON.parse((await redacted(args, { redactPatterns })) ?? ''), {
		note: 'card [redacted], [redacted]',
		'[redacted]': 1,
		card: '[redacted]',
		list: ['[redacted]'],
	});
});

test('a payload for which patterns take too long is hidden as a whole', async () => {
	const redactPatterns = ['b', 'c', 'd', 'e', 'f'].map((end) => `a*${end}|a`);
	assert.equal(await redacted({ public: 'canary', long: 'a'.repeat(8000) }, { redactPatterns, maxBytes: 8192 }), '"[redacted]"');
	assert.equal(await redacted({ public: 'canary' }, { redactPatterns: ['x'] }), '{"public":"canary"}');
});

test('text that a pattern shortens makes room for what follows, within bounds', async () => {
	const more = { redactPatterns: ['x+'], maxBytes: 256 };
	assert.equal(await redacted({ long: 'x'.repeat(500), note: 'open' }, more), '{"long":"[redacted]","note":"open"}');
	const line = (await redacted(Array(1000).fill('x'.repeat(500)), { ...more, maxBytes: 8192 })) ?? '';
	assert.match(line, /^\["\[redacted\]",(?:"\[redacted\]",?)+\]…$/);
});

test('a result of very many texts is not read to its end', () => {
	const texts = Array.from({ length: 40 }, () => JSON.stringify({ canary: 'x'.repeat(60_000) }));
	const content = texts.map((text) => ({ type: 'text' as const, text }));
	assert.equal(shown({ content }, { redactPaths: ['/canary'] }), JSON.stringify([...Array(5).fill({ canary: '[redacted]' }), '…']));
});

test('text in the form of a credential is hidden', async () => {
	const args = { note: `Authorization: Bearer ${'c'.repeat(40)}`, url: 'https://ada:canary@a.example/?key=canary1' };
	for (const line of [kept(args), await redacted(args, { redactPatterns: ['x'] })])
		assert.ok(line && !/c{40}|canary/.test(line), line ?? '');
});

test('long ones are cut at a character, and what stands at the cut is hidden as a whole', async () => {
	for (const text of ['ü'.repeat(5000), '😀'.repeat(2000), 'x'.repeat(2_000_000)]) {
		const line = kept({ text }, { maxBytes: 257 }) ?? '';
		assert.ok(Buffer.byteLength(line) <= 257 && line.endsWith('…') && !line.includes('\ufffd'), line);
	}
	const line = (await redacted(`${'x'.repeat(250)}canary${'y'.repeat(100)}`, { maxBytes: 256, redactPatterns: ['canaryy*'] })) ?? '';
	assert.ok(!line.includes('c'), line);
	const list = kept(Array.from({ length: 1_000_000 }, () => 1) as Json, { maxBytes: 256 }) ?? '';
	assert.equal(Buffer.byteLength(list), 256);
});

test('deep nesting is cut', () => {
	let deep: Json = 'end';
	for (let level = 0; level < 200; level++) deep = [deep];
	assert.match(kept(deep) ?? '', /^\[{32}"…"\]{32}$/);
});

test('blocks that are no text are named', () => {
	const result: RunResult = {
		content: [
			{ type: 'text', text: 'a' },
			{ type: 'image', data: 'canary', mimeType: 'image/png' },
		],
	};
	assert.equal(shown(result), '["a",{"type":"image"}]');
});
