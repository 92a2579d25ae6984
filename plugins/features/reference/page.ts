// GET /docs: serves Swagger UI from its package on disk. The page loads nothing from other hosts and may send requests to this one only.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Request, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { GatewayError, notFound, operation } from '../../../core/features.ts';

const { resolve } = createRequire(import.meta.url);

/** The content security policy. Swagger UI writes styles into elements, and its icons are data URLs. */
const POLICY =
	"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The document has no links between operations, and their column makes the page wider than a telephone. */
const STYLE = '.swagger-ui .response-col_links { display: none }';

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatehouse API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<style>${STYLE}</style>
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

// Requests go to the page's own origin, whatever names the service has, since the policy allows no other. There is no validator, which
// would be another host, and no credential is kept beyond the page. Swagger UI reads the whole document anew for each operation that is
// unfolded, which takes seconds, so it gets the part that it asks for.
const START = `const here = () => ({
	statePlugins: {
		spec: {
			wrapActions: { updateJsonSpec: (update) => (document) => update({ ...document, servers: [{ url: '/' }] }) },
		},
	},
});

const inParts = ({ fn: { resolveSubtree } }) => ({
	fn: { resolveSubtree: (document, path, options) => resolveSubtree(partOf(document, path), path, options) },
});

const valueAt = (root, path) => path.reduce((parent, key) => parent?.[key], root);

/** Leaves out all paths and components but the value at a path and those that it refers to. */
function partOf(document, path) {
	const part = { ...document, paths: {}, components: {} };
	const add = (path) => {
		const value = valueAt(document, path);
		if (value === undefined || valueAt(part, path) !== undefined) return;
		let parent = part;
		for (const key of path.slice(0, -1)) parent = parent[key] ??= {};
		parent[path.at(-1)] = value;
		for (const [, kind, name] of JSON.stringify(value).matchAll(/"#\\/components\\/(\\w+)\\/([^"]+)"/g)) add(['components', kind, name]);
	};
	add(path);
	return part;
}

SwaggerUIBundle({
	url: '/openapi.json',
	dom_id: '#reference',
	plugins: [here, inParts],
	docExpansion: 'none',
	deepLinking: true,
	validatorUrl: null,
	persistAuthorization: false,
	filter: true,
	displayOperationId: true,
	tryItOutEnabled: true,
});
`;

const FILES: Record<string, { type: string; read: () => string | Buffer }> = {
	'start.js': { type: 'text/javascript', read: () => START },
	'swagger-ui.css': { type: 'text/css', read: () => packaged('swagger-ui.css') },
	'swagger-ui-bundle.js': { type: 'text/javascript', read: () => packaged('swagger-ui-bundle.js') },
	'favicon-32x32.png': { type: 'image/png', read: () => packaged('favicon-32x32.png') },
};

/**
 * Reads a file of Swagger UI. The build copies these files beside this one, since its package would bring along a dependency that reports
 * each installation to a third party.
 */
function packaged(name: string): Buffer {
	const copied = new URL(`./swagger-ui/${name}`, import.meta.url);
	return readFileSync(existsSync(copied) ? copied : resolve(`swagger-ui-dist/${name}`));
}

export function pageRoutes(): ServerRoute[] {
	const files = Object.entries(FILES).map(([name, { type, read }]) => [name, { type, content: read() }] as const);
	const byName = new Map(files);
	return [
		FRONT_DOOR,
		operation({
			method: 'GET',
			path: '/docs',
			id: 'readReference',
			summary: 'Shows a page to read this document and try its operations.',
			need: 'public',
			bare: true,
			produces: 'text/html',
			answer: Joi.string(),
			handler: (request) => request.generateResponse(HTML).type('text/html').header('content-security-policy', POLICY),
		}),
		operation({
			method: 'GET',
			path: '/docs/{file}',
			id: 'readReferenceFile',
			summary: 'Serves a script or style of that page.',
			need: 'public',
			bare: true,
			produces: '*/*',
			answer: Joi.any(),
			handler(request) {
				const file = byName.get(String(request.params['file']));
				if (!file) throw notFound('File');
				return request.generateResponse(file.content).type(file.type).header('cache-control', 'public, max-age=3600');
			},
		}),
	];
}

/** Redirects a browser from the service's root to the page; other clients get a 404. It is no operation of the API. */
const FRONT_DOOR: ServerRoute = {
	method: '*',
	path: '/',
	// The body of the request is not read.
	options: {
		auth: false,
		payload: { parse: false, output: 'stream', maxBytes: Number.MAX_SAFE_INTEGER },
		plugins: { gatehouse: { body: 'unread' } },
	},
	handler(request: Request, h: ResponseToolkit) {
		const asks = ['get', 'head'].includes(request.method) && /\btext\/html\b/.test(request.raw.req.headers.accept ?? '');
		if (!asks) throw new GatewayError('not_found', `There is nothing at ${request.method.toUpperCase()} /. The documentation is at /docs.`);
		return h.redirect('/docs').header('vary', 'accept');
	},
};
