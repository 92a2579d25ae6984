// The effects of `exchange` for a protocol with a socket of its own: the API's lane, and the breaker of the origin that it names.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { failure, local } from '../../test/helpers/egress.ts';
import { silent } from '../../test/helpers/silent.ts';
import { GatewayError } from '../contract/errors.ts';
import { LaneRun } from '../lanes/lane-run.ts';
import { createLanes } from '../lanes/lanes.ts';
import { Breakers } from './breakers.ts';
import { OutboundRun } from './outbound.ts';

const api = { id: 'pets', name: 'Pets', version: 1, organizationId: 'acme', outbound: { maxConcurrent: 1 } };
const URL_OF = 'http://upstream.example:50051';
/** The number of failures that opens a breaker. */
const FAILURES = 10;

/** Sets up a run of a tool whose API has a lane for one call at a time. */
function setUp(t: TestContext, signal = new AbortController().signal) {
	const lanes = createLanes({ redis: null, log: silent });
	t.after(() => lanes.close());
	const lane = new LaneRun({ lanes, api, signal, deadlineMs: 30_000 });
	const breakers = new Breakers();
	const unsigned = () => assert.fail('nothing is signed');
	const signer = { sign: unsigned, preview: unsigned, places: unsigned };
	const parts = { egress: local(t), breakers, log: silent, organizationId: 'o', lane, signal, signer, api: null, credentials: [] };
	return new OutboundRun(parts);
}

test('a turn holds the lane of its API until its work ends, however it ends', async (t) => {
	const run = setUp(t);
	let [inside, most] = [0, 0];
	const work = async (): Promise<void> => {
		most = Math.max(most, ++inside);
		await new Promise((resolve) => setTimeout(resolve, 5));
		inside--;
		throw new Error('over');
	};
	const turns = await Promise.allSettled(Array.from({ length: 5 }, () => run.exchange(URL_OF, work)));
	assert.deepEqual([most, turns.filter(({ status }) => status === 'rejected').length], [1, 5]);
	assert.equal(await run.exchange(URL_OF, async () => 'done'), 'done');
});

for (const [how, work] of [
	['gives a result', async (failed: () => void) => failed()],
	[
		'throws',
		async (failed: () => void) => {
			failed();
			throw new GatewayError('upstream_failed', 'It is gone.');
		},
	],
] as const)
	test(`an upstream that failed ${FAILURES} turns in a row is left alone, whether the work ${how}; other origins are not`, async (t) => {
		const run = setUp(t);
		for (let count = 0; count < FAILURES; count++) await run.exchange(URL_OF, work).catch(() => undefined);
		const { message } = await failure(
			run.exchange(`${URL_OF}/path`, async () => assert.fail('it was called')),
			'upstream_failed',
		);
		assert.match(message, /has failed 10 times in a row/);
		assert.equal(await run.exchange('http://upstream.example:50052', async () => 'done'), 'done');
	});

test('answers, and callers who left, are no failures', async (t) => {
	const caller = new AbortController();
	const run = setUp(t, caller.signal);
	const said = async (): Promise<never> => {
		throw new GatewayError('upstream_failed', 'It answered with nonsense.');
	};
	for (let count = 0; count < FAILURES * 2; count++) await run.exchange(URL_OF, said).catch(() => undefined);
	assert.equal(await run.exchange(URL_OF, async () => 'done'), 'done');
	const leaving = run.exchange(URL_OF, async () => {
		caller.abort(new Error('gone'));
		throw caller.signal.reason;
	});
	await assert.rejects(leaving, /gone/);
});

test('a caller who left while waiting for the lane never begins', async (t) => {
	const run = setUp(t, AbortSignal.abort(new Error('gone')));
	await assert.rejects(
		run.exchange(URL_OF, async () => assert.fail('it began')),
		/gone/,
	);
});
