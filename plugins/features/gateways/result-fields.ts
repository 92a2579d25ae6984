// Fields of gateways and assignments that say what becomes of results.

import Joi from 'joi';

/** The most that a result can have at all. */
const MAX_BYTES = 16 * 1024 * 1024;

export const BYTES =
	'The most bytes of a tool’s result: a longer one is cut, and says so. Over MCP, clients may read the rest for ten minutes.';

export const maxResultBytes = Joi.number().integer().min(256).max(MAX_BYTES).allow(null);

export const confirm = Joi.string()
	.valid('destructive', 'always')
	.allow(null)
	.description(
		'Calls that run only when the client’s user confirms them: `always`, or `destructive` for those of a tool whose hints do not exclude ' +
			'that it destroys something. A client that cannot ask its user gets an error. Null: none.',
	);
