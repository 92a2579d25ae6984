// Answers that are too long or too deep, cut to JSON of their shape; and excerpts of failures, without secrets.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { rounds } from '../../test/helpers/sampled.ts';
import type { Json, JsonObject, JsonSchema, ToolResult } from '../contract/nouns.ts';
import { secretsAdded, withoutSecrets } from './hidden-secrets.ts';
import { textOfHtml } from './html-text.ts';
import { cutJson } from './json-cut.ts';
import { failedResult, isJsonType, isTextType, jsonResult } from './tool-results.ts';

const MiB = 1024 * 1024;
const texts = ({ content }: ToolResult): string[] => content.map((block) => (block.type === 'text' ? block.text : block.type));

const items = (count: number): Json[] =>
	Array.from({ length: count }, (_, id) => ({ id, name: `item ${id}`, tags: ['a', 'b'], none: null }));

describe('An answer with more names than are parsed at once', () => {
	const named = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, at) => [`name ${at}`, at]));
	const NOTE = 'The answer has more than 10000 different names of members, so it is not read as data.';

	test('is a text, with a note', async () => {
		const whole = JSON.stringify({ items: named(10_000) });
		assert.deepEqual(await jsonResult(whole), { content: [whole, NOTE].map((text) => ({ type: 'text', text })) });
		const { structured } = await jsonResult(JSON.stringify(named(10_000)));
		assert.deepEqual(structured, named(10_000));
	});

	test('is the beginning of a text when it is too long', async () => {
		const whole = JSON.stringify(
			Array.from({ length: 60 }, (_, at) => ({
				[`row ${at}`]: named(1000),
				...Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`${at}/${n}`, 1])),
			})),
		);
		assert.ok(whole.length > MiB);
		const { structured, content } = await jsonResult(whole);
		assert.equal(structured, undefined);
		assert.match(texts({ content })[0] ?? '', /\[cut: the first 1048576 of \d+ characters\]$/);
	});
});

describe('Integers with more digits than a double can represent', () => {
	const whole =
		'{"id":12345678901234567890,"list":[-9007199254740993,9007199254740992],"f":1.10,"s":"\\\\\\": 12345678901234567890","e":1e20}';

	test('keep their digits, as texts in the data, with a note', async () => {
		const result = await jsonResult(whole);
		assert.deepEqual(result.structured, {
			id: '12345678901234567890',
			list: ['-9007199254740993', 9007199254740992],
			f: 1.1,
			s: '\\": 12345678901234567890',
			e: 1e20,
		});
		assert.deepEqual(texts(result), [whole, 'Integers that no double can hold are texts in the data, with all their digits.']);
	});

	test('stay numbers if a schema was promised, with a note of their digits', async () => {
		const result = await jsonResult(whole, { type: 'object', properties: { id: { type: 'integer' } } });
		assert.deepEqual(result.structured, JSON.parse(whole));
		assert.deepEqual(texts(result), [whole, 'Rounded in the data, whose schema wants numbers: 12345678901234567890, -9007199254740993.']);
	});

	test('are found wherever they are, also in a long text without strings', async () => {
		const long = `-${'1'.repeat(16)}3`;
		for (let before = 0; before < 40; before++) {
			const { structured } = await jsonResult(`[${' '.repeat(before)}${long},1]`);
			assert.deepEqual(structured, [long, 1]);
		}
		const numbers = Array.from({ length: 60_000 }, (_, at) => (at % 7 === 0 ? `${long}${at % 10}` : String(at)));
		const { structured } = await jsonResult(`[${numbers.join(', ')}]`);
		assert.deepEqual((structured as Json[]).map(String), numbers);
		assert.equal(typeof (structured as Json[])[7], 'string');
	});

	test('are not searched for if there are none', async () => {
		for (const json of [
			'{"a":123456789012345,"b":0.12345678901234567890,"c":"12345678901234567890","d":1e-12345678901234567890}',
			'1234567890123456',
		])
			assert.deepEqual(texts(await jsonResult(json)), [json]);
	});
});

