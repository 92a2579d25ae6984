// Another's authorization server that grants tokens to a program (RFC 6749 §4.4), and knows those that it granted.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import Provider from 'oidc-provider';

export interface TokenServer {
	/** Of a credential of type `oauth2`. */
	credentials: { tokenUrl: string; clientId: string; clientSecret: string; scopes: string[] };
	/** Whether it granted this token, with the scope, and it has not expired. */
	isGranted(token: string): Promise<boolean>;
	/** How many it granted. */
	granted(): number;
}

const CLIENT = { clientId: 'gatehouse', clientSecret: 'a secret & 100% of it', scopes: ['pets'] };

/** @param auth how its client proves itself: RFC 6749 §2.3.1 */
export async function tokenServer(t: TestContext, auth: 'client_secret_post' | 'client_secret_basic'): Promise<TokenServer> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	// It listens on TCP.
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
