// Values are looked up, and nothing is evaluated.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, NodeCall } from '../../../core/index.ts';
import transform from './index.ts';

test('The template is filled in once: what a value holds is not filled in again', async () => {
	const filled: Json[] = [];
	const fill = (template: Json): Json => {
		filled.push(template);
		return { text: '{{input.secret}}' };
	};
	const { output } = await transform.run({ input: {}, from: [] }, { template: '{{input.text}}' }, { fill } as NodeCall);
	assert.deepEqual([output, filled], [{ text: '{{input.secret}}' }, ['{{input.text}}']]);
});
