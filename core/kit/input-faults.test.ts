// Tests of the faults that no input may have, and of their names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import { detailsOf, MAX_DEPTH, notJson, SENTENCES, textFaults, validateInput } from './input-faults.ts';

const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`);
const FAULTS: [what: string, value: unknown, path: string][] = [
	['NUL in a text', { a: ['x', 'b\0'] }, '/a/1'],
	['NUL in a name', { a: { 'b\0': 1 } }, '/a/b\\u0000'],
	['half of a pair', { a: { b: '\ud800' } }, '/a/b'],
	['a name of the prototype', JSON.parse('{"a":{"__proto__":{}}}'), '/a/__proto__'],
	['a number beyond a double', { a: [1, Number.NEGATIVE_INFINITY] }, '/a/1'],
	['a text alone', '\0', ''],
];
for (const [what, value, path] of FAULTS)
	test(`${what} is named by its place`, () =>
		assert.deepEqual(
			textFaults(value).map((fault) => fault.path),
			[path],
		));

test(`nesting of ${MAX_DEPTH} levels is none, of one more is`, () => {
	assert.deepEqual(textFaults(nested(MAX_DEPTH)), []);
	assert.match(textFaults(nested(MAX_DEPTH + 1))[0]?.message ?? '', /nests deeper/);
});

test('a fault behind very many values is found, and told without its place', () => {
	for (const value of [
		[...new Array(200_000).fill({}), '\0'],
		Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`n${at}`, at === 19_999 ? '\0' : at])),
	]) {
		const [fault, ...others] = textFaults(value);
		assert.deepEqual([fault?.path, others], ['', []]);
		assert.match(fault?.message ?? '', /U\+0000/);
	}
	assert.deepEqual(textFaults(new Array(200_000).fill({ a: ['x'] })), []);
});

test('a fault of a whole object has the name of the field that it is', () => {
	const fault = Joi.object().or('one', 'two').validate({}).error?.details ?? assert.fail();
	for (const [at, name] of [
		['/options', 'options'],
		['/nodes/1/data', 'data'],
		['query', 'query'],
		['', 'value'],
		['/list/3', 'value'],
	] as const)
		assert.deepEqual(detailsOf(fault, at), [{ path: at, message: `"${name}" must contain at least one of [one, two]` }]);
	assert.deepEqual(detailsOf(fault, '', 'body'), [{ path: '', message: '"body" must contain at least one of [one, two]' }]);
	const inner = Joi.object({ value: Joi.number() }).validate({ value: 'x' }).error?.details ?? assert.fail();
	assert.deepEqual(detailsOf(inner, '/options'), [{ path: '/options/value', message: '"value" must be a number' }]);
});

test('two faults in the same words at the same place are told once', () => {
	const rule = Joi.string()
		.email()
		.custom((_, helpers) => helpers.error('string.email'));
	const { error } = validateInput(Joi.object({ email: rule }), { email: 'x' }, {});
	assert.deepEqual(detailsOf(error?.details ?? []), [{ path: '/email', message: '"email" must be a valid email' }]);
});

test('all faults of a small input are told, and the first of a large one', () => {
	const schema = Joi.object({ list: Joi.array().items(Joi.string()) });
	const faultsOf = (length: number) => validateInput(schema, { list: new Array(length).fill(0), other: 1 }, {}).error?.details.length;
	assert.deepEqual([faultsOf(2), faultsOf(520_000)], [3, 1]);
	assert.deepEqual(validateInput(Joi.object({ a: Joi.string().default('x') }), {}, {}), { value: { a: 'x' } });
});

test('a list or an object with too many values is refused in the words of Joi, before any of them is checked', () => {
	let checks = 0;
	const item = Joi.any().custom((value) => {
		checks++;
		return value;
	});
	const list = Joi.array().items(item).max(2);
	const schema = Joi.object({
		list,
		inside: Joi.array().items(Joi.object({ list })),
		either: Joi.alternatives(Joi.string(), list),
		names: Joi.object().pattern(Joi.string(), item).max(1),
		listed: Joi.alternatives(list, Joi.object({ list })),
	});
	const long = [1, 2, 3];
	for (const input of [{ list: long }, { inside: [{ list: [] }, { list: long }] }, { names: { a: 1, b: 2 } }, { listed: { list: long } }]) {
		const { error: expected } = schema.validate(input);
		checks = 0;
		const [fault, ...others] = validateInput(schema, input, {}).error?.details ?? [];
		assert.deepEqual([fault?.message, fault?.path, others, checks], [expected?.details[0]?.message, expected?.details[0]?.path, [], 0]);
	}
	checks = 0;
	assert.match(
		validateInput(schema, { either: long }, {}).error?.details[0]?.message ?? '',
		/^"either" must contain less than or equal to 2 items$/,
	);
	assert.equal(checks, 0);
	const fitting = { list: [1, 2], inside: [{ list: [1] }], either: 'x', names: { a: 1 }, listed: [1] };
	assert.deepEqual(validateInput(schema, fitting, {}), { value: fitting });
	assert.equal(checks, 5);
});

const long = (inner: string): string => `{"first":"value",\n "second":${inner},\n"third":"value"}`;
const UNREADABLE: [what: string, text: string, fault: string][] = [
	['within', long('CANARY'), 'Unexpected token in JSON at position 28 (line 2 column 11)'],
	['at the start', `CANARY${long('1')}`, 'Unexpected token in JSON at position 0 (line 1 column 1)'],
	['on a line of its own', `\n\nCANARY${long('1')}`, 'Unexpected token in JSON at position 2 (line 3 column 1)'],
	['at the end', long('1').replace('"value"}', 'CANARY}'), 'Unexpected token in JSON at position 39 (line 3 column 9)'],
	['after a quotation mark', long('["CANARY", \'CANARY\']'), 'Unexpected token in JSON at position 39 (line 2 column 22)'],
	['in a short text', '{"a":CANARY}', 'Unexpected token'],
	['in a text that occurs twice', '[" [     true, CANARYabc ]",[     true, CANARYabc ]]', 'Unexpected token'],
	['that names itself', 'NaN', 'Unexpected token'],
	['with its place', long('"CANARY" CANARY'), "Expected ',' or '}' after property value in JSON at position 37 (line 2 column 20)"],
	['that is missing', '{"a":"CANARY"', "Expected ',' or '}' after property value in JSON at position 13 (line 1 column 14)"],
];
for (const [what, text, fault] of UNREADABLE)
	test(`a fault of JSON ${what} is told without the text`, () => {
		const error = refusal(text);
		assert.equal(error.message, `The body is not JSON: ${fault}.`);
		assert.deepEqual(error.details, [{ path: '', message: error.message }]);
		assert.doesNotMatch(`${error.message} ${error.cause}`, /CANARY|'C'/);
	});

function refusal(text: string): ReturnType<typeof notJson> {
	try {
		return assert.fail(`${JSON.parse(text)} is JSON`);
	} catch (thrown) {
		return notJson(thrown, text);
	}
}

test('a value of a known form is told in plain words', () => {
	const rules = {
		id: Joi.string().guid(),
		url: Joi.string().uri({ scheme: ['http', 'https'] }),
		email: Joi.string().email({ tlds: false }),
	};
	const { error } = validateInput(Joi.object(rules), { id: 'x', url: 'example.com', email: 'ada' }, { messages: SENTENCES });
	assert.deepEqual(
		error?.details.map(({ message }) => message),
		[
			'"id" must be a UUID',
			'"url" must be an absolute URL, such as https://api.example.com',
			'"email" must be an e-mail address, such as ada@example.com',
		],
	);
});
