// Tests of the memory that answers of one owner take while they are read.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { until } from '../../test/helpers/clock.ts';
import { failure, get } from '../../test/helpers/egress.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { createEgress } from './egress.ts';
import { HELD_PER_OWNER, HeldBytes } from './held-bytes.ts';

test('answers that never end take as much as their owner may hold, and what has ended makes room', async (t) => {
	const open: ServerResponse[] = [];
	const part = Buffer.alloc(400_000);
	const upstream = await httpUpstream(t, (_request, response) => {
		open.push(response);
		response.writeHead(200, { 'content-length': String(part.length + 1) }).write(part);
	});
	const egress = createEgress({ allow: ['127.0.0.1'], shares: { heldBytes: 1_000_000 } });
	t.after(() => egress.close());
	const ask = (owner: string) => egress.of(owner).request(get(upstream.origin, { timeoutMs: 60_000 }));
	const three = [ask('one'), ask('one'), ask('one')];
	const ended = Promise.allSettled(three);
	const refused = await failure(Promise.all(three), 'rate_limited');
	assert.match(refused.message, /all the memory that they may/);
	const others = ask('two');
	await until(() => open.length === 4, 'that of another owner is read');
	for (const response of open) response.end('x');
	assert.equal((await others).body.length, part.length + 1);
	assert.equal((await ended).filter(({ status }) => status === 'fulfilled').length, 2);
	const later = ask('one');
	await until(() => open.length === 5, 'there is room again');
	open.at(-1)?.end('x');
	assert.equal((await later).status, 200);
});

test('where all together hold much, one owner holds little', () => {
	const held = new HeldBytes(HELD_PER_OWNER);
	for (const name of ['a', 'b', 'c']) assert.ok(held.add(name, HELD_PER_OWNER));
	assert.equal(held.add('a', 1), false);
	assert.equal(held.add('d', 17 * 1024 * 1024), false);
	assert.ok(held.add('d', 16 * 1024 * 1024));
	held.remove('a', HELD_PER_OWNER);
	assert.ok(held.add('d', 17 * 1024 * 1024));
});
