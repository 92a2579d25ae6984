// The `graphql` executor: one query or mutation per call, by POST, written by hand or by the GraphQL importer.

import { GatewayError, holdsSecret, invalid, lazy, type OutboundRequest, secretsAdded, type ToolExecutor } from '../../../core/index.ts';
import { config, type GraphqlConfig } from './config.ts';
import { readResponse } from './response.ts';

/** Loaded at the first use, since it loads the library that parses GraphQL. */
const documents = lazy(() => import('./document.ts'));

export default {
	kind: 'executor',
	api: 1,
	name: 'graphql',
	creatable: true,
	summary: 'Calls a GraphQL endpoint: arguments are the variables of its query or mutation.',
	spec: 'GraphQL, September 2025; GraphQL over HTTP (draft)',
	config,
	async check(given, { checkUrl }) {
		if (given.endpoint === undefined) {
			const message = '"endpoint" is required, such as https://api.example.com/graphql: only tools of an API have a base URL.';
			throw invalid('/executionConfig/endpoint', message);
		}
		const { readQuery } = await documents();
		readQuery(given);
		await checkUrl(given.endpoint, '/executionConfig/endpoint');
	},
	async execute(args, given, call) {
		const url = given.endpoint ?? call.api?.baseUrl;
		if (url === undefined)
			throw new GatewayError('validation_failed', 'The tool has no endpoint, and no API with a base URL to use instead.');
		const { writeRequest } = await documents();
		const { body, repeatable } = writeRequest(given, args);
		const request: OutboundRequest = {
			method: 'POST',
			url,
			headers: { ...lowerCased(given.headers), accept: ACCEPT, 'content-type': 'application/json' },
			body: JSON.stringify(body),
			repeatable,
			timeoutMs: given.timeoutMs,
			signal: call.signal,
		};
		const signed = await call.sign(request);
		const written = Object.keys(given.headers ?? {}).filter(holdsSecret);
		const response = await call.request(signed);
		return readResponse(response, { schema: call.tool?.outputSchema ?? null, secrets: secretsAdded(request, signed, written) });
	},
} satisfies ToolExecutor<GraphqlConfig>;

/** GraphQL over HTTP: the new media type first; older servers know the other. */
const ACCEPT = 'application/graphql-response+json, application/json';

/** Lower-cases header names, so that none is sent twice, beside one of ours. */
function lowerCased(headers: Record<string, string> = {}): Record<string, string> {
	return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
