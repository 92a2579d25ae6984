// Accepts Gatehouse's keys (`svc_gw_…`, `ak_live_…`) and login tokens in a header, in the query or as a Bearer token (specification 5.2, 2).

import Joi from 'joi';
import {
	type AuthMethod,
	bearerChallenge,
	type Context,
	findSecret,
	GatewayError,
	type Incoming,
	keyHeaderOf,
	keyHeaderRule,
	MAX_SECRET_LENGTH,
	type SecretPlaces,
	secretPlaces,
} from '../../../core/index.ts';

export default {
	kind: 'auth',
	api: 1,
	name: 'api_key',
	summary: 'Admits callers with a key: in X-API-Key (or another header), as ?api_key= or as a Bearer token.',
	spec: 'RFC 6750 (for the Bearer form)',
	config: Joi.object<SecretPlaces>({ keyHeader: keyHeaderRule }),

	async authenticate(request: Incoming, config: SecretPlaces, context: Context) {
		const secret = findSecret(request, config);
		if (secret === null) return null;
		const caller = secret.length <= MAX_SECRET_LENGTH ? await context.identity.credential(secret) : null;
		if (!caller) throw new GatewayError('unauthorized', 'The API key is not valid for this gateway.');
		return caller;
	},

	recheck: (caller, _config, { identity }) => identity.again(caller),
	secretHeaders: (config) => [keyHeaderOf(config)],
	cors: { send: ['x-api-key'] },
	takes: (config) => `a key ${secretPlaces(config)}`,
	challenge: (gateway, _config, fault) => bearerChallenge(gateway, fault),
	scheme: (_gateway, config) => ({ type: 'apiKey', in: 'header', name: keyHeaderOf(config), description: `A key ${secretPlaces(config)}` }),
} satisfies AuthMethod<SecretPlaces>;