describe('A number beyond the range of doubles', () => {
	const NOTE = 'The answer has a number beyond 1.8e308, which no double holds, so it is not read as data.';
	const digits = '9'.repeat(400);

	test('leaves the answer a text, with a note', async () => {
		for (const whole of [
			'{"a":[1e400]}',
			'-1.5E+999',
			`{"id":12345678901234567890,"a":${'9'.repeat(300)}e10}`,
			`{"id":1234567890123456,"a":1e309}`,
		])
			assert.deepEqual(await jsonResult(whole), { content: [whole, NOTE].map((text) => ({ type: 'text', text })) });
		assert.deepEqual(texts(await jsonResult(`{"a":${digits}}`, { type: 'object' })), [`{"a":${digits}}`, NOTE]);
	});

	test('is none in a text, and an integer stays data with its digits', async () => {
		assert.deepEqual((await jsonResult('{"a":"1e400","b":1e-400,"c":1e300}')).structured, { a: '1e400', b: 0, c: 1e300 });
		assert.deepEqual((await jsonResult(`{"a":${digits}}`)).structured, { a: digits });
	});

	test('leaves the beginning of an answer that is too long', async () => {
		const { structured, content } = await jsonResult(`[1e400,${JSON.stringify(items(25_000))}]`);
		assert.ok(structured === undefined);
		assert.match(texts({ content })[0]?.slice(-80) ?? '', /\[cut: the first 1048576 of \d+ characters\]$/);
	});
});

describe('Media types of answers', () => {
	const JSON_TYPES = [
		'application/json',
		'text/json',
		'application/hal+json',
		'application/x-json',
		'application/vnd.example.v1.json',
		'application/json;a=b',
		'application/x-amz-json-1.1',
		'application/json+protobuf; charset=UTF-8',
		'application/json-rpc',
	];
	const TEXT_TYPES = [
		'application/x-ndjson',
		'application/x-jsonlines',
		'application/jsonl',
		'application/geo+json-seq',
		'application/json-seq',
		'application/csv',
	];

	for (const type of JSON_TYPES) test(`read as JSON: ${type}`, () => assert.equal(isJsonType(type), true));
	for (const type of TEXT_TYPES) test(`read as text: ${type}`, () => assert.deepEqual([isJsonType(type), isTextType(type)], [false, true]));
	for (const type of ['application/octet-stream', 'image/svg+xml', 'application/vnd.jsonbig', 'application/pdf'])
		test(`left as bytes: ${type}`, () => assert.deepEqual([isJsonType(type), isTextType(type)], [false, false]));
});

describe('JSON that is too long', () => {
	test('loses the end of its longest list, and keeps what is beside it', async () => {
		const whole = { total: 25_000, items: items(25_000), next: '/items?page=2' };
		const result = await jsonResult(JSON.stringify(whole));
		const kept = result.structured as typeof whole;
		assert.deepEqual([kept.total, kept.next], [25_000, '/items?page=2']);
		assert.deepEqual(kept.items, whole.items.slice(0, kept.items.length));
		assert.ok(kept.items.length > 15_000, `${kept.items.length} items`);
		const [shown, note] = texts(result);
		assert.deepEqual(JSON.parse(shown ?? ''), kept);
		assert.equal(note, `The answer was too long and is cut:\n/items: the first ${kept.items.length.toLocaleString('en')} of 25,000 items`);
	});

	const CUTS: [what: string, whole: Json, kept: Json, notes: string[]][] = [
		['a list', [1, 2, 3, ...Array(60).fill(7)], [1, 2, 3, ...Array(46).fill(7)], ['/: the first 49 of 63 items']],
		['a string', 'x'.repeat(200), `${'x'.repeat(97)}…`, ['/: the first 97 of 200 characters']],
		[
			'strings beside short ones, each to the same length',
			{ id: 7, a: 'x'.repeat(500), b: 'y'.repeat(500) },
			{ id: 7, a: 'x'.repeat(500), b: 'y'.repeat(500) },
			[],
		],
		['a table', Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`k${at}`, at])), { k0: 0, k1: 1 }, []],
		[
			'the first item, when that alone is too long',
			[{ text: 'x'.repeat(500), id: 1 }, { id: 2 }],
			[{ text: `${'x'.repeat(77)}…`, id: 1 }],
			['/0/text: the first 77 of 500 characters', '/: the first 1 of 2 items'],
		],
		[
			'a name that is a pointer’s sign',
			{ 'a/b~': 'x'.repeat(200) },
			{ 'a/b~': `${'x'.repeat(87)}…` },
			['/a~1b~0: the first 87 of 200 characters'],
		],
	];
	for (const [what, whole, kept, notes] of CUTS)
		test(`is cut to its limit: ${what}`, async () => {
			const cut = (await cutJson(JSON.stringify(whole), { maxChars: 100, maxDepth: 10 })) ?? assert.fail();
			assert.ok(cut.text.length <= 100, cut.text);
			if (notes.length === 0) return assert.ok(cut.notes.length > 0);
			assert.deepEqual([JSON.parse(cut.text), cut.notes], [kept, notes]);
		});

	test('never ends inside an escape or a pair of surrogates', async () => {
		for (const piece of ['\\', '"', '\u0001', 'é', '😀', '\ud83d\ude00a', '\\u', '\\\\"'])
			for (let maxChars = 60; maxChars < 80; maxChars++) {
				const raw = JSON.stringify(piece.repeat(200));
				for (const text of [raw, raw.replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)]) {
					const cut = (await cutJson(text, { maxChars, maxDepth: 9 })) ?? assert.fail();
					const value = JSON.parse(cut.text) as string;
					assert.ok(value.isWellFormed() && value.endsWith('…'), JSON.stringify(value));
					assert.ok(piece.repeat(200).startsWith(value.slice(0, -1)));
				}
			}
	});

	test('notes at most ten cuts, and the number of further ones', async () => {
		const whole = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`k${at}`, 'x'.repeat(100_000)]));
		const note = texts(await jsonResult(JSON.stringify(whole)))[1] ?? '';
		assert.equal(note.split('\n').length, 12);
		assert.match(note, /\n… and 20 more\.$/);
	});

	test('stays text when it is not JSON', async () => {
		for (const text of [
			'{"a":['.repeat(MiB / 2),
			`[${'1 2,'.repeat(MiB)}3]`,
			`{"a":"${'x'.repeat(2 * MiB)}`,
			`${'[1],'.repeat(MiB)}`,
			`[${'}'.repeat(2 * MiB)}]`,
		]) {
			const result = await jsonResult(text);
			assert.equal(result.structured, undefined);
			assert.match(texts(result)[0]?.slice(-80) ?? '', /\[cut: the first 1048576 of \d+ characters\]$/);
		}
	});
});

