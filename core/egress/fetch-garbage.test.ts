// Tests that an answer of `fetch` is whole though nobody reads it before garbage is collected.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { local } from '../../test/helpers/egress.ts';
import { httpUpstream } from '../../test/helpers/upstream.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** Collects garbage, and lets what waits for that do its work. */
async function collect(): Promise<void> {
	for (let time = 0; time < 5; time++) {
		await sleep(10);
		gc();
	}
}

test('an answer that is read only after a collection is whole', async (t) => {
	const { promise: asked, resolve: goOn } = Promise.withResolvers<void>();
	const upstream = await httpUpstream(t, async (_request, response) => {
		response.write('first ');
		await asked;
		response.end('second');
	});
	const answer = await local(t).fetch(upstream.origin);
	await collect();
	goOn();
	assert.equal(await answer.text(), 'first second');
});

test('an answer that nobody keeps closes its connection once it is garbage', async (t) => {
	const closed = Promise.withResolvers<void>();
	const upstream = await httpUpstream(t, (_request, response) => {
		response.write('first');
		response.on('close', closed.resolve);
	});
	const egress = local(t);
	const status = async (): Promise<number> => (await egress.fetch(upstream.origin)).status;
	assert.equal(await status(), 200);
	await collect();
	await closed.promise;
});
