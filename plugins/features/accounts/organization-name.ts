// Which slug a name would get, for the form of the registration.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, displayName, operation, plainSlug, shape, slugs } from '../../../core/features.ts';

export const checkOrganizationName = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/auth/check-organization-name',
		id: 'checkOrganizationName',
		summary: 'Says which slug an organization of this name would get.',
		need: 'public',
		query: Joi.object({ name: displayName.required().example('Acme') }),
		answer: shape({
			available: Joi.boolean().description('Whether the slug is the name’s own.'),
			slug: Joi.string().allow(null).description('What a registration would get now; null when nothing is left.'),
		}),
		handler: async (request) => {
			const name = String(request.query['name']);
			const slug = await core.store.accounts.freeSlug(slugs(name));
			return { available: slug === plainSlug(name), slug };
		},
	});
