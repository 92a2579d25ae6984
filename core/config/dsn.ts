// The DSN of an error tracker: `https://<public key>@<host>/<project>`.

import Joi from 'joi';

// The secret after the key is of old trackers; a path may stand before the project's number.
const DSN = /^https?:\/\/\w+(?::\w*)?@(?:\[[:.\w]+\]|[\w.-]+)(?::\d+)?\/(?:[\w.-]+\/)*\d+$/;

/** A DSN as the tracker's client reads it, which would print a wrong one with its key. */
export const dsn = Joi.string()
	.max(1024)
	.custom((value: string, helpers) => (DSN.test(value) && URL.canParse(value) ? value : helpers.error('any.invalid')));
