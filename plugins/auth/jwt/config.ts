// The configuration of the method: the keys that it trusts, and the claims that it requires.

import Joi from 'joi';
import { httpUrl, PUBLIC_KEY_ALGORITHMS, type PublicKeyAlgorithm } from '../../../core/index.ts';

export interface JwtConfig {
	secret?: string;
	jwksUrl?: string;
	algorithms?: PublicKeyAlgorithm[];
	issuer?: string;
	audience?: string | string[];
	requireExpiry?: boolean;
}

export const DEFAULT_ALGORITHMS: readonly string[] = ['RS256', 'ES256'];
/** "A key of the same size as the hash output […] or larger MUST be used with this algorithm" (RFC 7518 §3.2). */
const MIN_SECRET_BYTES = 32;

const name = Joi.string().max(2048);

export const JWT_CONFIG = Joi.object<JwtConfig>({
	secret: Joi.string()
		.min(MIN_SECRET_BYTES, 'utf8')
		.max(4096)
		.messages({ 'string.min': `{{#label}} must be at least ${MIN_SECRET_BYTES} bytes long` })
		.meta({ secret: true })
		.description(
			`Secret with which the tokens are signed (HS256): at least ${MIN_SECRET_BYTES} bytes as UTF-8, which RFC 7518 §3.2 asks for. ` +
				'Without it and without jwksUrl, the service’s JWT_SECRET.',
		),
	jwksUrl: httpUrl
		.max(2048)
		.description(
			'Where the issuer publishes its public keys (JWKS): https, or http at an address of a private network that the operator has ' +
				'opened with EGRESS_ALLOW. Read again every 10 minutes, and when a token names a key that is not there, at most every 30 seconds.',
		),
	algorithms: Joi.array()
		.items(Joi.string().valid(...PUBLIC_KEY_ALGORITHMS))
		.min(1)
		.unique()
		.description('How tokens of the issuer at jwksUrl may be signed. Default: RS256 and ES256.'),
	issuer: name.description('The `iss` that a token must have. Needs secret or jwksUrl.'),
	audience: Joi.alternatives(name, Joi.array().items(name).min(1).max(20)).description(
		'The `aud` that a token must have, as a text or in a list, or several of which it must have one. Needs secret or jwksUrl.',
	),
	requireExpiry: Joi.boolean().description(
		'Whether a token must have an `exp`. Default: true with jwksUrl, false with secret. Needs secret or jwksUrl.',
	),
}).custom(checkTogether);

/** Refuses options that exclude each other. A token of the service's own secret has the service as issuer, so no other can be required. */
function checkTogether(config: JwtConfig, helpers: Joi.CustomHelpers): JwtConfig | Joi.ErrorReport {
	const { secret, jwksUrl } = config;
	const fault = (text: string): Joi.ErrorReport => helpers.message({ custom: text });
	if (secret !== undefined && jwksUrl !== undefined) return fault('secret and jwksUrl exclude each other');
	if (config.algorithms && jwksUrl === undefined) return fault('algorithms needs jwksUrl');
	const field = (['issuer', 'audience', 'requireExpiry'] as const).find((name) => config[name] !== undefined);
	if (field !== undefined && secret === undefined && jwksUrl === undefined) return fault(`${field} needs secret or jwksUrl`);
	return config;
}

/** Private host names and addresses. The guard refuses them unless the operator allowed them, so nobody on that path can swap the keys. */
const PRIVATE = /^(localhost|127(\.\d+){3}|10(\.\d+){3}|192\.168(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[(::1|f[cd][0-9a-f:]+)\])$/;

/** Tells whether keys that are read from this URL are certain to be the issuer's. */
export function isTrustworthy(jwksUrl: string): boolean {
	const { protocol, hostname } = new URL(jwksUrl);
	return protocol === 'https:' || PRIVATE.test(hostname);
}
