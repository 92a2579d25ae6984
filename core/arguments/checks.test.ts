// Arguments checked on the event loop and in threads: what does not block other calls, and what is refused.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { rounds } from '../../test/helpers/sampled.ts';
import type { GatewayError } from '../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../contract/nouns.ts';
import { type Checked, createArgumentChecks } from './checks.ts';
import { flatten } from './flat.ts';
import type { SchemaText } from './messages.ts';

/** Each organization is an account of its own, except two. */
const accountOf = async (organizationId: string): Promise<string> => organizationId.replace(/ .*$/, '');
const checks = createArgumentChecks(accountOf);
after(() => checks.close());

const NEVER = new AbortController().signal;
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const many = (count: number, make: (index: number) => JsonObject): JsonObject =>
	Object.fromEntries(Array.from({ length: count }, (_, index): [string, JsonObject] => [`p${index}`, make(index)]));

let made = 0;
const toolWith = (parameters: JsonSchema, { organizationId = 'o', apiId = null as string | null } = {}): Checked => ({
	tool: {
		id: `tool-${made++}`,
		organizationId,
		name: 't',
		description: '',
		executor: 'http',
		parameters,
		outputSchema: null,
		annotations: {},
		apiId,
		version: '1',
	},
	whole: null,
	filled: [],
	assertsFormats: apiId === null,
});

/** More than is compiled on the event loop. */
const LARGE = object(many(600, () => ({ type: 'string', default: 'd' })));
/** Each item is compared with each other one. */
const SLOW = object({ list: { type: 'array', uniqueItems: true } });
const slowArgs = (): JsonObject => ({ list: Array.from({ length: 60_000 }, (_, index) => ({ a: 'b', index })) });

/** CPU time of the main thread in milliseconds. */
async function computed(work: () => Promise<unknown>): Promise<number> {
	const before = process.threadCpuUsage();
	await work();
	const { user, system } = process.threadCpuUsage(before);
	return (user + system) / 1000;
}

test('JSON text instead of an object or a list is parsed once, on the loop and in a thread', async () => {
	const body = object({
		list: { type: 'array' },
		note: { type: ['object', 'string'] },
		inner: object({ n: { type: 'integer', default: 1 } }),
	});
	const given = (): JsonObject => ({ body: '{"list":"[1]","note":"{}","inner":"{}"}' });
	const schema = object({ body });
	// A text inside the text stays a text.
	assert.throws(() => checks.complete(toolWith(schema), given(), NEVER), /\/body\/list must be array, got string "\[1\]"/);
	const args = { body: { list: '[1, {"a": 2}]', note: '{}', inner: ' {}' } };
	const expected = { body: { list: [1, { a: 2 }], note: '{}', inner: { n: 1 } } };
	assert.deepEqual(checks.complete(toolWith(schema), structuredClone(args), NEVER), expected);
	const large = object({ body, ...many(500, () => ({})) });
	assert.deepEqual(await checks.complete(toolWith(large), structuredClone(args), NEVER), expected);
	const plain = object({ list: { type: 'array' }, ...many(500, () => ({})) });
	assert.deepEqual(await checks.complete(toolWith(plain), { list: '[1]' }, NEVER), { list: [1] });
	for (const text of ['{', '7', 'null', '"{}"', '{"__proto__":{}}', `${'['.repeat(100)}${']'.repeat(100)}`])
		assert.throws(() => checks.complete(toolWith(schema), { body: text }, NEVER), /\/body must be object/, text);
});

test('JSON texts that together have more names than are parsed at once stay texts', () => {
	const textOf = (from: number): string =>
		JSON.stringify(Object.fromEntries(Array.from({ length: 6000 }, (_, at) => [`n${from + at}`, 1])));
	const tool = toolWith(object({ one: { type: 'object' }, other: { type: 'object' } }));
	assert.equal(Object.keys((checks.complete(tool, { one: textOf(0) }, NEVER) as { one: object }).one).length, 6000);
	assert.throws(() => checks.complete(tool, { one: textOf(0), other: textOf(6000) }, NEVER), /\/one must be object, got string/);
});

