// Accepts JSON Web Tokens of the service's secret, of the method's, or of an issuer that publishes its keys (specification 5.2, 2; decisions, 25).

import { hash } from 'node:crypto';
import {
	type AuthMethod,
	asGatewayError,
	bearerChallenge,
	bearerToken,
	type Context,
	type Incoming,
	invalid,
	type SaveContext,
} from '../../../core/index.ts';
import { isTrustworthy, JWT_CONFIG, type JwtConfig } from './config.ts';
import { ISSUER_INVALID, refused, trustOf, verify } from './verify.ts';

/** Three parts in base64url. An unsigned token, whose last part is empty, does not match. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** The longest token that is read. It leaves room for the lists of groups that issuers add. */
const MAX_LENGTH = 8192;
const REMEMBERED_MS = 60_000;

export default {
	kind: 'auth',
	api: 1,
	name: 'jwt',
	summary: 'Admits callers with a JSON Web Token of the configured secret or issuer, or one signed with the service’s own secret.',
	spec: 'RFC 7519, RFC 7517, RFC 8725',
	config: JWT_CONFIG,

	async check({ jwksUrl }: JwtConfig, { checkUrl }: SaveContext) {
		if (jwksUrl === undefined) return;
		if (!isTrustworthy(jwksUrl)) throw invalid('/configuration/jwksUrl', 'jwksUrl must be https outside of private networks');
		await checkUrl(jwksUrl, '/configuration/jwksUrl');
	},

	async authenticate(request: Incoming, config: JwtConfig, context: Context) {
		const token = bearerToken(request);
		if (token === null) return null;
		if (token.length > MAX_LENGTH || !JWT.test(token)) throw refused();
		if (config.secret === undefined && config.jwksUrl === undefined) return context.identity.token(token).catch(refuse);
		const { caller, expiresAtMs } = await remembered(token, config, context);
		if (expiresAtMs <= Date.now()) throw refused();
		return caller;
	},

	/** A token of another issuer is good until it expires, as long as the method trusts the same keys: nothing tells of a revocation. */
	async recheck(caller, config, { identity }) {
		if (config.secret === undefined && config.jwksUrl === undefined) return identity.again(caller);
		return caller.credential === trustOf(config) ? caller : null;
	},

	takes: () => 'a JSON Web Token as a Bearer token',
	challenge: (gateway, _config, fault) => bearerChallenge(gateway, fault),
	scheme: () => ({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }),
} satisfies AuthMethod<JwtConfig>;

/** Keeps core's reason as the cause and hides it from the caller, who learns only that the token is bad. */
function refuse(thrown: unknown): never {
	const error = asGatewayError(thrown);
	throw error?.code === 'unauthorized' && error.message !== ISSUER_INVALID ? refused(error) : thrown;
}

/** Verifies a token with a cache of a minute, so a signature is checked once in that time. The key includes the configuration. */
function remembered(token: string, config: JwtConfig, context: Context) {
	const key = hash('sha256', JSON.stringify([token, config]), 'base64url');
	return context.memo(`token:${key}`, REMEMBERED_MS, () => verify(token, config, context));
}
