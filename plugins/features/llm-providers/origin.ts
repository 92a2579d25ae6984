// The origin of models' calls that users make by hand, for the request log.

import type { Request } from '@hapi/hapi';
import { type Core, clientOf, userIdOf } from '../../../core/features.ts';

/** Returns the origin of a call that a request of the management API makes; `keyId` is null, since it is for keys of gateways. */
export function originOf(request: Request, core: Core) {
	const { requestId, userAgent } = clientOf(request, core);
	const userId = userIdOf(request);
	return { requestId, userAgent, userId, caller: `user:${userId}`, method: 'management', keyId: null };
}