test('many values in a JSON text are checked in a thread, as they are without one', async () => {
	const list = Array.from({ length: 2_000 }, (_, index) => ({ a: index }));
	const tool = toolWith(object({ list: { type: 'array', items: { type: 'object' }, uniqueItems: true } }));
	for (const given of [list, JSON.stringify(list)]) {
		const complete = checks.complete(tool, { list: given }, NEVER);
		assert.ok(complete instanceof Promise, typeof given);
		assert.deepEqual(await complete, { list });
	}
});

test('small arguments of a small tool are checked at once, without a thread', () => {
	const tool = toolWith(object({ id: { type: 'integer' }, lang: { default: 'en' } }));
	assert.deepEqual(checks.complete(tool, { id: 7 }, NEVER), { id: 7, lang: 'en' });
	assert.throws(() => checks.complete(tool, { id: 'x' }, NEVER), { code: 'validation_failed' });
	assert.throws(() => checks.complete(tool, [], NEVER), /must be an object, got an array/);
});

test('a format is an annotation where it is not asserted, on the loop, in a thread and by the whole schema', async () => {
	const properties = { at: { type: 'string', format: 'date-time' }, site: { format: 'uri' }, count: { type: 'integer', format: 'int32' } };
	const args = (): JsonObject => ({ at: '2026-01-31T12:00:00', site: '/items/1', count: 2 ** 40 });
	for (const schema of [object(properties), object({ ...properties, ...many(600, () => ({})) })]) {
		const imported = toolWith(schema, { apiId: 'api' });
		assert.deepEqual(await checks.complete(imported, args(), NEVER), args());
		const whole = async (): Promise<SchemaText> => ({ text: JSON.stringify(schema), flat: null, without: [] });
		assert.deepEqual(await checks.complete({ ...toolWith(object({}), { apiId: 'api' }), whole }, args(), NEVER), args());
		for (const asserting of [toolWith(schema), { ...toolWith(schema, { apiId: 'api' }), assertsFormats: true }])
			await assert.rejects(
				async () => checks.complete(asserting, args(), NEVER),
				({ details }: GatewayError) => {
					assert.deepEqual(details.map(({ path }) => path).toSorted(), ['/at', '/count', '/site']);
					return /\/at must match format "date-time", got string "2026-01-31T12:00:00"/.test(
						details.map((one) => `${one.path} ${one.message}`).join(),
					);
				},
			);
	}
});

test('a large schema is checked in a thread, with the same filled-in values and faults as on the event loop', async () => {
	const tool = toolWith(LARGE);
	const complete = checks.complete(tool, { p1: 'x' }, NEVER);
	assert.ok(complete instanceof Promise);
	const args = await complete;
	assert.deepEqual([args['p0'], args['p1'], Object.keys(args).length], ['d', 'x', 600]);
	await assert.rejects(
		async () => checks.complete(tool, { p1: 1 }, NEVER),
		(error: GatewayError) => error.code === 'validation_failed' && error.details[0]?.path === '/p1',
	);
	const imported = toolWith(LARGE, { apiId: 'api' });
	assert.deepEqual(await checks.complete(imported, { p1: 'x' }, NEVER), { p1: 'x' });
});

test('a large schema costs the main thread at most a tenth of compiling it', async () => {
	const own = createArgumentChecks(accountOf);
	try {
		const schemaOf = (round: number) => object(many(1000, (index) => ({ type: 'string', maxLength: index + round })));
		// Starts the thread, which takes a while.
		await own.admit(object(many(500, () => ({}))), 'o', NEVER);
		const { compileSchema, WRITTEN } = await import('./compile.ts');
		const compiling = await computed(async () => compileSchema(schemaOf(1), WRITTEN).check({}));
		const admitting: number[] = [];
		const checking: number[] = [];
		const isCheap = (spent: number[]): boolean => Math.min(...spent) < compiling / 10;
		// The least of up to three: this thread also collects what the compiler left behind.
		for (let round = 2; round < 5 && !(isCheap(admitting) && isCheap(checking)); round++) {
			const schema = schemaOf(round);
			admitting.push(await computed(() => own.admit(schema, 'o', NEVER)));
			checking.push(await computed(async () => own.complete(toolWith(schema), { p1: 'x' }, NEVER)));
		}
		assert.ok(isCheap(admitting), `${admitting} of ${compiling} ms to admit`);
		assert.ok(isCheap(checking), `${checking} of ${compiling} ms to check`);
	} finally {
		own.close();
	}
});