describe('JSON that is nested too deeply', () => {
	const deep = (levels: number): string => '{"a":['.repeat(levels / 2) + ']}'.repeat(levels / 2);
	test('is emptied below 128 levels, and says where', async () => {
		const result = await jsonResult(`{"id":7,"more":${deep(100_000)}}`);
		const { id, more } = result.structured as JsonObject;
		assert.equal(id, 7);
		let levels = 0;
		for (let value: Json | undefined = more; value && typeof value === 'object'; levels++) value = Object.values(value)[0];
		assert.equal(levels, 128);
		assert.match(texts(result)[1] ?? '', /\n\/more\/a\/0\/a.*: emptied, nested more than 128 levels deep$/);
		assert.equal(JSON.stringify(result.structured), texts(result)[0]);
	});
	test('is unchanged with 128 levels', async () => {
		const result = await jsonResult(deep(128));
		assert.deepEqual([texts(result), JSON.stringify(result.structured)], [[deep(128)], deep(128)]);
	});
});

describe('Cut JSON still fits its schema', () => {
	const long = 'x'.repeat(300);
	const object = (properties: JsonObject, more: JsonObject = {}): JsonSchema => ({ type: 'object', properties, ...more });
	const list = (more: JsonObject): JsonSchema => object({ l: { type: 'array', items: { type: 'integer' }, ...more } }, { required: ['l'] });
	const CASES: [what: string, schema: JsonSchema, whole: Json, isCut: boolean][] = [
		['a list without a least length', list({}), { l: Array(200).fill(1) }, true],
		['a list of at least three', list({ minItems: 3 }), { l: Array(200).fill(1) }, true],
		['a list of at least 150', list({ minItems: 150 }), { l: Array(200).fill(1) }, false],
		['a list that must contain something', list({ contains: { const: 2 } }), { l: [...Array(200).fill(1), 2] }, false],
		['a string', object({ s: { type: 'string', minLength: 1, maxLength: 300 } }), { s: long }, true],
		['a string of at least 200', object({ s: { type: 'string', minLength: 200 } }, { required: ['s'] }), { s: long }, false],
		[
			'a string with a format, required',
			object({ s: { type: 'string', format: 'uri' } }, { required: ['s'] }),
			{ s: `https://a/${long}` },
			false,
		],
		['a string with a format, optional', object({ s: { type: 'string', pattern: 'x$' } }), { n: 1, s: long }, true],
		['one of a list, required', object({ s: { enum: [long] } }, { required: ['s'] }), { s: long }, false],
		[
			'required, by reference',
			{ $ref: '#/$defs/o', $defs: { o: object({ s: { $ref: '#/$defs/s' } }, { required: ['s'] }), s: { pattern: 'x$' } } },
			{ s: long },
			false,
		],
		[
			'required, by a reference whose tokens are escaped and percent-encoded (RFC 6901, section 6)',
			object({ s: { $ref: '#/$defs/a%20pet%2C%7E1b%7E0' } }, { required: ['s'], $defs: { 'a pet,/b~': { pattern: 'x$' } } }),
			{ s: long },
			false,
		],
		[
			'required, by a reference into a list',
			object({ s: { $ref: '#/allOf/1/properties/t' } }, { required: ['s'], allOf: [{}, object({ t: { pattern: 'x$' } })] }),
			{ s: long },
			false,
		],
		[
			'required in one of several',
			{ anyOf: [{ required: ['z'] }, { type: 'object' }], properties: { z: { const: long } } },
			{ z: long },
			false,
		],
		[
			'a table of strings',
			{ type: 'object', additionalProperties: { type: 'integer' } },
			Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`k${at}`, at])),
			true,
		],
		[
			'a table of at least 90',
			{ type: 'object', minProperties: 90 },
			Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`k${at}`, at])),
			false,
		],
		[
			'items with a required member',
			{ type: 'array', items: object({ a: {} }, { required: ['a'] }) },
			[
				{ b: long, a: 1 },
				{ b: long, a: 1 },
			],
			true,
		],
		['a tuple', { type: 'array', prefixItems: [{ pattern: 'x$' }], minItems: 1 }, [long], false],
	];
	for (const [what, schema, whole, isCut] of CASES)
		test(`${what}: ${isCut ? 'cut' : 'not cut at all'}`, async () => {
			const validate = new Ajv2020({ strict: false, logger: false, validateFormats: false }).compile(schema);
			assert.ok(validate(whole), 'the whole fits');
			const cut = await cutJson(JSON.stringify(whole), { maxChars: 150, maxDepth: 9, schema });
			assert.equal(cut !== null, isCut);
			if (cut === null) return;
			assert.ok(cut.text.length <= 150 && cut.notes.length > 0);
			assert.ok(validate(JSON.parse(cut.text)), cut.text);
		});

	test('a part that is omitted is not also noted as cut', async () => {
		const m = object({ a: {}, s: { pattern: 'x$' } }, { required: ['s'] });
		const whole = { id: 1, m: { a: long, s: long } };
		const cut = await cutJson(JSON.stringify(whole), { maxChars: 200, maxDepth: 9, schema: object({ m }) });
		assert.deepEqual(cut, { text: '{"id":1}', notes: ['/m: left out'] });
	});

	test('if it cannot, the result is the text alone', async () => {
		const schema = object({ s: { type: 'string', format: 'byte' } }, { required: ['s'] });
		const result = await jsonResult(JSON.stringify({ s: 'x'.repeat(2 * MiB) }), schema);
		assert.deepEqual([result.structured, result.content.length], [undefined, 1]);
	});
});

