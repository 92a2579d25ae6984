// OAuth 2.1 for a gateway: its own authorization server, and the method that accepts the server's tokens (specification 5.2, 7 and 8).

import { type AuthMethod, type Context, GatewayError, type Incoming } from '../../../core/index.ts';
import { answerForm, authorize } from './authorize.ts';
import { CONFIG, type OAuthConfig } from './config.ts';
import { asFault } from './faults.ts';
import { findAccess, findGrant, grantor } from './grants.ts';
import { management } from './management.ts';
import { metadataRoutes, resourceMetadataUrl, SERVER_METADATA } from './metadata.ts';
import { askForMail, forgottenPassword } from './pages/forgotten-password.ts';
import { placeOf } from './places.ts';
import { register } from './register.ts';
import { revoke } from './revoke.ts';
import { MEANINGS, USUAL } from './scopes.ts';
import { token } from './token.ts';

const SMALL_FORM = { maxBytes: 64 * 1024 };
/** The Authorization header by RFC 6750 §2.1. */
const BEARER = /^Bearer +(\S+) *$/i;

export default {
	kind: 'auth',
	api: 1,
	name: 'oauth2',
	summary: 'Admits clients that a member has allowed, through the gateway’s own OAuth 2.1 server: clients need only the URL.',
	spec: 'OAuth 2.1 (draft 15), RFC 7591, 7636, 7009, 7523, 8414, 8707, 9207, 9728; client ID metadata documents',
	config: CONFIG,
	universal: true,

	async authenticate(request: Incoming, _config: OAuthConfig, context: Context) {
		const [, secret] = BEARER.exec(request.headers.authorization ?? '') ?? [];
		if (secret === undefined) return null;
		const place = await placeOf(secret, context);
		const access = place && (await findAccess(place.secret, place.context));
		const member = access && (await grantor(access, place.context));
		if (!member) throw new GatewayError('unauthorized', 'The access token is not valid here.');
		// A scope that the user has lost since is lost to the token, too.
		const scopes = access.scopes.filter((scope) => member.scopes.includes(scope));
		return { ...member, method: 'oauth2', scopes, credential: access.grantId };
	},

	/** The grant counts, not the access token, which a client renews every hour. */
	async recheck(caller, _config, context) {
		const grant = caller.credential === undefined ? null : await findGrant(caller.credential, context);
		const member = grant && grant.userId === caller.userId ? await grantor(grant, context) : null;
		if (!grant || !member) return null;
		const scopes = grant.scopes.filter((scope) => member.scopes.includes(scope));
		return { ...member, method: 'oauth2', scopes, credential: grant.grantId };
	},

	takes: () => 'an access token of this gateway’s OAuth server as a Bearer token',

	/** Writes the challenge by RFC 9728 §5.1 and RFC 6750 §3. */
	challenge(at, _config, fault) {
		const scopes = fault?.error === 'insufficient_scope' ? fault.scopes : USUAL;
		const error = fault ? `error="${fault.error}", ` : '';
		return `Bearer ${error}resource_metadata="${resourceMetadataUrl(at)}", scope="${scopes.join(' ')}"`;
	},

	scheme({ url }) {
		const tokenUrl = `${url}/token`;
		const authorizationCode = {
			authorizationUrl: `${url}/authorize`,
			tokenUrl,
			refreshUrl: tokenUrl,
			scopes: MEANINGS,
			pkceRequired: true,
		};
		return { type: 'oauth2', flows: { authorizationCode }, metadataUrl: url + SERVER_METADATA };
	},

	/** Writes a body that cannot be read in OAuth's form. The pages of the authorization endpoint are for people. */
	fail: (error, { path }) => asFault(error, path),

	routes: [
		...metadataRoutes,
		{
			...{ method: 'POST', path: '/register', public: true, handler: register },
			...{ limit: { max: 10, seconds: 300 }, issuesCredentials: true },
		},
		{ method: 'GET', path: '/authorize', public: true, handler: authorize },
		{ method: 'POST', path: '/authorize', public: true, body: 'form', maxBytes: 64 * 1024, handler: answerForm },
		{ method: 'GET', path: '/authorize/forgotten-password', public: true, handler: forgottenPassword },
		{ method: 'POST', path: '/authorize/forgotten-password', public: true, body: 'form', maxBytes: 64 * 1024, handler: askForMail },
		{ method: 'POST', path: '/token', public: true, issuesCredentials: true, ...SMALL_FORM, handler: token },
		{ method: 'POST', path: '/revoke', public: true, ...SMALL_FORM, handler: revoke },
	],
	management,
} satisfies AuthMethod<OAuthConfig>;