test('the slow checks of an account and its organizations leave a thread for others, and run in turn among themselves', async () => {
	const ended: string[] = [];
	const slow = Array.from({ length: 3 }, async (_, index) => {
		const tool = toolWith(SLOW, { organizationId: `greedy ${index % 2}` });
		// On a busy machine a second of computing takes so long that the last ones are refused while they wait.
		await assert.rejects(
			async () => checks.complete(tool, slowArgs(), NEVER),
			({ code }: GatewayError) => {
				if (code === 'validation_failed') ended.push(`slow ${index}`);
				return code === 'validation_failed' || code === 'rate_limited';
			},
		);
	});
	await checks.complete(toolWith(LARGE, { organizationId: 'other', apiId: 'api' }), {}, NEVER);
	ended.push('other');
	await Promise.all(slow);
	assert.ok(ended.indexOf('other') <= 1, ended.join());
	// The checks of an organization end in their order. An account alternates between its organizations as a thread becomes free.
	const own = ['slow 0', 'slow 2'];
	assert.deepEqual(
		ended.filter((name) => own.includes(name)),
		own.filter((name) => ended.includes(name)),
	);
});

test('a check that is slow for large arguments is stopped after a second of computing: who leaves while waiting for it is removed at once, and when the queue is full further ones are refused with Retry-After', async () => {
	const slow = toolWith(SLOW, { organizationId: 'many' });
	assert.deepEqual(checks.complete(slow, { list: [1, 2] }, NEVER), { list: [1, 2] });
	const busy = assert.rejects(async () => checks.complete(slow, slowArgs(), NEVER), {
		code: 'validation_failed',
		message: /more than a second/,
	});
	const leaving = new AbortController();
	const waiting = Array.from({ length: 1010 }, () =>
		Promise.resolve(checks.complete(toolWith(LARGE, { organizationId: 'many' }), {}, leaving.signal)).catch(
			(error: Error) => error.message,
		),
	);
	// All of them are queued by then.
	await new Promise((resolve) => setImmediate(resolve));
	leaving.abort(new Error('gone'));
	const said = await Promise.all(waiting);
	assert.ok(said.filter((message) => message === 'gone').length >= 490);
	assert.ok(said.filter((message) => String(message).startsWith('Too many arguments')).length >= 500);
	await busy;
	// The next task gets a working thread.
	const next = toolWith(LARGE, { organizationId: 'many', apiId: 'api' });
	assert.deepEqual(await checks.complete(next, { p1: 'x' }, NEVER), { p1: 'x' });
});

const REFUSED: [id: string, schema: JsonSchema, path: string][] = [
	['ten thousand properties', object(many(10_000, () => ({ type: 'string' }))), '/parameters'],
	['patterns without end', object(many(5000, (n) => ({ pattern: `^(a|b${n}){1,900}$` }))), '/parameters/properties/p6/pattern'],
	[
		'a large one with a wrong type',
		object(many(1000, (n) => ({ type: n === 999 ? 'text' : 'string' }))),
		'/parameters/properties/p999/type',
	],
	['a small one with a wrong type', object({ 'a/b': { type: 'text' } }), '/parameters/properties/a~1b/type'],
	['a list at its root', { type: 'array' }, '/parameters/type'],
	['two thousand alternatives', object({ a: { oneOf: Array.from({ length: 2001 }, (_, n) => ({ const: n })) } }), '/parameters'],
	[
		'itself twice on each level',
		object(
			{ a: { $ref: '#/$defs/x' } },
			{ $defs: { x: { patternProperties: { a: { $ref: '#/$defs/x' }, '^a': { $ref: '#/$defs/x' } } } } },
		),
		'/parameters',
	],
];

for (const [id, schema, path] of REFUSED)
	test(`parameters are refused, naming the pointer: ${id}`, async () => {
		await assert.rejects(checks.admit(schema, 'o', NEVER), (error: GatewayError) => {
			assert.equal(error.code, 'validation_failed');
			assert.equal(error.details[0]?.path, path);
			return true;
		});
	});

