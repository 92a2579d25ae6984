// Finds the API that a path names.

import type { Request } from '@hapi/hapi';
import { type ApiRow, type Core, notFound, organizationOf } from '../../../core/features.ts';

/** Finds the API. @throws not_found */
export async function findApi(request: Request, { store }: Core): Promise<ApiRow> {
	const api = await store.apis.get(organizationOf(request).id, String(request.params['id']));
	if (!api) throw notFound('API');
	return api;
}
