// The ends that a run of an executor may have: a result that follows the contract, or an error that it names.

import assert from 'node:assert/strict';
import { asGatewayError, type ErrorCode } from '../core/contract/errors.ts';
import type { ContentBlock, JsonObject, ToolResult } from '../core/index.ts';

/** The codes with which a run may end, besides the reason of its signal. */
const CODES: readonly ErrorCode[] = ['upstream_failed', 'upstream_timeout', 'egress_refused', 'validation_failed', 'not_implemented'];

export interface Outcome {
	isError: boolean;
	code: ErrorCode | null;
	/** All the text that a caller would read. */
	said: string;
	size: number;
}

/** Resolves with a result that follows the contract, or with one of the errors that it names. */
export async function outcome(running: Promise<ToolResult>): Promise<Outcome> {
	try {
		const result = await running;
		assertResult(result);
		const said = JSON.stringify(result);
		return { isError: result.isError === true, code: null, said, size: said.length };
	} catch (error) {
		const ours = asGatewayError(error);
		if (!ours || !CODES.includes(ours.code)) throw error;
		const said = JSON.stringify([ours.message, ours.details]);
		return { isError: true, code: ours.code, said, size: said.length };
	}
}

/** Tells whether the guard refused the call: by an error, or by a failed run with the guard's message. */
export const isRefusal = ({ code, isError, said }: Outcome): boolean =>
	code === 'egress_refused' || (isError && said.includes('EGRESS_ALLOW'));

const SHAPES: Readonly<Record<ContentBlock['type'], readonly string[]>> = {
	text: ['text'],
	image: ['data', 'mimeType'],
	audio: ['data', 'mimeType'],
	resource: ['resource'],
	resource_link: ['uri', 'name'],
};

export function assertResult(result: ToolResult): void {
	assert.ok(Array.isArray(result.content) && result.content.length > 0, 'it has content');
	for (const block of result.content)
		for (const field of SHAPES[block.type])
			assert.notEqual((block as unknown as JsonObject)[field], undefined, `${block.type} has ${field}`);
	assert.deepEqual(JSON.parse(JSON.stringify(result)), result, 'it is JSON');
}
