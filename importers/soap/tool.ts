// Makes a tool of the `soap` executor from a stored operation.

import { type Api, hintsOf, isAdding, type Json, type Operation, type ToolDraft } from '../../core/index.ts';

export function toTool({ name, description, parameters, outputSchema, definition }: Operation, api: Api): ToolDraft {
	// Only these two are the importer's own; the rest is the executor's config.
	const { address, rootAddress, ...config } = definition;
	const endpoint = endpointOf(address, rootAddress, api.baseUrl);
	return {
		name,
		description,
		executor: 'soap',
		parameters,
		outputSchema,
		// WSDL does not say whether an operation changes anything, but its name may.
		annotations: hintsOf({ readOnlyHint: false, destructiveHint: !isAdding(name) }),
		executionConfig: { ...config, ...(endpoint === null ? {} : { endpoint }) },
	};
}

/**
 * Returns null if the API's base URL is the endpoint; a path if that URL has none, or the operation's port has another path than
 * the document's first; a URL if the port is of another origin than the first.
 */
function endpointOf(address: Json | undefined, rootAddress: Json | undefined, baseUrl: string): string | null {
	const [own, first, base] = [httpUrl(address), httpUrl(rootAddress), httpUrl(baseUrl)];
	if (!own || !first || !base) return null;
	if (own.href === first.href) return base.pathname === '/' && own.origin === base.origin && own.pathname !== '/' ? pathOf(own) : null;
	return own.origin === first.origin ? pathOf(own) : own.href;
}

const pathOf = ({ pathname, search }: URL): string => `${pathname}${search}`;

function httpUrl(value: Json | undefined): URL | null {
	const url = typeof value === 'string' ? URL.parse(value.trim()) : null;
	if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) return null;
	url.hash = '';
	return url;
}
