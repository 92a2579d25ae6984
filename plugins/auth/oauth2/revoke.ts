// Token revocation (RFC 7009).

import type { Call, Incoming, Reply } from '../../../core/index.ts';
import { authenticateClient } from './clients/authentication.ts';
import type { Client } from './clients/clients.ts';
import type { OAuthConfig } from './config.ts';
import { answering, NO_STORE } from './faults.ts';
import { endAccess, endGrant, findAccess, findRefresh } from './grants.ts';
import { assertNoneInQuery, formParameters } from './parameters.ts';
import { type Placed, placeOf } from './places.ts';

/**
 * Revokes a token. A refresh token, also a former one, ends its grant with all its tokens (specification 5.2 rule 7); an access token ends
 * alone. Unknown tokens and those of other clients are left alone: §2.2, "invalid tokens do not cause an error response".
 */
export const revoke = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	answering(async () => {
		assertNoneInQuery(request);
		const parameters = formParameters(request.body, request.headers['content-type']);
		const token = parameters.get('token');
		const place = token === null ? null : await placeOf(token, call);
		const client = await authenticateClient(request, parameters, { config, call, place });
		parameters.require('token');
		if (place) await end(client, place);
		return { status: 200, headers: NO_STORE };
	});

async function end({ id }: Client, { context, secret }: Placed): Promise<void> {
	const refresh = await findRefresh(secret, context);
	if (refresh?.clientId === id) await endGrant(refresh.grantId, context);
	const access = await findAccess(secret, context);
	if (access?.clientId === id) await endAccess(access.grantId, access.id, context);
}
