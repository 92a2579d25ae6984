// Serves the document of the management API (OpenAPI 3.1) as JSON and YAML, and a page to read and try it.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import { stringify } from 'yaml';
import { type Feature, operation, VERSION } from '../../../core/features.ts';
import { describeApi } from './document.ts';
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
		const texts = { json: '', yaml: '' };
		// The document is written at the start, when all routes exist and no request waits, since writing it takes longer than a request may.
		server.ext('onPreStart', () => {
			const document = describeApi({ server, registry: core.registry, config: core.config, version: VERSION, examples });
			texts.json = JSON.stringify(document);
			texts.yaml = stringify(document, { aliasDuplicateObjects: false });
		});
		server.route([
			operation({
				method: 'GET',
				path: '/openapi.json',
				id: 'getDocument',
				summary: 'Returns this document as JSON.',
				need: 'public',
				bare: true,
				answer: Joi.object().unknown(),
				handler: (request) => text(request, texts.json, 'application/json'),
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
				handler: (request) => text(request, texts.yaml, 'application/yaml'),
			}),
			...pageRoutes(),
		]);
	},
} satisfies Feature;

const text = (request: Request, content: string, type: string) =>
	request.generateResponse(content).type(type).header('cache-control', 'no-cache');
