// Serves the document of the management API (OpenAPI 3.1) as JSON and YAML, and a page to read and try it.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import { type Feature, lazy, operation, VERSION } from '../../../core/features.ts';
import { assertDescribable, describeApi } from './document.ts';
import examples from './examples.json' with { type: 'json' };
import { pageRoutes } from './page.ts';

export default {
	kind: 'feature',
	api: 1,
	name: 'reference',
	summary: 'The OpenAPI document of the management API, and a page to read and try it.',
	spec: 'OpenAPI 3.1.1',
	config: Joi.object({}),
	segments: ['docs', 'openapi.json', 'openapi.yaml'],
	register(server: Server, _config, core) {
		server.ext('onPreStart', () => assertDescribable(server));
		// The texts are written when they are first asked for: most processes never are, and all start sooner.
		const document = lazy(() => describeApi({ server, registry: core.registry, config: core.config, version: VERSION, examples }));
		const json = lazy(async () => JSON.stringify(await document()));
		const yaml = lazy(async () => (await import('./yaml.ts')).writeYaml(await document()));
		server.route([
			operation({
				method: 'GET',
				path: '/openapi.json',
				id: 'getDocument',
				summary: 'Returns this document as JSON.',
				need: 'public',
				bare: true,
				answer: Joi.object().unknown(),
				handler: async (request) => text(request, await json(), 'application/json'),
			}),
			operation({
				method: 'GET',
				path: '/openapi.yaml',
				id: 'getDocumentAsYaml',
				summary: 'Returns this document as YAML.',
				need: 'public',
				bare: true,
				produces: 'application/yaml',
				answer: Joi.string(),
				handler: async (request) => text(request, await yaml(), 'application/yaml'),
			}),
			...pageRoutes(),
		]);
	},
} satisfies Feature;

const text = (request: Request, content: string, type: string) =>
	request.generateResponse(content).type(type).header('cache-control', 'no-cache');
