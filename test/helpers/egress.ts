// The egress guard on loopback, and an assertion that its tests repeat.

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { asGatewayError, type ErrorCode, type GatewayError } from '../../core/contract/errors.ts';
import type { OutboundRequest } from '../../core/contract/outbound.ts';
import { createEgress, type Egress } from '../../core/egress/egress.ts';

/** Makes a guard that allows upstreams on 127.0.0.1; it closes with the test. */
export function local(t: TestContext): Egress {
	const egress = createEgress({ allow: ['127.0.0.1'] });
	t.after(() => egress.close());
	return egress;
}

/** Returns the error with which the promise is rejected, which must have this code. */
export async function failure(promise: Promise<unknown>, code: ErrorCode): Promise<GatewayError> {
	const error = await promise.then(
		() => assert.fail(`expected ${code}, but it succeeded`),
		(reason: unknown) => asGatewayError(reason) ?? assert.fail(reason as Error),
	);
	assert.equal(error.code, code, error.message);
	return error;
}

export const get = (url: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({ method: 'GET', url, ...more });

export async function textOf(request: IncomingMessage): Promise<string> {
	let text = '';
	for await (const chunk of request) text += chunk;
	return text;
}

export async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
	const all: T[] = [];
	for await (const item of items) all.push(item);
	return all;
}

export const textOfBody = async ({ body }: { body: AsyncIterable<Uint8Array> }): Promise<string> =>
	Buffer.concat(await allOf(body)).toString();
