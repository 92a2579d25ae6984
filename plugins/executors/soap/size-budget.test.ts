// The length of messages, and the steps in which they are written.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import { asGatewayError, type Json, type JsonObject } from '../../../core/index.ts';
import { longestTurnMs } from '../../../test/helpers/clock.ts';
import { config as rules, type SoapConfig } from './config.ts';
import { writeEnvelope } from './envelope.ts';
import { createMatchBudget } from './match-budget.ts';
import type { ElementModel, TypeModel } from './model.ts';
import { createNames } from './names.ts';
import { createSizeBudget } from './size-budget.ts';
import { type Writing, writeElement } from './writer.ts';

const MAX_CHARS = 8 * 1024 * 1024;
const LONG = 'k'.repeat(500);
const MANY = 20_000;

/** Makes the config of a message `Do` with one element of this type in no namespace. */
const configOf = (element: Partial<ElementModel>, types: Record<string, TypeModel> = {}, encoded = false): SoapConfig =>
	Joi.attempt(
		{
			version: '1.1',
			style: encoded ? 'rpc' : 'document',
			action: '',
			namespaces: {},
			types: { Do: { of: [{ name: 'a', type: 'xs:string', ...element }] }, ...types },
			request: { root: 'content', element: { name: 'Do', type: 'Do' }, encoded },
		},
		rules,
	);

const ANY: SoapConfig = configOf({ type: 'xs:anyType' });
const OPEN: SoapConfig = configOf({ type: 'T' }, { T: { open: true } });
const WILD: SoapConfig = configOf({ type: 'T' }, { T: { of: [{ any: true, optional: true, most: 0 }] } });
const named = (value: Json): JsonObject => ({ a: { [LONG]: value } });
const list = Array<Json>(MANY).fill(1);

const TOO_LONG: [what: string, config: SoapConfig, args: JsonObject, path: RegExp][] = [
	['a value of any type', ANY, named(list), /^\/a\/k{100}\/8\d{3}$/],
	['an open type', OPEN, named(list), /^\/a\/k{100}\/8\d{3}$/],
	['a place for any element', WILD, named(list), /^\/a\/k{100}\/8\d{3}$/],
	['lists in lists', ANY, named(Array<Json>(MANY / 10).fill(Array(10).fill(null))), /^\/a\/k{100}\/\d+\/\d$/],
	['empty objects', ANY, named(Array<Json>(MANY).fill({})), /^\/a\/k{100}\/1\d{4}$/],
	['an element with a long name', configOf({ name: LONG, many: true, most: 0 }), { [LONG]: list }, /^\/k{100}\/8\d{3}$/],
	[
		'a nil element with a long name',
		configOf({ name: LONG, many: true, most: 0, nil: true }),
		{ [LONG]: Array(MANY).fill(null) },
		/\/\d+$/,
	],
	[
		'an attribute whose value is fixed',
		configOf(
			{ type: 'T', many: true, most: 0 },
			{ T: { attributes: [{ name: 'b', type: 'xs:string', fixed: LONG }], of: [{ name: 'c', type: 'xs:int', optional: true }] } },
		),
		{ a: Array(MANY).fill({ c: 1 }) },
		/^\/a\/\d+(?:\/c)?$/,
	],
	[
		"items of an array in SOAP's encoding",
		configOf({ type: 'T' }, { T: { array: { name: LONG, type: 'xs:int' } } }, true),
		{ a: list },
		/^\/a\/\d+$/,
	],
];

for (const [what, config, args, path] of TOO_LONG)
	test(`A message that would be too long by ${what} is refused, by the value that is too much`, async () => {
		await assert.rejects(writeEnvelope(config, args, ''), (error) => {
			const ours = asGatewayError(error);
			assert.equal(ours?.code, 'validation_failed', String(error));
			assert.match(ours.details[0]?.path ?? '', path);
			assert.match(ours.message, /makes the message too long: it can have at most 8388608 characters\.$/);
			return true;
		});
	});

