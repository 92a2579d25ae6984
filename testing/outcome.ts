// The ends that a run of an executor may have: a result that follows the contract, or an error that it names.

import assert from 'node:assert/strict';
import { asGatewayError, type ErrorCode } from '../core/contract/errors.ts';
import type { ToolResult } from '../core/index.ts';
import { checkResult } from '../core/tools/check-result.ts';

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
export async function outcome(running: Promise<ToolResult>, check: (result: ToolResult) => void = assertResult): Promise<Outcome> {
	try {
		const result = await running;
		check(result);
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

/** Checks a result whose data may be nested deeper than core takes it, since the arguments were. */
export function assertDeepResult({ structured, ...result }: ToolResult): void {
	assertResult(result);
	if (structured !== undefined) assert.deepEqual(JSON.parse(JSON.stringify(structured)), structured, 'structured is JSON');
}

/** Checks a result as core does. @throws PluginFault naming the member */
export function assertResult(result: ToolResult): void {
	checkResult('the executor', result);
	assert.ok(result.content.length > 0, 'it has content');
}
