// Organizations: those of the user, a new one, its name. Their people have files of their own.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	displayName,
	type Feature,
	listQuery,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	slugs,
	storeOf,
	userIdOf,
} from '../../../core/index.ts';
import { invitationRoutes } from './invitations.ts';
import { memberRoutes } from './members.ts';
import { MEMBERSHIP, ORGANIZATION, presentMembership, presentOrganization } from './present.ts';

const NAMED = body({ name: displayName.required() }).example({ name: 'Acme' });

export default {
	kind: 'feature',
	name: 'organizations',
	summary: 'Organizations, their members with roles, and invitations by e-mail.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		server.route([
			listOrganizations(core),
			createOrganization(core),
			getOrganization(),
			renameOrganization(core),
			...memberRoutes(core),
			...invitationRoutes(core),
		]);
	},
} satisfies Feature;

const listOrganizations = ({ store }: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/organizations',
		id: 'listOrganizations',
		summary: 'Lists the organizations of the user, in order of joining.',
		need: 'self',
		query: listQuery(),
		answer: page('organizations', MEMBERSHIP),
		handler: async (request) => {
			const { items, nextCursor } = await store.organizations.list(userIdOf(request), pageOf(request));
			return { organizations: items.map(presentMembership), nextCursor };
		},
	});

const createOrganization = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/organizations',
		id: 'createOrganization',
		summary: 'Makes an organization, of which the user becomes the owner.',
		need: 'account',
		body: NAMED,
		answer: ORGANIZATION,
		status: 201,
		idempotent: true,
		handler: (request) => create(request, core),
	});

const getOrganization = (): ServerRoute =>
	operation({
		method: 'GET',
		path: '/organizations/{orgId}',
		id: 'getOrganization',
		summary: 'Shows an organization.',
		need: 'organization:read',
		answer: ORGANIZATION,
		handler: (request) => presentOrganization(organizationOf(request), request.auth.credentials.role),
	});

const renameOrganization = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/organizations/{orgId}',
		id: 'renameOrganization',
		summary: 'Renames an organization; its slug stays.',
		need: 'organization:write',
		body: NAMED,
		answer: ORGANIZATION,
		handler: (request) => rename(request, core),
	});

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
