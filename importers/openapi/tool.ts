// From a stored operation to a tool of the `http` executor.

import {
	type Api,
	type CredentialNeed,
	type Fillable,
	isObject,
	type Json,
	type JsonObject,
	type Operation,
	type ToolAnnotations,
	type ToolDraft,
} from '../../core/index.ts';
import { absoluteUrl } from './servers.ts';

export function toTool(operation: Operation, api: Api): ToolDraft {
	// These four are the importer's own; all else is the executor's config as it stands.
	const { server, rootServer, path, fillable, ...config } = operation.definition;
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
		...fillableOf(fillable, config, prefix),
	};
}

const bodyArgumentOf = (body: Json | undefined): Pick<ToolDraft, 'bodyArgument'> =>
	isObject(body) && typeof body['arg'] === 'string' ? { bodyArgument: body['arg'] } : {};

/** @param prefix an URL where the operation is elsewhere than the API */
function fillableOf(names: Json | undefined, config: JsonObject, prefix: string | null): Pick<ToolDraft, 'fillable'> {
	if (!Array.isArray(names)) return {};
	// As `convertOperation` wrote them.
	const wires = (config['parameters'] ?? []) as ({ arg: string } & Omit<Fillable['arguments'][number], 'argument'>)[];
	const security = (config['security'] ?? null) as CredentialNeed[][] | null;
	const filled = wires.filter(({ arg }) => names.some((name) => isObject(name) && name['arg'] === arg));
	const origin = URL.parse(prefix ?? '')?.origin ?? null;
	return {
		fillable: { origin, security, arguments: filled.map(({ arg, in: location, name }) => ({ argument: arg, in: location, name })) },
	};
}

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
