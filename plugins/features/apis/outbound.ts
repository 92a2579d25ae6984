// The limits of calls to an upstream, as bodies set them and answers show them.

import Joi from 'joi';

export const OUTBOUND = Joi.object({
	maxConcurrent: Joi.number().integer().min(1).max(1000).description('Concurrent calls, of all replicas together.'),
	minTimeMs: Joi.number().integer().min(0).max(60_000).description('Milliseconds between the starts of two calls.'),
	maxQueued: Joi.number().integer().min(0).max(10_000).description('Calls that may wait; further ones fail at once.'),
	maxWaitMs: Joi.number().integer().min(100).max(60_000).description('Milliseconds that a call waits before it fails.'),
})
	.or('maxConcurrent', 'minTimeMs')
	.description('Limits the calls of the API’s tools. A change replaces the whole object, null removes it.')
	.example({ maxConcurrent: 5, minTimeMs: 200 })
	.meta({ schema: 'OutboundLimits' });
