// Token revocation (RFC 7009).

import type { Call, Incoming, Reply } from '../../../core/index.ts';
import { authenticateClient } from './clients/authentication.ts';
import type { OAuthConfig } from './config.ts';
import { answering, NO_STORE } from './faults.ts';
import { endAccess, endGrant, findAccess, findRefresh } from './grants.ts';
import { assertNoneInQuery, formParameters } from './parameters.ts';

/**
 * Revokes a token. A refresh token, also a former one, ends its grant with all its tokens (specification 5.2 rule 7); an access token ends
 * alone. Unknown tokens and those of other clients are left alone: §2.2, "invalid tokens do not cause an error response".
 */
export const revoke = (request: Incoming, config: OAuthConfig, call: Call): Promise<Reply> =>
	answering(async () => {
		assertNoneInQuery(request);
		const parameters = formParameters(request.body, request.headers['content-type']);
		const client = await authenticateClient(request, parameters, { config, call });
		const token = parameters.require('token');
		const refresh = await findRefresh(token, call);
		if (refresh?.clientId === client.id) await endGrant(refresh.grantId, call);
		const access = await findAccess(token, call);
		if (access?.clientId === client.id) await endAccess(access.grantId, access.id, call);
		return { status: 200, headers: NO_STORE };
	});
