// Organizations: those of the user, a new one, its name. Their people have files of their own.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	displayName,
	type Feature,
	needs,
	notFound,
	organizationOf,
	pageOf,
	pageQuery,
	slugs,
	storeOf,
	success,
	userIdOf,
} from '../../../core/index.ts';
import { invitationRoutes } from './invitations.ts';
import { memberRoutes } from './members.ts';
import { presentMembership, presentOrganization } from './present.ts';

const NAMED = body({ name: displayName.required() });

export default {
	kind: 'feature',
	name: 'organizations',
	summary: 'Organizations, their members with roles, and invitations by e-mail.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		const inPath = { organization: 'path' } as const;
		server.route([
			{
				method: 'GET',
				path: '/organizations',
				options: { ...needs('self'), validate: { query: pageQuery() } },
				handler: async (request) => success(await list(request, core)),
			},
			{
				method: 'POST',
				path: '/organizations',
				options: { ...needs('account'), validate: { payload: NAMED } },
				handler: async (request, h) => h.response(success(await create(request, core))).code(201),
			},
			{
				method: 'GET',
				path: '/organizations/{orgId}',
				options: needs('organization:read', inPath),
				handler: (request) => success(presentOrganization(organizationOf(request), request.auth.credentials.role)),
			},
			{
				method: 'PATCH',
				path: '/organizations/{orgId}',
				options: { ...needs('organization:write', inPath), validate: { payload: NAMED } },
				handler: async (request) => success(await rename(request, core)),
			},
			...memberRoutes(core),
			...invitationRoutes(core),
		]);
	},
} satisfies Feature;

async function list(request: Request, { store }: Core) {
	const { items, nextCursor } = await store.organizations.list(userIdOf(request), pageOf(request));
	return { organizations: items.map(presentMembership), nextCursor };
}

async function create(request: Request, core: Core) {
	const name = nameIn(request);
	const made = await storeOf(request, core).organizations.create(userIdOf(request), { name, slugs: slugs(name) });
	return presentOrganization(made, 'owner');
}

async function rename(request: Request, core: Core) {
	const renamed = await storeOf(request, core).organizations.rename(organizationOf(request).id, nameIn(request));
	if (!renamed) throw notFound('Organization');
	return presentOrganization(renamed, request.auth.credentials.role);
}

/** The body has passed NAMED. */
const nameIn = (request: Request): string => (request.payload as { name: string }).name;
