// The output of a run without a mapping.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeCall } from '../../../core/index.ts';
import output from './index.ts';

/** Nothing of the call is used. */
const CALL = {} as NodeCall;

test('The names of nodes are members of the output whatever they are', async () => {
	const from = ['__proto__', 'constructor'].map((nodeId) => ({ nodeId, output: 1 }));
	const { output: made } = await output.run({ input: {}, from }, {}, CALL);
	assert.equal(JSON.stringify(made), '{"__proto__":1,"constructor":1}');
});

test('Nothing before gives an empty object', async () => {
	assert.deepEqual(await output.run({ input: {}, from: [] }, {}, CALL), { output: {} });
});
