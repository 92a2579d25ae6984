// Finds the LLM provider that a path names.

import type { Request } from '@hapi/hapi';
import { type Core, type LlmProviderRow, notFound, organizationOf } from '../../../core/features.ts';

/** @throws not_found */
export async function findProvider(request: Request, { store }: Core): Promise<LlmProviderRow> {
	const row = await store.llmProviders.get(organizationOf(request).id, String(request.params['id']));
	if (!row) throw notFound('LLM provider');
	return row;
}
