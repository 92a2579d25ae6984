// Alerts: rules by which an organization's own webhook is told what is wrong.

import type { Server } from '@hapi/hapi';
import Joi from 'joi';
import type { Feature } from '../../../core/features.ts';
import { ruleRoutes } from './rules.ts';
import { sendingRoutes } from './sending.ts';

export default {
	kind: 'feature',
	api: 1,
	name: 'alerts',
	summary: 'Alerts by webhook: failing and slow tools, credentials that stopped working, documents that changed.',
	config: Joi.object({}),
	segments: ['alerts'],
	register(server: Server, _config, core) {
		server.route([...ruleRoutes(core), ...sendingRoutes(core)]);
	},
} satisfies Feature;
