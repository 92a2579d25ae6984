// GET /plugins: every plugin with its summary and its config as JSON Schema, straight from the registry.

import type { Server } from '@hapi/hapi';
import Joi from 'joi';
import { type Feature, needs, success } from '../../../core/index.ts';

export default {
	kind: 'feature',
	name: 'plugins',
	summary: 'Lists every plugin that this service runs, with its configuration.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		server.route({
			method: 'GET',
			path: '/plugins',
			options: needs('self'),
			handler: () => success({ plugins: core.registry.describe() }),
		});
	},
} satisfies Feature;
