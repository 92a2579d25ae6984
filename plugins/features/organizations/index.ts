// Organizations: list those of the user, create one, change its name and settings. Members and invitations have files of their own.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	displayName,
	type Feature,
	listQuery,
	notFound,
	type OrganizationRow,
	type OrganizationSettings,
	operation,
	organizationOf,
	page,
	pageOf,
	slugs,
	storeOf,
	userIdOf,
} from '../../../core/features.ts';
import { invitationRoutes } from './invitations.ts';
import { memberRoutes } from './members.ts';
import { MEMBERSHIP, ORGANIZATION, presentMembership, presentOrganization, SETTINGS } from './present.ts';

const NEW = body({ name: displayName.required() }).example({ name: 'Acme' });
const CHANGE = body({ name: displayName, settings: SETTINGS })
	.min(1)
	.example({ name: 'Acme', settings: { codeMayFetch: true } });

export default {
	kind: 'feature',
	api: 1,
	name: 'organizations',
	summary: 'Organizations, their members with roles, and invitations by e-mail.',
	config: Joi.object({}),
	segments: ['organizations', 'invitations'],
	register(server: Server, _config, core) {
		server.route([
			listOrganizations(core),
			createOrganization(core),
			getOrganization(core),
			updateOrganization(core),
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
		summary: 'Creates an organization with the user as its owner.',
		need: 'account',
		body: NEW,
		answer: ORGANIZATION,
		status: 201,
		idempotent: true,
		handler: (request) => create(request, core),
	});

const getOrganization = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/organizations/{orgId}',
		id: 'getOrganization',
		summary: 'Shows an organization.',
		need: 'organization:read',
		answer: ORGANIZATION,
		handler: (request) => show(request, core),
	});

const updateOrganization = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/organizations/{orgId}',
		id: 'renameOrganization',
		summary: 'Renames an organization or changes its settings; the slug stays.',
		need: 'organization:write',
		body: CHANGE,
		answer: ORGANIZATION,
		handler: (request) => update(request, core),
	});

async function create(request: Request, core: Core) {
	// The body has passed NEW.
	const { name } = request.payload as { name: string };
	const made = await storeOf(request, core).organizations.create(userIdOf(request), { name, slugs: slugs(name, core.reserved) });
	return presentOrganization(made, 'owner', await core.store.organizations.settings(made.id));
}

async function update(request: Request, core: Core) {
	// The body has passed CHANGE.
	const { name, settings } = request.payload as { name?: string; settings?: OrganizationSettings };
	const change = { ...(name !== undefined && { name }), ...settings };
	const changed = await storeOf(request, core).organizations.update(organizationOf(request).id, change);
	if (!changed) throw notFound('Organization');
	return present(request, changed, core);
}

async function show(request: Request, core: Core) {
	const row = await core.store.organizations.get(organizationOf(request).id);
	if (!row) throw notFound('Organization');
	return present(request, row, core);
}

async function present(request: Request, row: OrganizationRow, { store }: Core) {
	return presentOrganization(row, request.auth.credentials.role, await store.organizations.settings(row.id));
}
