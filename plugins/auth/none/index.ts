// Makes a gateway public: every caller is anonymous. Only an explicit row of this method does so (specification 5.2, 1–2).

import Joi from 'joi';
import type { AuthMethod, Caller } from '../../../core/index.ts';

const ANONYMOUS: Caller = { method: 'none', subject: 'anonymous', scopes: ['tools:read', 'tools:execute'] };

export default {
	kind: 'auth',
	api: 1,
	name: 'none',
	summary: 'Admits everyone without a credential, as one anonymous caller.',
	config: Joi.object({}),
	authenticate: async () => ANONYMOUS,
	scheme: () => null,
	recheck: async () => ANONYMOUS,
} satisfies AuthMethod<object>;
