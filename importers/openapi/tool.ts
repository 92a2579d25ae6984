// From a stored operation to a tool of the `http` executor.

import type { Api, Json, Operation, ToolAnnotations, ToolDraft } from '../../core/index.ts';
import { isObject } from './document.ts';
import { absoluteUrl } from './servers.ts';

export function toTool(operation: Operation, api: Api): ToolDraft {
	// These three are the importer's own; all else is the executor's config as it stands.
	const { server, rootServer, path, ...config } = operation.definition;
	const prefix = typeof server === 'string' ? absoluteUrl(server, api.baseUrl) : rootPath(rootServer, api.baseUrl);
	return {
		name: operation.name,
		description: operation.description,
		executor: 'http',
		parameters: operation.parameters,
		outputSchema: operation.outputSchema,
		annotations: annotationsOf(operation.method),
		executionConfig: { ...config, url: `${prefix ?? ''}${String(path)}` },
		...bodyArgumentOf(config['requestBody']),
	};
}

const bodyArgumentOf = (body: Json | undefined): Pick<ToolDraft, 'bodyArgument'> =>
	isObject(body) && typeof body['arg'] === 'string' ? { bodyArgument: body['arg'] } : {};

/** The path of the document's server, where the user named that server but not its path. */
function rootPath(rootServer: Json | undefined, baseUrl: string): string {
	const base = URL.parse(baseUrl);
	const server = typeof rootServer === 'string' ? absoluteUrl(rootServer, baseUrl) : null;
	if (base?.pathname !== '/' || server === null) return '';
	const { origin, pathname } = new URL(server);
	return origin === base.origin ? pathname.replace(/\/+$/, '') : '';
}

const SAFE = new Set(['GET', 'QUERY', 'PROPFIND', 'REPORT', 'SEARCH']);

/** RFC 9110 §9.2 and the IANA registry of methods: which methods are safe, and which may be repeated. What POST and PATCH destroy, nobody can tell. */
function annotationsOf(method: string): ToolAnnotations {
	if (SAFE.has(method)) return { readOnlyHint: true, openWorldHint: true };
	const annotations: ToolAnnotations = { readOnlyHint: false, openWorldHint: true };
	if (method === 'DELETE') annotations.destructiveHint = true;
	if (method === 'DELETE' || method === 'PUT') annotations.idempotentHint = true;
	return annotations;
}
