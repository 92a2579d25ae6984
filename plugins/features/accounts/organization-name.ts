// Tells the registration form which slug a name would get.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, displayName, operation, plainSlug, shape, slugs } from '../../../core/features.ts';

export const checkOrganizationName = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/auth/check-organization-name',
		id: 'checkOrganizationName',
		summary: 'Shows the slug that an organization of this name would get.',
		need: 'public',
		addressLimit: { max: 30, seconds: 60 },
		query: Joi.object({ name: displayName.required().example('Acme') }),
		answer: shape({
			available: Joi.boolean().description('True when the slug of the name is free, and for a name that has none.'),
			slug: Joi.string()
				.allow(null)
				.description(
					'The slug that a registration would get now; null when none is free, or for a name without Latin letters and digits, which gets a random one.',
				),
		}),
		handler: async (request) => {
			const name = String(request.query['name']);
			const plain = plainSlug(name);
			if (plain === '') return { available: true, slug: null };
			const slug = await core.store.accounts.freeSlug(slugs(name, core.reserved));
			return { available: slug === plain, slug };
		},
	});
