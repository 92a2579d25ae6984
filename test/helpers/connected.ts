// Connects an API over the management API, and makes a tool of each operation of a document that the test writes.

import { type Account, type Answer, must } from './service.ts';

export interface Connected {
	apiId: string;
	/** Tool ids by operation id. */
	toolIds: Record<string, string>;
	/** Runs a tool over the management API. @param query with its `?` */
	run(operationId: string, parameters?: object, query?: string): Promise<Answer>;
	store(type: string, credentials: object): Promise<void>;
}

export interface Described {
	/** The paths of an OpenAPI 3.1 document. */
	paths: object;
	securitySchemes?: object;
	schemas?: object;
	/** The path below the origin of the upstream. */
	basePath?: string;
}

export const SCHEMES = {
	key: { type: 'apiKey', in: 'header', name: 'X-Key' },
	bearer: { type: 'http', scheme: 'bearer' },
	basic: { type: 'http', scheme: 'basic' },
	oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://example.com/token', scopes: {} } } },
};

/** An operation whose response may be anything. */
export const get = (operationId: string, more: object = {}): { get: object } => ({
	get: { operationId, responses: { 200: { description: 'ok' } }, ...more },
});

export async function connectApi(
	account: Account,
	origin: string,
	{ paths, securitySchemes = SCHEMES, schemas = {}, basePath = '' }: Described,
): Promise<Connected> {
	const baseUrl = origin + basePath;
	const apiId: string = must(await account.post('/apis', { name: 'Upstream', type: 'openapi', baseUrl }), 201).body.data.id;
	const document = { openapi: '3.1.0', info: { title: 'Upstream', version: '1' }, paths, components: { securitySchemes, schemas } };
	const body = { schemaContent: JSON.stringify(document), generateTools: true };
	must(await account.post(`/apis/${apiId}/import-schema`, body), 200);
	const tools = `/organizations/${account.organization.id}/tools`;
	const listed: { id: string; name: string }[] = must(await account.get(`${tools}?apiId=${apiId}`), 200).body.data.tools;
	const toolIds = Object.fromEntries(listed.map(({ id, name }) => [name, id]));
	return {
		apiId,
		toolIds,
		run: (operationId, parameters = {}, query = '') => account.post(`${tools}/${toolIds[operationId]}/execute${query}`, { parameters }),
		async store(type, credentials) {
			must(await account.post(`/apis/${apiId}/credentials`, { type, credentials }), 201);
		},
	};
}
