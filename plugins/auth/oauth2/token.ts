// The token endpoint (RFC 6749 §3.2): exchanges a code or a refresh token for a new pair.

import type { Call, Incoming, Reply } from '../../../core/index.ts';
import { authenticateClient } from './clients/authentication.ts';
import { type Client, rememberClient } from './clients/clients.ts';
import { redeemCode } from './codes.ts';
import type { OAuthConfig } from './config.ts';
import { answering, NO_STORE, OAuthFault } from './faults.ts';
import { ACCESS_SECONDS, endGrant, findRefresh, grantor, memberAt, rotate, type Tokens } from './grants.ts';
import { assertNoneInQuery, formParameters, type Parameters } from './parameters.ts';
import { assertResource } from './resource.ts';
import { refreshedScopes } from './scopes.ts';

interface TokenRequestContext {
	config: OAuthConfig;
	call: Call;
}

type Grant = (client: Client, parameters: Parameters, context: TokenRequestContext) => Promise<Tokens>;

const GRANTS: Readonly<Record<string, Grant>> = { authorization_code: redeem, refresh_token: refresh };

export const token = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	answering(async () => {
		assertNoneInQuery(request);
		const parameters = formParameters(request.body, request.headers['content-type']);
		const client = await authenticateClient(request, parameters, { config, call });
		const type = parameters.require('grant_type');
		const grant = Object.hasOwn(GRANTS, type) ? GRANTS[type] : undefined;
		if (!grant) throw new OAuthFault('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
		assertResource(parameters, call);
		const tokens = await grant(client, parameters, { config, call });
		await rememberClient(client, call);
		return { status: 200, headers: NO_STORE, body: present(tokens) };
	});

const present = ({ access, refresh: next, scopes }: Tokens) => ({
	access_token: access,
	token_type: 'Bearer',
	expires_in: ACCESS_SECONDS,
	...(next !== null && { refresh_token: next }),
	scope: scopes.join(' '),
});

function redeem(client: Client, parameters: Parameters, { call }: TokenRequestContext): Promise<Tokens> {
	const code = parameters.require('code');
	const redemption = { code, redirectUri: parameters.get('redirect_uri'), verifier: parameters.get('code_verifier') };
	return redeemCode(client, redemption, {
		context: call,
		mayUse: async (userId, agreedAt) => (await memberAt(agreedAt, userId, call))?.scopes ?? null,
	});
}

async function refresh(client: Client, parameters: Parameters, { config, call }: TokenRequestContext): Promise<Tokens> {
	const sent = parameters.require('refresh_token');
	if (!client.mayRefresh) throw new OAuthFault('unauthorized_client', 'the client has not registered the grant type refresh_token');
	const found = await findRefresh(sent, call);
	if (!found || found.clientId !== client.id) throw refused();
	const scopes = refreshedScopes(parameters.get('scope'), found.scopes);
	if (!(await grantor(found, call))) throw refused();
	return settle(await rotate(found, { scopes, graceMs: config.refreshGraceSeconds * 1000 }, call), found.grantId, call);
}

async function settle(rotation: Awaited<ReturnType<typeof rotate>>, grantId: string, call: Call): Promise<Tokens> {
	if (rotation === 'stolen') {
		await endGrant(grantId, call);
		call.log.warn({ grantId, gatewayId: call.gateway?.id }, 'former refresh token reused, grant ended');
	}
	if (typeof rotation === 'string') throw refused();
	return rotation;
}

const refused = (): OAuthFault => new OAuthFault('invalid_grant', 'the refresh token is not known, has expired or has been used');
