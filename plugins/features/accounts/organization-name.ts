// Which slug a name would get, for the form of the registration.

import type { Request } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, displayName, plainSlug, slugs } from '../../../core/index.ts';

export const ORGANIZATION_NAME = Joi.object({ name: displayName.required() });

/** `slug` is what a registration would get now; `available` says whether that is the name's own. */
export async function checkOrganizationName(request: Request, core: Core): Promise<{ available: boolean; slug: string | null }> {
	const name = String(request.query['name']);
	const slug = await core.store.accounts.freeSlug(slugs(name));
	return { available: slug === plainSlug(name), slug };
}
