import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, NodeCall, NodeOutput } from 'gatehouse';
import plugin from '../src/index.ts';

/** Runs the node with a placeholder that stands for `given`. */
const run = (given: Json, least: number): Promise<NodeOutput> =>
	plugin.run({ input: null, from: [] }, { value: '{{ input }}', least }, { fill: () => given } as unknown as NodeCall);

test('a large number goes on by "enough", and anything else by "less"', async () => {
	assert.deepEqual(await run(5, 5), { output: 5, port: 'enough' });
	assert.deepEqual(await run(4, 5), { output: 4, port: 'less' });
	assert.deepEqual(await run('many', 5), { output: 'many', port: 'less' });
});

test('a limit that is no whole number is a fault of the graph', () => {
	assert.deepEqual(plugin.check({ value: 'x', least: 1 }), []);
	assert.deepEqual(plugin.check({ value: 'x', least: 0.5 }), [{ path: '/least', message: 'It must be a whole number.' }]);
});
