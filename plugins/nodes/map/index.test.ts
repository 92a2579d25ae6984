// The list of items, its bounds, and the body as core gets it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type Json, type NodeCall } from '../../../core/index.ts';
import map from './index.ts';

const GIVEN = { items: '{{input.rows}}', body: { nodes: [{ id: 'out', type: 'output' }], edges: [] }, maxItems: 3, concurrency: 2 };
const config = map.config.validate(GIVEN).value;
const input = { input: {}, from: [] };

function callWith(items: Json) {
	const asked: object[] = [];
	const each: NodeCall['each'] = async (list, options) => {
		asked.push({ list, ...options });
		return list.map((ok) => ({ ok }));
	};
	return { asked, call: { fill: () => items, each } as unknown as NodeCall };
}

const REFUSED: [what: string, items: Json, says: RegExp][] = [
	['null', null, /"items" must be a list, and is null/],
	['an object', { a: 1 }, /and is an object/],
	['a text', 'a,b', /and is a string/],
	['too many', [1, 2, 3, 4], /"items" has 4 items, and "maxItems" allows 3/],
];

for (const [what, items, says] of REFUSED)
	test(`${what} is refused before an item begins`, async () => {
		const { call, asked } = callWith(items);
		const refused = map.run(input, config, call);
		await assert.rejects(refused, (error) => asGatewayError(error)?.code === 'validation_failed' && says.test(String(error)));
		assert.deepEqual(asked, []);
	});

test('The items go to core with their bounds', async () => {
	const { call, asked } = callWith([1, 2, 3]);
	await map.run(input, config, call);
	assert.deepEqual(asked, [{ list: [1, 2, 3], concurrency: 2, stopsAtFault: false }]);
});

test('The body is at its place in the data', () => {
	assert.deepEqual(map.body(config), { path: '/body', nodes: [{ id: 'out', type: 'output', data: {} }], edges: [] });
});
