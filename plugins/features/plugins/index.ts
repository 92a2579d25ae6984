// GET /plugins: lists every plugin of the registry with its summary and its configuration as JSON Schema.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, count, type Feature, jsonObject, KIND_NAMES, operation, shape, userIdOf, uuid } from '../../../core/features.ts';

const PLUGIN = shape({
	kind: Joi.valid(...KIND_NAMES),
	name: Joi.string().description('The value of `type` in a gateway, a tool, an API or an authentication method.'),
	summary: Joi.string(),
	spec: Joi.string().allow(null).description('The specification that the plugin implements.'),
	creatable: Joi.boolean().description('Whether a client may use it as `type`.'),
	api: Joi.number().integer().allow(null).description('The version of the plugin contract that it declares.'),
	package: shape({ name: Joi.string(), version: Joi.string().allow(null) })
		.allow(null)
		.description('The npm package that it came with; null for a plugin of the service itself.'),
	config: jsonObject.description('JSON Schema (2020-12) of its configuration.'),
	operator: jsonObject
		.allow(null)
		.description('JSON Schema (2020-12) of what the operator of the service configures for it; null if there is nothing.'),
}).meta({ schema: 'Plugin' });

const UNFIT = shape({
	organizationId: uuid,
	kind: Joi.string().description('The kind of the plugin.'),
	name: Joi.string().description('The name of the plugin.'),
	missing: count.description('Number of rows whose plugin is not loaded.'),
	misfits: count.description('Number of rows whose configuration does not fit.'),
}).meta({ schema: 'UnfitRows' });

export default {
	kind: 'feature',
	api: 1,
	name: 'plugins',
	summary: 'Lists every plugin that this service runs, with its configuration.',
	config: Joi.object({}),
	segments: ['plugins'],
	register(server: Server, _config, core) {
		server.route(
			operation({
				method: 'GET',
				path: '/plugins',
				id: 'listPlugins',
				summary: 'Lists every plugin that this service runs, all on one page.',
				need: 'self',
				answer: shape({
					plugins: Joi.array().items(PLUGIN),
					unfit: Joi.array()
						.items(UNFIT)
						.description(
							'Rows of the caller’s organizations that cannot be used: they were stored for a plugin that is no longer loaded, or with a configuration that no longer fits it. Each is mended by a change of its configuration.',
						),
				}),
				handler: async (request) => ({ plugins: core.registry.describe(), unfit: await unfitOf(request, core) }),
			}),
		);
	},
} satisfies Feature;

async function unfitOf(request: Request, { store, unfitRows }: Core) {
	const memberships = await store.accounts.memberships(userIdOf(request));
	const counted = memberships.map(async ({ organization: { id } }) =>
		(await unfitRows.of(id)).map((one) => ({ organizationId: id, ...one })),
	);
	return (await Promise.all(counted)).flat();
}
