// The writer of the request log: nothing is lost silently, nothing is counted twice, and the number of values is bounded.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { batchOf, requestRow } from '../../test/helpers/requests.ts';
import { silent } from '../../test/helpers/silent.ts';
import { GatewayError } from '../contract/errors.ts';
import type { RequestBatch } from './analytics.ts';
import { clientOf, OTHERS } from './metric-cells.ts';
import { MAX_DAILY_CHARS, PayloadShare, payloadChars } from './payload-share.ts';
import { BATCH, MAX_CELLS, RequestLog } from './request-log.ts';

const totals = (batch: RequestBatch | undefined, resolution = 'day') =>
	(batch?.cells ?? []).filter((cell) => cell.resolution === resolution && cell.dimension === '');

test('lines are written in batches, and those that wait are written at the end', async () => {
	const written: RequestBatch[] = [];
	const log = new RequestLog({ add: async (batch) => void written.push(batch) }, silent);
	for (let n = 0; n < 2 * BATCH + 5; n++) log.add(requestRow({ durationMs: n }));
	await log.close();
	assert.equal(
		written.reduce((sum, { lines }) => sum + lines.length, 0),
		2 * BATCH + 5,
	);
	assert.ok(written.every(({ lines }) => lines.length <= BATCH));
	assert.equal(new Set(written.map(({ id }) => id)).size, written.length);
});

test('lines that have little in common are written in more batches, since each group has sums of its own', async () => {
	const written: RequestBatch[] = [];
	const log = new RequestLog({ add: async (batch) => void written.push(batch) }, silent);
	for (let n = 0; n < 1200; n++) log.add(requestRow({ caller: `key:${n}`, durationMs: n }));
	await log.close();
	assert.deepEqual(
		written.map(({ lines }) => lines.groups.length),
		[500, 500, 200],
	);
	assert.equal(
		written.flatMap(({ lines }) => lines.numbers.durationMs).reduce((sum, ms) => sum + ms, 0),
		(1199 * 1200) / 2,
	);
});

test('lines whose answers were measured field by field are written in more batches: one is put together without a pause', async () => {
	const written: RequestBatch[] = [];
	const log = new RequestLog({ add: async (batch) => void written.push(batch) }, silent);
	const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
	const fields = Array.from({ length: 30 }, (_, at): [string, number] => [`/items/*/${at}`, 100]);
	for (let n = 0; n < 400; n++)
		log.add(requestRow({ organizationId: idOf(n % 10), kind: 'tool', toolId: idOf(n), answer: { tokens: 750, fields } }));
	await log.close();
	const sizes = written.map(({ cells }) => cells.length);
	assert.ok(Math.max(...sizes) <= MAX_CELLS + 100, String(sizes));
	const cells = written
		.flatMap((batch) => batch.cells)
		.filter(({ resolution, dimension }) => resolution === 'day' && dimension === 'field');
	assert.equal(
		cells.reduce((sum, { bytesOut }) => sum + bytesOut, 0),
		400 * 30 * 100,
	);
});

test('a write holds so much of arguments and results, and what finds no room keeps the line without them', async () => {
	const written: RequestBatch[] = [];
	const log = new RequestLog({ add: async (batch) => void written.push(batch) }, silent);
	const payload = 'x'.repeat(8000);
	for (let n = 0; n < 300; n++) log.add(requestRow({ arguments: payload, result: payload }));
	await log.close();
	const sizes = written.map(({ lines }) => [...lines.texts.values()].reduce((sum, texts) => sum + payloadChars(texts), 0));
	assert.deepEqual([sizes.reduce((sum, size) => sum + size, 0), sizes.every((size) => size <= 1024 * 1024)], [300 * 16_000, true]);

	const share = new PayloadShare();
	const rowOf = (organizationId: string, startedAt: number) =>
		requestRow({ organizationId, startedAt, arguments: payload, result: payload });
	const [today, tomorrow] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2)];
	const admitted = (organizationId: string, at: number): boolean => {
		const row = rowOf(organizationId, at);
		share.admit(row);
		const isKept = row.arguments !== null;
		share.release(payloadChars(row));
		return isKept;
	};
	let kept = 0;
	while (admitted('one', today)) kept++;
	assert.equal(kept, Math.floor(MAX_DAILY_CHARS / 16_000));
	assert.deepEqual([admitted('two', today), admitted('one', tomorrow)], [true, true]);
	const waiting = Array.from({ length: 3000 }, (_, n) => rowOf(`many${n % 10}`, today));
	for (const row of waiting) share.admit(row);
	const held = waiting.filter((row) => row.arguments !== null).length;
	assert.equal(held, Math.floor((32 * 1024 * 1024) / 16_000));
	for (const row of waiting) share.release(payloadChars(row));
	assert.ok(admitted('many1', today));
});

