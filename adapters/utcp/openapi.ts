// The twin of the manual: the same tools and methods as an OpenAPI document, for clients that read no manuals.

import {
	type Admission,
	type Call,
	type Incoming,
	type JsonObject,
	type Reply,
	type SecurityScheme,
	schemesByName,
	type Tool,
} from '../../core/index.ts';
import { answer } from './document.ts';
import type { Config } from './manual.ts';
import { strictSchema } from './strict-schema.ts';

const ERROR = {
	type: 'object',
	properties: {
		error: {
			type: 'object',
			properties: {
				code: { type: 'string' },
				message: { type: 'string' },
				details: { type: 'array', items: { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } } } },
			},
			required: ['code', 'message'],
		},
	},
	required: ['error'],
} satisfies JsonObject;

const failure = (description: string): JsonObject => ({
	description,
	content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});

export async function openApi(request: Incoming, _config: Config, call: Call): Promise<Reply> {
	const { gateway } = call;
	const admission = call.admission();
	const head = JSON.stringify({
		openapi: '3.1.0',
		info: { title: gateway?.name ?? 'Tools', version: '1.0.0', ...(gateway?.description && { description: gateway.description }) },
		servers: [{ url: request.base }],
		security: requirementsOf(admission),
		components: {
			schemas: { Error: ERROR },
			securitySchemes: schemesOf(admission),
			responses: { Failed: failure('The call was refused, or failed.') },
		},
	});
	const document = {
		...{ kind: 'openapi', head: `${head.slice(0, -1)},"paths":{`, tail: '}}', tools: await call.tools() },
		...{ describe: pathOf, nameOf: ({ name }: Readonly<Tool>) => pathName(name) },
	};
	return answer(document, request, call);
}

const pathName = (name: string): string => `/tools/${encodeURIComponent(name)}`;

/** Its schemas are where they are used: a reference leads there from the root of the document. */
function pathOf({ name, description, parameters, outputSchema, annotations }: Readonly<Tool>): JsonObject {
	const at = `#/paths/${pathName(name).replaceAll('/', '~1').replaceAll('%', '%25')}/post`;
	const body = strictSchema(parameters, `${at}/requestBody/content/application~1json/schema`);
	const result = outputSchema ? strictSchema(outputSchema, `${at}/responses/200/content/application~1json/schema`) : {};
	return {
		post: {
			operationId: name,
			summary: annotations.title ?? name,
			description,
			tags: ['tools'],
			requestBody: { required: true, content: { 'application/json': { schema: body } } },
			responses: {
				200: {
					description: 'The result: data as JSON, or a text or a file of its own type.',
					content: { 'application/json': { schema: result }, 'text/plain': { schema: { type: 'string' } } },
				},
				default: { $ref: '#/components/responses/Failed' },
			},
		},
	};
}

/** Each method is an alternative; where one admits everybody, nothing is needed. */
function requirementsOf(admission: readonly Admission[]): JsonObject[] {
	if (admission.some(({ scheme }) => scheme === null)) return [{}];
	return [...schemesByName(admission).keys()].map((name) => ({ [name]: [] }));
}

const schemesOf = (admission: readonly Admission[]): JsonObject =>
	Object.fromEntries([...schemesByName(admission)].map(([name, scheme]) => [name, schemeOf(scheme)]));

function schemeOf(scheme: SecurityScheme): JsonObject {
	if (scheme.type !== 'oauth2') return { ...scheme };
	const { authorizationCode, clientCredentials, deviceAuthorization } = scheme.flows;
	const about: JsonObject = scheme.description === undefined ? {} : { description: scheme.description };
	// OpenAPI 3.1 knows no device flow, and neither PKCE nor the metadata.
	const { pkceRequired: _pkce, ...code } = authorizationCode ?? {};
	const flows = {
		...(authorizationCode && { authorizationCode: code }),
		...(clientCredentials && { clientCredentials: { ...clientCredentials } }),
	};
	if (Object.keys(flows).length > 0) return { type: 'oauth2', ...about, flows } as JsonObject;
	const how = deviceAuthorization ? 'A token of the device flow.' : 'A token.';
	return { type: 'http', scheme: 'bearer', description: how };
}
