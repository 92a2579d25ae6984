// Finds the gateway that a path names.

import type { Request } from '@hapi/hapi';
import { type Core, type GatewayRow, notFound, organizationOf } from '../../../core/features.ts';

/** Finds the gateway. @throws not_found */
export async function findGateway(request: Request, { store }: Core): Promise<GatewayRow> {
	const row = await store.gateways.get(organizationOf(request).id, String(request.params['id']));
	if (!row) throw notFound('Gateway');
	return row;
}