test('a write whose outcome is unknown is repeated unchanged, under the same id', async () => {
	const tried: RequestBatch[] = [];
	const add = async (batch: RequestBatch): Promise<void> => {
		tried.push(batch);
		if (tried.length < 3) throw new GatewayError('unavailable', 'away');
	};
	const log = new RequestLog({ add }, silent);
	log.add(requestRow());
	while (tried.length < 1) await sleep(5);
	log.add(requestRow());
	while (tried.length < 3) await sleep(5);
	await log.close();
	assert.equal(new Set(tried.slice(0, 3).map(({ id }) => id)).size, 1);
	assert.ok(tried.slice(0, 3).every(({ lines }) => lines.length === 1));
	assert.equal(tried[3]?.lines.length, 1);
});

test('lines that cannot be held are counted for their organization, and the next write tells the number', async () => {
	let isAway = true;
	const written: RequestBatch[] = [];
	const add = async (batch: RequestBatch): Promise<void> => {
		if (isAway) throw new GatewayError('unavailable', 'away');
		written.push(batch);
	};
	const log = new RequestLog({ add }, silent);
	const count = 25_000;
	for (let n = 0; n < count; n++) {
		log.add(requestRow());
		// The first write fails while the others come.
		if (n === BATCH) await new Promise((resolve) => setImmediate(resolve));
	}
	isAway = false;
	await log.close();
	const kept = written.reduce((sum, { lines }) => sum + lines.length, 0);
	const lost = written.flatMap((batch) => totals(batch)).reduce((sum, cell) => sum + cell.lost, 0);
	assert.ok(lost > 0 && kept > 0);
	assert.equal(kept + lost, count);
});

test('a batch that the database refuses is given up and counted, and the next ones are written', async () => {
	const written: RequestBatch[] = [];
	const add = async (batch: RequestBatch): Promise<void> => {
		if (batch.lines.groups.some(({ outcome }) => outcome === 'bad')) throw new GatewayError('validation_failed', 'no');
		written.push(batch);
	};
	const log = new RequestLog({ add }, silent);
	for (let n = 0; n < BATCH; n++) log.add(requestRow({ outcome: n === 7 ? 'bad' : 'success' }));
	log.add(requestRow());
	await log.close();
	assert.equal(written.length, 1);
	assert.equal(totals(written[0])[0]?.lost, BATCH);
});

test('what was lost before is told by the write after one that the database refuses', async () => {
	const written: RequestBatch[] = [];
	let refusals = 2;
	const add = async (batch: RequestBatch): Promise<void> => {
		if (refusals-- > 0) throw new GatewayError('validation_failed', 'no');
		written.push(batch);
	};
	const log = new RequestLog({ add }, silent);
	for (let n = 0; n < 2 * BATCH + 1; n++) log.add(requestRow());
	await log.close();
	assert.deepEqual([written.length, totals(written[0])[0]?.lost], [1, 2 * BATCH]);
});

test('numbers that others tell are bounded, so that no sum of them is more than PostgreSQL holds', async () => {
	const written: RequestBatch[] = [];
	const log = new RequestLog({ add: async (batch) => void written.push(batch) }, silent);
	const told = { bytesIn: Number.MAX_SAFE_INTEGER, bytesOut: 1.5, inputTokens: -1, outputTokens: Number.NaN, cachedTokens: 7 };
	for (let n = 0; n < BATCH; n++) log.add(requestRow(told));
	await log.close();
	const [day] = totals(written[0]);
	assert.deepEqual(
		[day?.bytesIn, day?.bytesOut, day?.inputTokens, day?.outputTokens, day?.cachedTokens],
		[BATCH * 2 ** 32, 0, 0, 0, BATCH * 7],
	);
});

test('a line keeps the beginning of a long user agent', async () => {
	const written: RequestBatch[] = [];
	const log = new RequestLog({ add: async (batch) => void written.push(batch) }, silent);
	for (const userAgent of [`long/1 ${'x'.repeat(16_000)}`, 'short/1', null]) log.add(requestRow({ userAgent }));
	await log.close();
	assert.deepEqual(
		written[0]?.lines.groups.map(({ userAgent }) => userAgent),
		[`long/1 ${'x'.repeat(293)}`, 'short/1', null],
	);
});