test('A message can be as long as the bound, to the character, with whatever it holds', async () => {
	const inside = async (config: SoapConfig, args: JsonObject): Promise<number> =>
		/<soap:Body>(.*)<\/soap:Body>/s.exec(await writeEnvelope(config, args, ''))?.[1]?.length ?? assert.fail();
	const mixed = (text: string): JsonObject => ({
		a: { '@b': '"', $value: text, c: { d: [null, {}, true, { $value: '', e: '&' }] }, f: { '@xsi:type': 'xs:int', $value: 5 } },
	});
	const arrays = configOf({ type: 'T' }, { T: { array: { name: 'i', type: 'T2' } }, T2: { text: 'xs:string' } }, true);
	const kinds: [SoapConfig, (text: string) => JsonObject][] = [
		[ANY, mixed],
		[OPEN, (text) => ({ a: { b: text, c: [1, null] } })],
		[configOf({}), (text) => ({ a: text })],
		[
			configOf({ type: 'T' }, { T: { text: 'xs:string', attributes: [{ name: 'b', type: 'xs:int' }] } }),
			(text) => ({ a: { $value: text, '@b': 1 } }),
		],
		[arrays, (text) => ({ a: [null, {}, text] })],
	];
	for (const [config, argsOf] of kinds) {
		const fits = MAX_CHARS - (await inside(config, argsOf('x'))) + 1;
		assert.equal(await inside(config, argsOf('x'.repeat(fits))), MAX_CHARS);
		await assert.rejects(inside(config, argsOf('x'.repeat(fits + 1))), /makes the message too long/);
	}
});

/** Most parts of a step. */
const FEW = 33;

/** Counts the steps in which the element `Do` is written. */
function stepsOf(config: SoapConfig, args: JsonObject): number {
	const budgets = { matchBudget: createMatchBudget(), sizeBudget: createSizeBudget() };
	const writing: Writing = { config, names: createNames(), ...budgets, pace: { elements: 0 }, isEncoded: false };
	return [...writeElement({ name: 'Do', type: 'Do' }, args, '', writing)].length;
}

test('Content that a schema leaves open is written in steps of few elements and attributes', () => {
	const count = 1_000;
	const args: JsonObject = { a: { b: Array<Json>(count).fill(1), c: Array<Json>(count).fill([]), d: Array<Json>(count).fill({ e: 1 }) } };
	const attributes = Object.fromEntries(Array.from({ length: count }, (_, index) => [`@b${index}`, 1]));
	for (const config of [ANY, OPEN, WILD]) {
		assert.ok(stepsOf(config, args) >= (4 * count) / FEW, String(stepsOf(config, args)));
		if (config !== WILD) assert.ok(stepsOf(config, { a: attributes }) >= count / FEW, String(stepsOf(config, { a: attributes })));
	}
});

test('What a schema describes is written in steps of few parts, whether they are given or not', () => {
	const count = 1_000;
	const names = Array.from({ length: count }, (_, index) => `n${index}`);
	const wide: TypeModel[] = [
		{ of: names.map((name) => ({ name, type: 'xs:int', optional: true })) },
		{ attributes: names.map((name) => ({ name, type: 'xs:int' })) },
	];
	for (const type of wide) assert.ok(stepsOf(configOf({ type: 'T' }, { T: type }), { a: {} }) >= count / FEW);
	assert.ok(stepsOf(configOf({ type: 'xs:int*' }), { a: Array<Json>(count).fill(1) }) >= count / FEW);
	const texts = { a: Array<Json>(count).fill('&'.repeat(1_100)) };
	assert.ok(stepsOf(configOf({ many: true, most: 0 }), texts) >= count);
	for (const config of [configOf({}), ANY]) assert.ok(stepsOf(config, { a: '&'.repeat(1_000_000) }) >= 50);
	assert.ok(stepsOf(ANY, { a: { '@b': '"'.repeat(1_000_000) } }) >= 50);
});

test('The members of an object are listed once, and the most that a message can have do not block the event loop for long', async (t) => {
	let listed = 0;
	const ownKeys = (members: JsonObject): (string | symbol)[] => {
		listed += 1;
		return Reflect.ownKeys(members);
	};
	const watched = new Proxy<JsonObject>({ b: 1, c: 2 }, { ownKeys });
	for (const config of [OPEN, ANY]) await writeEnvelope(config, { a: watched }, '');
	assert.equal(listed, 2);
	const open: SoapConfig = { ...ANY, types: { Do: { open: true } } };
	const many = Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`k${index}`, 1]));
	const longestMs = await longestTurnMs(() => writeEnvelope(open, many, ''));
	t.diagnostic(`longest turn ${longestMs.toFixed(0)} ms`);
	assert.ok(longestMs < 150, `${longestMs} ms`);
});
