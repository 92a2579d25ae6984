// Converts a stored operation to a tool of the `http` executor.

import {
	type Api,
	type CredentialNeed,
	type Fillable,
	hintsOf,
	holdsSecret,
	isAdding,
	isObject,
	type Json,
	type JsonObject,
	type Operation,
	type ToolAnnotations,
	type ToolDraft,
} from '../../core/index.ts';
import { absoluteUrl } from './servers.ts';

export function toTool(operation: Operation, api: Api): ToolDraft {
	// These four belong to the importer; the rest is the executor's config.
	const { server, rootServer, path, fillable, ...config } = operation.definition;
	const prefix = typeof server === 'string' ? absoluteUrl(server, api.baseUrl) : rootPath(rootServer, api.baseUrl);
	return {
		name: operation.name,
		description: operation.description,
		executor: 'http',
		parameters: operation.parameters,
		outputSchema: operation.outputSchema,
		annotations: annotationsOf(operation),
		executionConfig: { ...config, ...requestBodyOf(config['requestBody']), url: `${prefix ?? ''}${String(path)}` },
		...bodyArgumentOf(config['requestBody']),
		...fillableOf(fillable, config, prefix),
	};
}

/**
 * Leaves out headers of parts that have the name of a secret: drafts hold none. `convertForm` reports them, and leaves them out itself, but an
 * operation may have been stored by a former release.
 */
function requestBodyOf(body: Json | undefined): { requestBody?: JsonObject } {
	if (!isObject(body) || !isObject(body['parts'])) return {};
	const parts = Object.entries(body['parts']).map(([name, part]) => [name, isObject(part) ? openPart(part) : part]);
	return { requestBody: { ...body, parts: Object.fromEntries(parts) } };
}

function openPart(part: JsonObject): JsonObject {
	const { headers, ...rest } = part;
	if (!isObject(headers)) return part;
	const open = Object.entries(headers).filter(([name]) => !holdsSecret(name));
	return open.length === 0 ? rest : { ...rest, headers: Object.fromEntries(open) };
}

const bodyArgumentOf = (body: Json | undefined): Pick<ToolDraft, 'bodyArgument'> =>
	isObject(body) && typeof body['arg'] === 'string' ? { bodyArgument: body['arg'] } : {};

/** @param prefix the URL of the operation's own server, where that is not the API's; else a path */
function fillableOf(names: Json | undefined, config: JsonObject, prefix: string | null): Pick<ToolDraft, 'fillable'> {
	if (!Array.isArray(names)) return {};
	// `convertOperation` wrote these fields.
	const wires = (config['parameters'] ?? []) as ({ arg: string } & Omit<Fillable['arguments'][number], 'argument'>)[];
	const security = (config['security'] ?? null) as CredentialNeed[][] | null;
	const filled = wires.filter(({ arg }) => names.some((name) => isObject(name) && name['arg'] === arg));
	const origin = URL.parse(prefix ?? '')?.origin ?? null;
	return {
		fillable: { origin, security, arguments: filled.map(({ arg, in: location, name }) => ({ argument: arg, in: location, name })) },
	};
}

/** Returns the path of the document's server where the user gave that server without its path; else an empty string. */
function rootPath(rootServer: Json | undefined, baseUrl: string): string {
	const base = URL.parse(baseUrl);
	const server = typeof rootServer === 'string' ? absoluteUrl(rootServer, baseUrl) : null;
	if (base?.pathname !== '/' || server === null) return '';
	const { origin, pathname } = new URL(server);
	return origin === base.origin ? pathname.replace(/\/+$/, '') : '';
}

const SAFE = new Set(['GET', 'QUERY', 'PROPFIND', 'REPORT', 'SEARCH']);

/**
 * Tells which methods are safe and which are idempotent (RFC 9110 §9.2, IANA registry). What POST does is told by the names of the operation,
 * if by anything; the other methods replace or remove something.
 */
function annotationsOf({ method, operationId, path, title }: Operation): ToolAnnotations {
	const isHarmless = method === 'POST' && isAdding(`${operationId ?? ''} ${title ?? ''}`, path);
	const hints = hintsOf({
		readOnlyHint: SAFE.has(method),
		destructiveHint: !isHarmless,
		idempotentHint: method === 'DELETE' || method === 'PUT',
	});
	return { ...(title != null && { title }), ...hints };
}
