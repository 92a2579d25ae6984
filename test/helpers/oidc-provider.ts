// A third-party authorization server on a port of its own, configured as much like ours as possible, whose only user consents to
// everything.

import { createServer } from 'node:http';
import Provider, { type Configuration, errors } from 'oidc-provider';
import { freePort } from './ports.ts';

const SCOPES = 'tools:read tools:execute gateway:read';
const USER = 'ada';

export interface OtherServer {
	/** Its issuer, and the resource that its tokens are for. */
	url: string;
	stop(): Promise<void>;
}

export async function startOtherServer(): Promise<OtherServer> {
	const url = `http://127.0.0.1:${await freePort()}`;
	const provider = new Provider(url, configuration(url));
	// The warning about its keys, which are for development only, is irrelevant here.
	const answer = provider.callback();
	const server = createServer((request, response) => {
		if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
		void provider.interactionFinished(request, response, { login: { accountId: USER }, consent: {} });
	});
	await new Promise<void>((resolve) => server.listen(Number(new URL(url).port), '127.0.0.1', resolve));
	return {
		url,
		stop: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

const configuration = (url: string): Configuration => ({
	routes: { authorization: '/authorize', token: '/token', registration: '/register', revocation: '/revoke' },
	scopes: ['openid', ...SCOPES.split(' ')],
	responseTypes: ['code'],
	clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
	// For native clients it accepts https and loopback addresses, as ours does for all clients.
	clientDefaults: { application_type: 'native' },
	pkce: { required: () => true },
	cookies: { keys: ['a key of the tests'] },
	interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
	findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
	rotateRefreshToken: true,
	issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
	async loadExistingGrant({ oidc: { client, account, provider } }) {
		const grant = new provider.Grant({ clientId: client?.clientId ?? '', accountId: account?.accountId ?? '' });
		grant.addOIDCScope(SCOPES);
		grant.addResourceScope(url, SCOPES);
		await grant.save();
		return grant;
	},
	features: {
		devInteractions: { enabled: false },
		userinfo: { enabled: false },
		registration: { enabled: true },
		revocation: { enabled: true },
		resourceIndicators: {
			enabled: true,
			defaultResource: () => url,
			useGrantedResource: () => true,
			getResourceServerInfo(_context, resource) {
				if (resource !== url) throw new errors.InvalidTarget();
				return { scope: SCOPES, audience: url, accessTokenTTL: 3600, accessTokenFormat: 'opaque' };
			},
		},
	},
});
