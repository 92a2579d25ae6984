// The policy that every node may have beside its config: time limit, retries, and what follows an error.

import Joi from 'joi';
import type { Json } from '../contract/nouns.ts';

export interface Policy {
	/** The time of one try in milliseconds, without the time that the run spends outside of a process. */
	timeoutMs: number | null;
	/** The number of further tries. */
	retries: number;
	/** The pause before the first further try; it doubles with each. */
	backoffMs: number;
	/** `fail` ends the run, `continue` goes on with `fallback` as the output, `branch` takes the way out named `error`. */
	onError: 'fail' | 'continue' | 'branch';
	fallback: Json;
}

/** The way out that `onError: branch` adds to a node. */
export const ERROR_PORT = 'error';
export const MAX_BACKOFF_MS = 60_000;

export const POLICY = Joi.object<Policy>({
	timeoutMs: Joi.number()
		.integer()
		.min(1)
		.max(3_600_000)
		.allow(null)
		.default(null)
		.description(
			'The time of one try, in milliseconds. It does not pass while the run waits outside of a process, for a person or another run.',
		),
	retries: Joi.number().integer().min(0).max(10).default(0).description('The number of further tries.'),
	backoffMs: Joi.number()
		.integer()
		.min(0)
		.max(MAX_BACKOFF_MS)
		.default(1_000)
		.description('The pause before the first further try, in milliseconds; it doubles with each.'),
	onError: Joi.valid('fail', 'continue', 'branch')
		.default('fail')
		.description('`fail` ends the run, `continue` goes on with `fallback` as the output, `branch` takes the way out named `error`.'),
	fallback: Joi.any().default(null).description('The output of a node that failed, with `continue`.'),
})
	.default()
	.description('Time limit, retries, and what follows an error.');
