// Accepts the e-mail address and password of a member of the gateway's organization (specification 5.2, 2; RFC 7617).

import Joi from 'joi';
import { type AuthMethod, type Context, GatewayError, type Incoming } from '../../../core/index.ts';
import { readBasic } from './credentials.ts';

export default {
	kind: 'auth',
	api: 1,
	name: 'basic_auth',
	summary: 'Admits members of the organization by e-mail address and password.',
	spec: 'RFC 7617',
	config: Joi.object({}),

	async authenticate({ headers }: Incoming, _config: object, context: Context) {
		const { authorization } = headers;
		if (authorization === undefined || !/^Basic(?: |$)/i.test(authorization)) return null;
		const credentials = readBasic(authorization);
		const caller = credentials && (await context.identity.password(credentials.email, credentials.password));
		// One message for every fault, so that it does not reveal which part was wrong.
		if (!caller) throw new GatewayError('unauthorized', 'The e-mail address or the password is wrong.');
		return caller;
	},

	/** With another password by now, the caller is not found again. */
	recheck: (caller, _config, { identity }) => identity.again(caller),
	takes: () => 'an e-mail address and a password by Basic authentication',
	challenge: ({ url }) => `Basic realm="${url}", charset="UTF-8"`,
	scheme: () => ({ type: 'http', scheme: 'basic', description: 'The e-mail address and the password of a member' }),
} satisfies AuthMethod<object>;