test('parameters of a large API are accepted', async () => {
	await checks.admit(object(many(rounds({ few: 1500, all: 3000 }), () => object({ a: { type: 'string' } }))), 'o', NEVER);
	await checks.admit(object({ child: { $ref: '#' } }), 'o', NEVER);
});

/** Creates a tool of an API whose models are shown a reduced schema. */
const cutTool = (parameters: JsonSchema, text: string | null, flat: string | null = null): Checked & { reads: number } => {
	const checked = {
		...toolWith(parameters, { apiId: 'api' }),
		reads: 0,
		whole: async () => {
			checked.reads++;
			return text === null ? null : { text, flat, without: checked.filled };
		},
	};
	return checked;
};

const CUT = object({ body: object({ address: { description: 'Anything.' } }) });
const WHOLE = JSON.stringify(object({ body: object({ address: object({ street: { type: 'string' } }) }) }));

test('arguments are checked against the whole schema, which is read once for as long as a thread knows it', async () => {
	const checked = cutTool(CUT, WHOLE);
	const good = { body: { address: { street: 'x' } } };
	const fault = { code: 'validation_failed', message: 'Invalid parameters: /body/address must be object, got string "abc".' };
	await assert.rejects(async () => checks.complete(checked, { body: { address: 'abc' } }, NEVER), fault);
	assert.deepEqual(await checks.complete(checked, good, NEVER), good);
	assert.equal(checked.reads, 1);
});

test('a flat tool is checked against the whole schema by its own names', async () => {
	const checked = cutTool(object({ address: { description: 'Anything.' } }), WHOLE, 'body');
	await assert.rejects(async () => checks.complete(checked, { address: { street: 7 } }, NEVER), {
		message: /^Invalid parameters: \/address\/street /,
	});
	assert.deepEqual(await checks.complete(checked, { address: { street: 'x' } }, NEVER), { address: { street: 'x' } });
});

test('an argument that a credential supplies is neither required nor passed on, whichever schema is used', async () => {
	const schema = (...names: string[]): JsonSchema => ({
		...object({ ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])), body: object({ street: { type: 'string' } }) }),
		required: [...names, 'body'],
		additionalProperties: false,
	});
	const flat: JsonSchema = flatten(schema(), 'body')?.parameters ?? assert.fail();
	const whole = JSON.stringify(schema('key', 'token'));
	const CASES: [parameters: JsonSchema, whole: string | null, layout: string | null, args: JsonObject][] = [
		[schema(), null, null, { body: { street: 'x' } }],
		[schema(), whole, null, { body: { street: 'x' } }],
		[flat, null, 'body', { street: 'x' }],
		[flat, whole, 'body', { street: 'x' }],
	];
	for (const [parameters, text, layout, args] of CASES) {
		const filled = ['key', 'token'];
		const checked = {
			...cutTool(parameters, null),
			filled,
			whole: async () => (text === null ? null : { text, flat: layout, without: filled }),
		};
		assert.deepEqual(await checks.complete(checked, args, NEVER), args);
		assert.deepEqual(await checks.complete(checked, { ...args, key: 'k', token: { deep: 1 } }, NEVER), args);
		await assert.rejects(async () => checks.complete(checked, { street: 7, body: 7, key: 'k' }, NEVER), { code: 'validation_failed' });
	}
});

test('if the whole schema is missing, too large or invalid, the cut one is used, and the whole one is not retried for a while', async () => {
	const chain = Array.from({ length: 30_000 }, (_, index) => [`S${index}`, { properties: { next: { $ref: `#/$defs/S${index + 1}` } } }]);
	const endless = { ...object({ body: { $ref: '#/$defs/S0' } }), $defs: { ...Object.fromEntries(chain), S30000: {} } };
	for (const text of [null, '{"type":"object","properties":{"body":{"type":"none"}}}', JSON.stringify(endless)]) {
		const checked = cutTool(CUT, text);
		for (let round = 0; round < 2; round++) {
			assert.deepEqual(await checks.complete(checked, { body: { address: 'abc' } }, NEVER), { body: { address: 'abc' } });
			await assert.rejects(async () => checks.complete(checked, { body: 'abc' }, NEVER), /\/body must be object/);
		}
		assert.equal(checked.reads, 1, text?.slice(0, 80));
	}
});