/** Generates any JSON from a generator of numbers: the same for the same seed. */
function anyJson(next: () => number, depth: number): Json {
	const kind = Math.floor(next() * (depth > 5 ? 4 : 8));
	if (kind === 0) return next() > 0.5;
	if (kind === 1) return Math.floor(next() * 1e6) / 100;
	if (kind < 4) return ['é"\\', '\n', 'plain ', '😀', '\u2028'][Math.floor(next() * 5)]?.repeat(Math.floor(next() * 60)) ?? null;
	const size = Math.floor(next() * 9);
	const values = Array.from({ length: size }, () => anyJson(next, depth + 1));
	return kind < 6 ? values : Object.fromEntries(values.map((value, at) => [`k${at}"`, value]));
}

/** Whether `part` is `whole` with something removed. */
function isLess(part: Json, whole: Json | undefined): boolean {
	if (typeof part === 'string' && typeof whole === 'string')
		return part === whole || (part.endsWith('…') && whole.startsWith(part.slice(0, -1)));
	if (Array.isArray(part)) return Array.isArray(whole) && part.every((item, at) => isLess(item, whole[at]));
	if (part === null || typeof part !== 'object') return part === whole;
	if (whole === null || typeof whole !== 'object' || Array.isArray(whole)) return false;
	return Object.entries(part).every(([key, value]) => isLess(value, whole[key]));
}

