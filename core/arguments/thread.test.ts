// The time that a checking thread has: more for compiling a schema, whose size is limited before, than for a check by it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileCacheFolder } from '../process/compile-cache.ts';
import { WRITTEN } from './compile.ts';
import type { CheckTask } from './messages.ts';
import { CheckThread } from './thread.ts';

const properties = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`p${index}`, { type: 'integer', maximum: index }]));
const schema = { type: 'object', properties };
const check: CheckTask = { type: 'check', key: 'k', schema: { schema }, reading: WRITTEN, args: '{"p1":2}' };

test('a schema that takes longer to compile than a check may take is compiled, and checks', async () => {
	const thread = new CheckThread({ compileCache: compileCacheFolder(), does: 'checks' }, { compiling: 60_000, checking: 60 });
	try {
		await thread.ready;
		assert.deepEqual(await thread.run({ type: 'admit', schema }), { type: 'admitted' });
		const ending = await thread.run(check);
		assert.equal(ending.type === 'checked' && ending.faults[0]?.path, '/p1');
	} finally {
		thread.kill();
	}
});

test('a thread that compiles for too long is ended, and says in which phase', async () => {
	const thread = new CheckThread({ compileCache: compileCacheFolder(), does: 'checks' }, { compiling: 0, checking: 60_000 });
	await thread.ready;
	assert.deepEqual(await thread.run(check), { type: 'late', phase: 'compiling' });
	assert.ok(thread.isGone);
});
