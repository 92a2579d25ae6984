// A third-party authorization server that grants tokens to a program (RFC 6749 §4.4), and recognizes those that it granted.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import Provider from 'oidc-provider';

export interface TokenServer {
	/** The fields of a credential of type `oauth2`. */
	credentials: { tokenUrl: string; clientId: string; clientSecret: string; scopes: string[] };
	/** Tells whether it granted this token, with the scope, and the token has not expired. */
	isGranted(token: string): Promise<boolean>;
	/** Returns the number of granted tokens. */
	granted(): number;
}

const CLIENT = { clientId: 'gatehouse', clientSecret: 'a secret & 100% of it', scopes: ['pets'] };

/** Starts the server. @param auth the client's authentication method: RFC 6749 §2.3.1 */
export async function tokenServer(t: TestContext, auth: 'client_secret_post' | 'client_secret_basic'): Promise<TokenServer> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	// The server listens on TCP.
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const provider = new Provider(url, {
		clients: [
			{
				client_id: CLIENT.clientId,
				client_secret: CLIENT.clientSecret,
				token_endpoint_auth_method: auth,
				grant_types: ['client_credentials'],
				response_types: [],
				redirect_uris: [],
			},
		],
		scopes: CLIENT.scopes,
		clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
		cookies: { keys: ['a key of the tests'] },
		features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
	});
	let count = 0;
	provider.on('client_credentials.saved', () => {
		count += 1;
	});
	server.on('request', provider.callback());
	t.after(() => {
		server.close();
		server.closeAllConnections();
	});
	return {
		credentials: { ...CLIENT, tokenUrl: `${url}/token` },
		isGranted: async (token) => (await provider.ClientCredentials.find(token))?.scope === 'pets',
		granted: () => count,
	};
}