test('Texts of any shape, spaced or not, are cut to any length and depth: JSON, short enough, with nothing that was not there', async () => {
	let seed = 42;
	const next = (): number => {
		seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
		return seed / 2 ** 31;
	};
	const ROUNDS = rounds({ few: 500, all: 2000 });
	let cuts = 0;
	for (let round = 0; round < ROUNDS; round++) {
		const whole = [anyJson(next, 0), anyJson(next, 0)];
		const text = JSON.stringify(whole, null, round % 3);
		const maxChars = 40 + Math.floor(next() * text.length);
		const cut = await cutJson(text, { maxChars, maxDepth: 2 + (round % 9) });
		assert.ok(cut, text);
		cuts += cut.notes.length > 0 ? 1 : 0;
		assert.ok(cut.text.length <= Math.max(maxChars, 2), `${cut.text.length} of ${maxChars}`);
		assert.ok(isLess(JSON.parse(cut.text) as Json, whole), cut.text);
		if (cut.notes.length === 0) assert.deepEqual(JSON.parse(cut.text), whole);
	}
	assert.ok(cuts > ROUNDS / 2, `${cuts} were cut`);
});

/** 10 MiB, the most that an upstream may answer. */
const LONGEST: Record<string, () => string> = {
	'a list of objects': () => JSON.stringify({ items: items(170_000) }),
	'empty lists': () => `[${'[],'.repeat(3.3e6)}1]`,
	numbers: () => `[${'1,'.repeat(5e6)}1]`,
	'a table': () => `{${Array.from({ length: 700_000 }, (_, at) => `"k${at}":1`).join(',')}}`,
	'tables in a table': () =>
		`{${Array.from({ length: 100 }, (_, at) => `"t${at}":{${Array.from({ length: 8000 }, (_, no) => `"k${no}":1`).join(',')}}`).join(',')}}`,
	'one string with escapes': () => JSON.stringify({ s: '\\"\n'.repeat(1.7e6) }),
	'brackets that never end': () => '['.repeat(10 * MiB),
	'lists in lists': () => `[${'[[[[[[[[1]]]]]]]],'.repeat(580_000)}1]`,
	'deep lists beside short ones': () => `[${'['.repeat(200)}${']'.repeat(200)},${'[1],'.repeat(2.5e6)}1]`,
};

for (const [what, make] of Object.entries(LONGEST))
	test(`10 MiB of ${what} do not hold the event loop`, async (t) => {
		const text = make();
		const turns: number[] = [];
		const parsings: number[] = [];
		// One turn parses what is kept, at most a tenth of the text; each of the others is a slice of 4 ms. The CPU clock ticks every 4 ms.
		const isHeld = (): boolean => Math.min(...turns) > 2 * Math.min(...parsings) + 20;
		// The least of up to four: the first ones also compile the code.
		for (let round = 0; round < 4 && isHeld(); round++) {
			const { longest, result } = await longestTurn(() => jsonResult(text));
			turns.push(longest);
			const kept = texts(result)[0] ?? '';
			parsings.push(cpuMsOf(() => parsed(kept)));
		}
		const shown = `${turns.map((turn) => turn.toFixed(1)).join(', ')} ms of CPU; ${parsings.map((each) => each.toFixed(1)).join(', ')} ms to parse what is kept`;
		t.diagnostic(`longest turn: ${shown}`);
		assert.ok(!isHeld(), shown);
	});

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		// Read to its end all the same, or to the fault.
		return null;
	}
}

function cpuMsOf(work: () => unknown): number {
	const started = cpuMs();
	work();
	return cpuMs() - started;
}

/** Measured in CPU time of this thread, so that other processes do not count. */
async function longestTurn<T>(work: () => Promise<T>): Promise<{ longest: number; result: T }> {
	let longest = 0;
	let isDone = false;
	let last = cpuMs();
	const look = (): void => {
		const now = cpuMs();
		longest = Math.max(longest, now - last);
		last = now;
		if (!isDone) setImmediate(look);
	};
	setImmediate(look);
	const result = await work();
	isDone = true;
	await nextTurn();
	return { longest, result };
}

function cpuMs(): number {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1000;
}

// ── failures ───────────────────────────────────────────────────────────────────────────────────────────────────────