test('two values that are one as PostgreSQL stores them are one cell', () => {
	const cut = `${'x'.repeat(199)}`;
	const rows = [
		...[
			requestRow({ caller: `${cut}😀` }),
			requestRow({ caller: `${cut}\u{1F004}` }),
			requestRow({ caller: 'a\0' }),
			requestRow({ caller: 'a' }),
		],
		...['😀', '\u{1F100}'].map((last) => requestRow({ clientInfo: `${'İ'.repeat(1)}${'a'.repeat(61)}${last}` })),
	];
	const keys = batchOf(rows).cells.map(({ resolution, kind, dimension, bucket, value }) =>
		[resolution, kind, dimension, bucket, value].join(' '),
	);
	assert.ok(keys.every((key) => key.isWellFormed() && !key.includes('\0')));
	assert.equal(new Set(keys).size, keys.length);
	assert.equal(batchOf(rows).cells.filter(({ resolution, dimension }) => resolution === 'day' && dimension === 'key').length, 3);
});

test('each line is summed once in each resolution, by each of its dimensions', () => {
	const rows = [
		requestRow({ durationMs: 10, startedAt: Date.UTC(2026, 2, 1, 10, 59, 59) }),
		requestRow({ durationMs: 20, startedAt: Date.UTC(2026, 2, 1, 11, 0, 1), outcome: 'unauthorized', requestId: 'r2' }),
	];
	const { cells } = batchOf(rows);
	const of = (resolution: string, dimension: string) =>
		cells.filter((cell) => cell.resolution === resolution && cell.dimension === dimension);
	assert.deepEqual(
		['live', 'minute', 'hour', 'day'].map((resolution) => of(resolution, '').map(({ calls }) => calls)),
		[[1, 1], [1, 1], [1, 1], [2]],
	);
	assert.deepEqual(of('day', 'client')[0]?.calls, 2);
	const [error] = of('day', 'error');
	assert.deepEqual([error?.value, error?.calls, error?.sample], [`unauthorized ${rows[0]?.gatewayId}`, 1, 'r2']);
	const [day] = of('day', '');
	assert.deepEqual([day?.durationMs, day?.failed, day?.histogram.reduce((sum, count) => sum + count, 0)], [30, 1, 2]);
});

test('values that clients choose are counted together beyond the bound', () => {
	const rows = Array.from({ length: 500 }, (_, n) => requestRow({ userAgent: `program${n}/1.0` }));
	const clients = batchOf(rows).cells.filter(({ resolution, dimension }) => resolution === 'day' && dimension === 'client');
	assert.equal(clients.length, 101);
	assert.equal(clients.find(({ value }) => value === OTHERS)?.calls, 400);
});

test('a request that nobody was admitted for makes no client known, and counts for one that is known', () => {
	const nobody = { caller: null, keyId: null, method: null, outcome: 'unauthorized', status: 401 } as const;
	const refused = Array.from({ length: 500 }, (_, n) =>
		requestRow({ ...nobody, userAgent: `junk${n}/1.0`, clientInfo: n % 2 ? `bot${n}/1` : null }),
	);
	const own = requestRow({ userAgent: 'claude-code/2' });
	const ofSchedule = requestRow({ kind: 'agent', caller: null, method: null, userAgent: null });
	const { cells } = batchOf([...refused, own, requestRow({ ...nobody, userAgent: 'claude-code/3' }), ofSchedule]);
	const clients = cells.filter(({ resolution, dimension }) => resolution === 'day' && dimension === 'client');
	assert.deepEqual(
		clients.map(({ kind, value, calls, failed }) => [kind, value, calls, failed]),
		[
			['gateway', OTHERS, 500, 500],
			['gateway', 'claude-code', 2, 1],
			['agent', 'unknown', 1, 0],
		],
	);
});

test('a client is the program that it says it is, or the product that its user agent names, without the version', () => {
	const of = (userAgent: string | null, clientInfo?: string) => clientOf({ userAgent, ...(clientInfo !== undefined && { clientInfo }) });
	assert.equal(of('Claude-Code/2.1.3 (cli)'), 'claude-code');
	assert.equal(of('  '), 'unknown');
	assert.equal(of(null), 'unknown');
	assert.equal(of('x'.repeat(1000)).length, 64);
	assert.equal(of('node', 'Visual Studio Code/1.107'), 'visual studio code');
	assert.equal(of('node', '@acme/bot/'), '@acme/bot');
});
