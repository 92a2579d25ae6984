// UTCP 1.1: a manual of the gateway's tools, and an address for each of them.

import Joi from 'joi';
import type { GatewayRoute, TransportAdapter } from '../../core/index.ts';
import { callTool, invokeTool } from './calling.ts';
import { fail } from './errors.ts';
import { type Config, listTools, ownManual, publicManual, showTool } from './manual.ts';
import { openApi } from './openapi.ts';

/** Handlers look tools up by their names, also for callers who may not list them. */
const running = { method: 'POST', lists: true, encodings: ['gzip'] } as const satisfies Partial<GatewayRoute>;

export default {
	kind: 'transport',
	api: 1,
	name: 'utcp',
	summary: 'The gateway’s tools over the Universal Tool Calling Protocol: a manual, and an address for each tool.',
	spec: 'UTCP 1.1, https://www.utcp.io',
	config: Joi.object<Config>({
		discovery: Joi.valid('full', 'minimal')
			.default('full')
			.description('What the public manual tells: all tools with their schemas, or only how to log in; callers always get the whole one.'),
	}),
	cors: { send: ['if-none-match'], read: ['x-result-notes'] },
	fail,
	routes: [
		{ method: 'GET', path: '/', handler: ownManual },
		{ method: 'GET', path: '/utcp', handler: ownManual },
		{ method: 'GET', path: '/.well-known/utcp', public: true, lists: true, handler: publicManual },
		{ method: 'GET', path: '/openapi.json', handler: openApi },
		{ method: 'GET', path: '/tools', handler: listTools },
		{ method: 'GET', path: '/tools/{name}', handler: showTool },
		{ ...running, path: '/tools/{name}', handler: callTool },
		{ ...running, path: '/tools/{name}/invoke', handler: invokeTool },
	],
} satisfies TransportAdapter<Config>;