const failedWith = (type: string, body: string | Buffer, secrets: string[] = []): string =>
	texts(failedResult({ status: 500, headers: { 'content-type': type }, body: Buffer.from(body), url: 'http://x/' }, secrets))[0]
		?.split('\n')
		.slice(1)
		.join('\n') ?? '';

describe('The excerpt of a failure', () => {
	test('of a page is what a browser would show', () => {
		const page = `<!DOCTYPE html><html><head><title>502 Bad&nbsp;Gateway</title><style>${'a{}'.repeat(5000)}</style><script>x("</p>")</SCRIPT ></head>
			<body><!-- secret --><center><h1>502 &lt;Bad&gt; Gateway</h1></center>a < b<hr><p>nginx&#47;1.2 &#x1F600; &unknown; <b>bold</b></body></html>`;
		assert.equal(failedWith('text/html; charset=utf-8', page), '502 Bad Gateway\n502 <Bad> Gateway\na < b\nnginx/1.2 😀 &unknown; bold');
	});

	test('of a hostile page takes no time', () => {
		for (const piece of ['<script', '<style>', '<!--', '<', '</', '&#', '<a "', '<script></scrip']) {
			const page = piece.repeat(65_536 / piece.length);
			const times = [1, 2, 3].map(() => cpuMsOf(() => textOfHtml(page)));
			assert.ok(Math.min(...times) <= 40, `${piece}: ${times} ms of CPU`);
		}
	});

	test('has no characters that hide, reverse or move text', () => {
		const hidden = [
			'\u001b[2J',
			'\u0000',
			'\u0007',
			'\u200b',
			'\u202e',
			'\u2066',
			'\ufeff',
			'\u2028',
			'\u{e0041}',
			'\u{e0101}',
			'\u00ad',
			'\u115f',
			'\ufe0f',
		];
		for (const one of hidden)
			assert.equal(failedWith('text/plain', `a${one}b`), `a${one === '\u001b[2J' ? '[2J' : ''}b`, JSON.stringify(one));
	});

	test('is cut after secrets are hidden, so that half a secret is not shown either', () => {
		const secret = 'sk-0123456789abcdef';
		for (let before = 2020; before < 2060; before++) {
			const shown = failedWith('text/plain', `${'x'.repeat(before)}${secret}${'y'.repeat(100)}`, [secret]);
			assert.ok(!shown.includes('sk-0'), `${before}: ${shown.slice(-40)}`);
		}
	});
});

describe('Secrets that signing added', () => {
	const request = { method: 'GET', url: 'https://api.example/a?q=1', headers: { cookie: 'a=visible', accept: 'x/y' } };
	const signedWith = (headers: Record<string, string>, url = request.url) => ({
		...request,
		url,
		headers: { ...request.headers, ...headers },
	});
	const basic = Buffer.from('ada:pass"word').toString('base64');
	const CASES: [what: string, signed: typeof request, echoes: string[], visible: string[]][] = [
		['a bearer token', signedWith({ authorization: 'Bearer token-12345' }), ['got Bearer token-12345'], ['Bearer']],
		[
			'user name and password',
			signedWith({ authorization: `Basic ${basic}` }),
			[`Basic ${basic}`, 'ada:pass"word', '{"p":"pass\\"word"}', '<b>pass&quot;word</b>'],
			[],
		],
		['a key in a header', signedWith({ 'x-key': 'k-12345&6' }), ['k-12345&6', 'k-12345%266', 'k-12345&amp;6'], []],
		['a key in a cookie, not what was there', signedWith({ cookie: 'a=visible; key=k-12345' }), ['key=k-12345'], ['a=visible']],
		['a key in the query', signedWith({}, 'https://api.example/a?q=1&key=k%2F12345'), ['/a?q=1&key=k%2F12345', 'k/12345'], ['q=1']],
	];
	for (const [what, signed, echoes, visible] of CASES)
		test(`are hidden in every spelling: ${what}`, () => {
			const secrets = secretsAdded(request, signed);
			for (const echo of echoes) {
				const shown = withoutSecrets(echo, secrets);
				assert.match(shown, /\[hidden\]/);
				assert.doesNotMatch(shown, /12345|pass.*word/);
			}
			for (const text of visible) assert.equal(withoutSecrets(text, secrets), text);
		});

	test('are none if nothing was signed', () => {
		assert.deepEqual([secretsAdded(request, request), secretsAdded(request, { ...request })], [[], []]);
	});
});
