// How often an upstream may be called: the lane that its calls wait in, as bodies take it and answers show it.

import Joi from 'joi';

export const OUTBOUND = Joi.object({
	maxConcurrent: Joi.number().integer().min(1).max(1000).description('Calls under way at once, of all replicas together.'),
	minTimeMs: Joi.number().integer().min(0).max(60_000).description('Milliseconds between the beginnings of two calls.'),
	maxQueued: Joi.number().integer().min(0).max(10_000).description('Calls that may wait; one more fails at once.'),
	maxWaitMs: Joi.number().integer().min(100).max(60_000).description('Milliseconds that a call waits before it fails.'),
})
	.or('maxConcurrent', 'minTimeMs')
	.description('Keeps calls of the API’s tools within what it can take. As a whole: a change replaces all of it, null removes it.')
	.example({ maxConcurrent: 5, minTimeMs: 200 })
	.meta({ schema: 'OutboundLimits' });
