// GET /plugins: lists every plugin of the registry with its summary and its configuration as JSON Schema.

import type { Server } from '@hapi/hapi';
import Joi from 'joi';
import { type Feature, jsonObject, KIND_NAMES, operation, shape } from '../../../core/features.ts';

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
}).meta({ schema: 'Plugin' });

export default {
	kind: 'feature',
	api: 1,
	name: 'plugins',
	summary: 'Lists every plugin that this service runs, with its configuration.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		server.route(
			operation({
				method: 'GET',
				path: '/plugins',
				id: 'listPlugins',
				summary: 'Lists every plugin that this service runs, all on one page.',
				need: 'self',
				answer: shape({ plugins: Joi.array().items(PLUGIN) }),
				handler: () => ({ plugins: core.registry.describe() }),
			}),
		);
	},
} satisfies Feature;
