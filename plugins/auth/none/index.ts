// A public gateway: everybody is the anonymous caller. Open only by an explicit row of this method (specification 5.2, 1–2).

import Joi from 'joi';
import type { AuthMethod, Caller } from '../../../core/index.ts';

const ANONYMOUS: Caller = { method: 'none', subject: 'anonymous', scopes: ['tools:read', 'tools:execute'] };

export default {
	kind: 'auth',
	name: 'none',
	summary: 'Admits everybody without a credential, as one anonymous caller.',
	config: Joi.object({}),
	authenticate: async () => ANONYMOUS,
} satisfies AuthMethod<object>;
