import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, Incoming, Json, ToolRef } from 'gatehouse';
import plugin from '../src/index.ts';

/** Makes a call with one tool, which echoes its arguments or fails. */
const call = {
	tools: async () => [{ name: 'echo', description: 'Echoes.', parameters: { type: 'object' }, id: 'hidden' }],
	invoke: async (_tool: ToolRef, args: Json) => ({
		content: [{ type: 'text', text: 'echoed' }],
		structured: args,
		isError: JSON.stringify(args) === '{}',
	}),
} as unknown as Call;

const [list, run] = plugin.routes;
assert.ok(list && run);
const incoming = (given: Partial<Incoming>): Incoming => ({ params: {}, body: null, ...given }) as Incoming;

test('the list has the names and parameters of the tools, and nothing else of them', async () => {
	const { status, body } = await list.handler(incoming({}), { greeting: 'Ours' }, call);
	assert.equal(status, 200);
	assert.deepEqual(body, { title: 'Ours', tools: [{ name: 'echo', description: 'Echoes.', parameters: { type: 'object' } }] });
});

test('a tool runs with the body as its arguments, and a failed run is a 422', async () => {
	const one = await run.handler(incoming({ params: { tool: 'echo' }, body: { a: 1 } }), { greeting: '' }, call);
	assert.deepEqual(one, { status: 200, body: { texts: ['echoed'], structured: { a: 1 } } });
	assert.equal((await run.handler(incoming({ params: { tool: 'echo' } }), { greeting: '' }, call)).status, 422);
});
