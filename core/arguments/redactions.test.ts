// Redactions in threads: what patterns hide in JSON, and who waits for a pattern that takes too long.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonSchema } from '../contract/nouns.ts';
import { type Checked, createArgumentChecks } from './checks.ts';
import type { RedactionOrder } from './redactions.ts';

const accountOf = async (organizationId: string): Promise<string> => organizationId;
const checks = createArgumentChecks(accountOf);
after(() => checks.close());

const NEVER = new AbortController().signal;
/** RE2 looks for the end from each character on. */
const SLOW = ['a*b|a', 'a*c|a', 'a*d|a', 'a*e|a', 'a*f|a'];
const slowTexts = (): string[] => [JSON.stringify(Array.from({ length: 8 }, () => 'a'.repeat(8000)))];

function redact(order: Partial<RedactionOrder>, { redactions } = checks): Promise<readonly string[] | null> {
	const { promise, resolve } = Promise.withResolvers<readonly string[] | null>();
	redactions.add({ organizationId: 'o', texts: [], patterns: [], maxChars: 8448, ...order }, resolve);
	return promise;
}

test('texts, names and numbers are redacted, and what stands between them stays as it is, also where the text is cut', async () => {
	const texts = ['{"a1":[1,-2.5e+21,true,null],"b":"x1\\"\\\\","c":""}', '', '["1",{"a":"2"…', '"…"'];
	assert.deepEqual(await redact({ texts, patterns: ['[a1]', '2\\.5'] }), [
		'{"[redacted][redacted]":["[redacted]","-[redacted]e+2[redacted]",true,null],"b":"x[redacted]\\"\\\\","c":""}',
		'',
		'["[redacted]",{"[redacted]":"2"…',
		'"…"',
	]);
});

test('a text that is long enough is not redacted further', async () => {
	const [shown = ''] = (await redact({ texts: [JSON.stringify(Array(1000).fill('abc'))], patterns: ['b'], maxChars: 20 })) ?? [];
	assert.equal(shown, '["a[redacted]c","a[redacted]c"');
});

test('patterns that take too long, cannot be run or write without end redact nothing', async () => {
	assert.equal(await redact({ texts: slowTexts(), patterns: SLOW }), null);
	assert.equal(await redact({ texts: ['"a"'], patterns: ['(?=a)'] }), null);
	assert.equal(await redact({ texts: [JSON.stringify('a'.repeat(8000))], patterns: ['x*', 'x*', 'x*', 'x*', 'x*'] }), null);
	assert.deepEqual(await redact({ texts: ['"a"'], patterns: ['a'] }), ['"[redacted]"']);
});

test('no check of arguments waits for redactions, however many accounts have some', async () => {
	const schema: JsonSchema = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
	const tool = {
		id: 'tool',
		organizationId: 'third',
		name: 't',
		description: '',
		executor: 'http',
		parameters: schema,
		outputSchema: null,
	};
	const checked: Checked = {
		tool: { ...tool, annotations: {}, apiId: null, version: '1' },
		whole: null,
		filled: [],
		assertsFormats: false,
	};
	const args = { list: Array.from({ length: 2000 }, (_, index) => ({ index })) };
	const check = async () => assert.deepEqual(await checks.complete(checked, args, NEVER), args);
	await check();
	const over: string[] = [];
	const slow = ['one', 'two'].map(async (organizationId) => {
		assert.equal(await redact({ organizationId, texts: slowTexts(), patterns: SLOW }), null);
		over.push(organizationId);
	});
	await check();
	assert.deepEqual(over, []);
	await Promise.all(slow);
});

test('all are told when the threads end: those that had time, and those that had none', async () => {
	const own = createArgumentChecks(accountOf);
	const told: (readonly string[] | null)[] = [];
	const add = (organizationId: string, order: Pick<RedactionOrder, 'texts' | 'patterns'>): void =>
		own.redactions.add({ organizationId, maxChars: 8448, ...order }, (texts) => told.push(texts));
	for (let count = 0; count < 5; count++) add('slow', { texts: slowTexts(), patterns: SLOW });
	await own.close();
	assert.deepEqual(told, [null, null, null, null, null]);
	add('late', { texts: ['"a"'], patterns: ['a'] });
	await own.close();
	assert.deepEqual(told.slice(5), [null]);
});
