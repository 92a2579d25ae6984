// Tests of JSON in pieces: it is the same JSON, and a large card holds the event loop for a moment at a time.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import type { Any } from '../../../test/helpers/a2a-agent.ts';
import { longestTurnMs, threadCpuMs } from '../../../test/helpers/clock.ts';
import { signaturesOf } from './signing.ts';
import { bytesOf, inPieces, PLAIN } from './turns.ts';
import { written } from './written.ts';

const text = async (value: Any): Promise<string> => (await inPieces(value, PLAIN)).join('');

test('pieces are the JSON of the whole', async () => {
	let deep: Any = { end: [[], {}, ''] };
	for (let depth = 0; depth < 12; depth++) deep = { [`at ${depth}`]: [deep, depth] };
	for (const value of [deep, {}, [], null, 'é"\u2028😀\n', 7, [1, [2, [null]], { a: {}, '"': [] }]])
		assert.equal(await text(value), JSON.stringify(value));
});

test('bytes are those of the pieces, in buffers of a bounded size', async () => {
	const pieces = Array.from({ length: 5_000 }, (_, at) => `${at}é😀`.repeat(20));
	const buffers: Buffer[] = [];
	for await (const bytes of bytesOf(pieces)) buffers.push(bytes);
	assert.equal(String(Buffer.concat(buffers)), pieces.join(''));
	assert.ok(buffers.length > 5 && buffers.every(({ length }) => length < 512 * 1024));
	const none: Buffer[] = [];
	for await (const bytes of bytesOf([])) none.push(bytes);
	assert.deepEqual(none, []);
});

test('a card of 3,000 skills is signed and written in turns', async () => {
	const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
	const operator = { signingKey: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
	const fields = Array.from({ length: 40 }, (_, at) => [`field_${at}`, { type: 'string', description: 'One of many.' }]);
	const names = Array.from({ length: 3_000 }, (_, at) => `tool_${at}`);
	const card: Any = {
		capabilities: {
			extensions: [{ params: { inputSchemas: Object.fromEntries(names.map((name) => [name, Object.fromEntries(fields)])) } }],
		},
		skills: names.map((id) => ({ id, name: id, description: 'Does something. '.repeat(20), tags: ['http'], examples: [id] })),
	};
	let longest = 0;
	const all = await threadCpuMs(async () => {
		longest = await longestTurnMs(async () => {
			assert.equal((await signaturesOf(card, operator, 'https://a.example/keys')).length, 1);
			assert.equal(String((await written(card)).bytes), JSON.stringify(card));
		});
	});
	// About 10 of 300 ms; at once, the signature alone takes most of them.
	assert.ok(longest < all / 4, `${longest} of ${all} ms at a time`);
});
