// Turns arguments into messages: ordinary ones on this thread, those of many fields on the worker thread, and too many nowhere.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { asGatewayError, invalid, type Json } from '../../../core/index.ts';
import type { Request } from './arguments.ts';
import { type Codec, notValid } from './codec.ts';
import { type CodecSource, type Made, type Owner, runTask, sourceIn } from './thread.ts';
import { weigh } from './weight.ts';

/** Most fields, as `weigh` counts them, that are written on this thread: some 4 ms of work. */
const MAX_HERE_WEIGHT = 20_000;
/** Most fields that are written at all: some 300 ms of CPU on the worker. */
export const MAX_WEIGHT = 2_000_000;

/** @returns the bytes of each message. @throws validation_failed naming the field; like `runTask` */
export async function encodeAll(requests: readonly Request[], codec: Codec, source: CodecSource, owner: Owner): Promise<Buffer[]> {
	if (isLight(requests, codec)) return requests.map(({ json, at }) => codec.encode(json, at));
	const { bytes } = await onWorker('encode', requests, codec, source, owner);
	return bytes.map((one) => Buffer.from(one.buffer, one.byteOffset, one.byteLength));
}

/** @returns the canonical JSON of each message. @throws like `encodeAll` */
export async function showAll(requests: readonly Request[], codec: Codec, source: CodecSource, owner: Owner): Promise<Json[]> {
	if (isLight(requests, codec)) return requests.map(({ json, at }) => codec.show(json, at));
	const { texts } = await onWorker('show', requests, codec, source, owner);
	return texts.map((text) => JSON.parse(text) as Json);
}

/** @throws validation_failed when the requests are too much for the worker, too */
function isLight(requests: readonly Request[], codec: Codec): boolean {
	let weight = 0;
	for (const { json, at } of requests) {
		weight += weigh(json, codec, MAX_WEIGHT);
		if (weight > MAX_WEIGHT)
			throw invalid(
				at,
				`${at === '' ? 'The arguments are' : `${at} is`} too much: the messages in it have more than ${MAX_WEIGHT} fields, set or not.`,
			);
	}
	return weight <= MAX_HERE_WEIGHT;
}

async function onWorker(
	type: 'encode' | 'show',
	requests: readonly Request[],
	codec: Codec,
	source: CodecSource,
	owner: Owner,
): Promise<Made> {
	// Requests are counted in one turn, and copied for the worker in another.
	await nextTurn();
	try {
		return await runTask({ type, source: sourceIn(source), requests }, owner);
	} catch (error) {
		// JSON that is nested too deeply cannot be sent to the worker.
		if (error instanceof RangeError && !asGatewayError(error)) throw notValid(codec.method.input, requests[0]?.at ?? '', error);
		throw error;
	}
}
