// Outputs that cannot be joined as the node shall.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError } from '../../../core/index.ts';
import merge from './index.ts';

const input = {
	input: {},
	from: [
		{ nodeId: 'a', output: [1] },
		{ nodeId: 'b', output: 'text' },
	],
};

for (const [mode, says] of [
	['assign', /The output of "a" is not an object, which "assign" needs/],
	['concat', /The output of "b" is not a list, which "concat" needs/],
] as const)
	test(`“${mode}” names the node whose output does not suit it`, async () => {
		await assert.rejects(merge.run(input, { mode }), (error) => {
			assert.equal(asGatewayError(error)?.code, 'validation_failed');
			return says.test(String(error));
		});
	});

test('A name of every object is a member like any other', async () => {
	const from = [{ nodeId: 'a', output: JSON.parse('{"__proto__":{"x":1}}') }];
	const { output } = await merge.run({ input: {}, from }, { mode: 'assign' });
	assert.equal(JSON.stringify(output), '{"__proto__":{"x":1}}');
	assert.equal(({} as { x?: number }).x, undefined);
});
