// Accepts a token that the gateway's owner chose and the credentials of Gatehouse that `api_key` takes, in the same three locations
// (specification 5.2, 2; decisions, 24).

import { hash, timingSafeEqual } from 'node:crypto';
import Joi from 'joi';
import {
	type AuthMethod,
	bearerChallenge,
	type Caller,
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

export interface BearerTokenConfig extends SecretPlaces {
	token?: string;
}

/** The subject of every holder of the token, also after the token is replaced, since nothing tells holders apart. */
const SUBJECT = 'bearer_token:holder';
/** Made once for each config. The credential is a name of the token, so that a job of its holder ends with the token. */
const holders = new WeakMap<BearerTokenConfig, Caller>();

function holderOf(config: BearerTokenConfig, token: string): Caller {
	const known = holders.get(config);
	if (known) return known;
	const credential = hash('sha256', `name of ${token}`, 'base64url').slice(0, 22);
	const caller: Caller = { method: 'bearer_token', subject: SUBJECT, scopes: ['tools:read', 'tools:execute'], credential };
	holders.set(config, caller);
	return caller;
}

export default {
	kind: 'auth',
	api: 1,
	name: 'bearer_token',
	summary: 'Admits callers with the configured token or a key, as a Bearer token, in X-API-Key (or another header) or as ?api_key=.',
	spec: 'RFC 6750',
	config: Joi.object<BearerTokenConfig>({
		token: Joi.string()
			.min(16)
			.max(MAX_SECRET_LENGTH)
			.pattern(/^[\x21-\x7e]+$/)
			.messages({ 'string.pattern.base': '{{#label}} must be visible ASCII characters without spaces' })
			.meta({ secret: true })
			.description(
				'One token for all clients, which may then list and call tools. Without it, only keys and tokens of Gatehouse are taken.',
			),
		keyHeader: keyHeaderRule,
	}),

	async authenticate(request: Incoming, config: BearerTokenConfig, context: Context) {
		const secret = findSecret(request, config);
		if (secret === null) return null;
		const isGiven = secret.length <= MAX_SECRET_LENGTH;
		if (isGiven && config.token !== undefined && isSame(secret, config.token)) return holderOf(config, config.token);
		const caller = isGiven ? await context.identity.credential(secret) : null;
		if (!caller) throw new GatewayError('unauthorized', 'The token is not valid for this gateway.');
		return caller;
	},

	async recheck(caller, config, { identity }) {
		if (caller.subject !== SUBJECT) return identity.again(caller);
		const holder = config.token === undefined ? null : holderOf(config, config.token);
		return holder?.credential === caller.credential ? holder : null;
	},

	secretHeaders: (config) => [keyHeaderOf(config)],
	cors: { send: ['x-api-key'] },
	takes: (config) => `a token or a key ${secretPlaces(config)}`,
	challenge: (gateway, _config, fault) => bearerChallenge(gateway, fault),
	scheme: (_gateway, config) => ({ type: 'http', scheme: 'bearer', description: `A token or a key ${secretPlaces(config)}` }),
} satisfies AuthMethod<BearerTokenConfig>;

/** Compares hashes, which have equal length, so that the time reveals nothing about the expected token. */
const isSame = (given: string, expected: string): boolean =>
	timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
