// Tests the waits of repeated requests, by whether one is still made within the time of the call.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../contract/errors.ts';
import type { ChatChunk } from '../contract/providers.ts';
import { repeated } from './repeating.ts';

/** Returns how often a provider is asked that refuses each time. */
async function attempts(retryAfter: string | null, leftMs: number): Promise<number> {
	let count = 0;
	// biome-ignore lint/correctness/useYield: it fails before its first piece
	async function* attempt(): AsyncGenerator<ChatChunk> {
		count += 1;
		throw new GatewayError('rate_limited', 'Wait.', retryAfter === null ? {} : { headers: { 'retry-after': retryAfter } });
	}
	const around = { signal: new AbortController().signal, endsAtMs: performance.now() + leftMs, mayRepeat: () => true };
	await assert.rejects(repeated(attempt, around).next(), { code: 'rate_limited' });
	return count;
}

const HOUR_MS = 3_600_000;
const CASES: [retryAfter: string | null, leftMs: number, attempts: number][] = [
	['0', HOUR_MS, 3],
	['0.001', HOUR_MS, 3],
	['1.5', 1400, 1],
	['31', HOUR_MS, 1],
	[new Date(Date.now() + HOUR_MS).toUTCString(), HOUR_MS, 1],
	// What says nothing is not said: the wait is our own.
	[null, 400, 1],
	['-1', 400, 1],
	['soon', 400, 1],
];
for (const [retryAfter, leftMs, expected] of CASES)
	test(`with Retry-After ${retryAfter} and ${leftMs} ms left, ${expected} of three requests is made at most`, async () =>
		assert.equal(await attempts(retryAfter, leftMs), expected));
