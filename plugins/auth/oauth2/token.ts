// The token endpoint (RFC 6749 §3.2): exchanges a code or a refresh token for a new pair.

import type { Call, Context, Incoming, Reply } from '../../../core/index.ts';
import { authenticateClient } from './clients/authentication.ts';
import { type Client, rememberClient } from './clients/clients.ts';
import { redeemCode, UNKNOWN_CODE } from './codes.ts';
import type { OAuthConfig } from './config.ts';
import { answering, NO_STORE, OAuthFault } from './faults.ts';
import { ACCESS_SECONDS, endGrant, findRefresh, grantor, memberAt, rotate, type Tokens } from './grants.ts';
import { assertNoneInQuery, formParameters, type Parameters } from './parameters.ts';
import { named, type Placed, placeOf } from './places.ts';
import { assertResource } from './resource.ts';
import { refreshedScopes } from './scopes.ts';

interface TokenRequestContext {
	config: OAuthConfig;
	call: Call;
	/** The place of the code or refresh token; null when it names none. */
	place: Placed | null;
}

type Grant = (client: Client, parameters: Parameters, context: TokenRequestContext) => Promise<Tokens>;

const GRANTS: Readonly<Record<string, Grant>> = { authorization_code: redeem, refresh_token: refresh };

export const token = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	answering(async () => {
		assertNoneInQuery(request);
		const parameters = formParameters(request.body, request.headers['content-type']);
		const sent = parameters.get(parameters.get('grant_type') === 'refresh_token' ? 'refresh_token' : 'code');
		const place = sent === null ? null : await placeOf(sent, call);
		const client = await authenticateClient(request, parameters, { config, call, place });
		const type = parameters.require('grant_type');
		const grant = Object.hasOwn(GRANTS, type) ? GRANTS[type] : undefined;
		if (!grant) throw new OAuthFault('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
		assertResource(parameters, request);
		const tokens = await grant(client, parameters, { config, call, place });
		if (place) await rememberClient(client, place.context);
		return { status: 200, headers: NO_STORE, body: present(tokens, place?.organizationId ?? null) };
	});

const present = ({ access, refresh: next, scopes }: Tokens, organizationId: string | null) => ({
	access_token: named(access, organizationId),
	token_type: 'Bearer',
	expires_in: ACCESS_SECONDS,
	...(next !== null && { refresh_token: named(next, organizationId) }),
	scope: scopes.join(' '),
});

async function redeem(client: Client, parameters: Parameters, { place }: TokenRequestContext): Promise<Tokens> {
	const { context, secret: code } = placed(place, 'code', parameters);
	const redemption = { code, redirectUri: parameters.get('redirect_uri'), verifier: parameters.get('code_verifier') };
	return redeemCode(client, redemption, {
		context,
		mayUse: async (userId, agreedAt) => (await memberAt(agreedAt, userId, context))?.scopes ?? null,
	});
}

/** Returns the place of the parameter. @throws invalid_request when it is absent, invalid_grant when it names no place */
function placed(place: Placed | null, name: 'code' | 'refresh_token', parameters: Parameters): Placed {
	parameters.require(name);
	if (!place) throw name === 'code' ? new OAuthFault('invalid_grant', UNKNOWN_CODE) : refused();
	return place;
}

async function refresh(client: Client, parameters: Parameters, { config, call, place }: TokenRequestContext): Promise<Tokens> {
	parameters.require('refresh_token');
	if (!client.mayRefresh) throw new OAuthFault('unauthorized_client', 'the client has not registered the grant type refresh_token');
	const { context, secret } = placed(place, 'refresh_token', parameters);
	const found = await findRefresh(secret, context);
	if (!found || found.clientId !== client.id) throw refused();
	const scopes = refreshedScopes(parameters.get('scope'), found.scopes);
	if (!(await grantor(found, context))) throw refused();
	const rotation = await rotate(found, { scopes, graceMs: config.refreshGraceSeconds * 1000 }, context);
	return settle(rotation, found.grantId, { context, gatewayId: call.gateway?.id });
}

async function settle(
	rotation: Awaited<ReturnType<typeof rotate>>,
	grantId: string,
	{ context, gatewayId }: { context: Context; gatewayId: string | undefined },
): Promise<Tokens> {
	if (rotation === 'stolen') {
		await endGrant(grantId, context);
		context.log.warn({ grantId, gatewayId }, 'former refresh token reused, grant ended');
	}
	if (typeof rotation === 'string') throw refused();
	return rotation;
}

const refused = (): OAuthFault => new OAuthFault('invalid_grant', 'the refresh token is not known, has expired or has been used');
