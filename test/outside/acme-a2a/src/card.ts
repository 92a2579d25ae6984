// The card of the agent: its skills, and how a client authenticates.

import type { Call, Incoming, JsonObject, Reply, SecurityScheme } from 'gatehouse';
import type { Config } from './index.ts';

export async function card({ base }: Incoming, { name }: Config, call: Call): Promise<Reply> {
	const schemes = call.admission().flatMap(({ method, scheme }) => (scheme ? [[method, schemeOf(scheme)] as const] : []));
	const modes = { defaultInputModes: ['application/json', 'text/plain'], defaultOutputModes: ['application/json', 'text/plain'] };
	return {
		status: 200,
		headers: { 'cache-control': 'public, max-age=60' },
		body: {
			...{ name, description: call.gateway?.description ?? `The tools of ${name}.`, version: '1.0.0', ...modes },
			supportedInterfaces: [{ url: base, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
			capabilities: { streaming: true, pushNotifications: true },
			securitySchemes: Object.fromEntries(schemes),
			securityRequirements: schemes.map(([method]) => ({ schemes: { [method]: { list: [] } } })),
			skills: (await call.published()).map((tool) => ({ id: tool.name, name: tool.name, description: tool.description, tags: ['tool'] })),
		},
	};
}

function schemeOf(scheme: SecurityScheme): JsonObject {
	const about = scheme.description === undefined ? {} : { description: scheme.description };
	switch (scheme.type) {
		case 'apiKey':
			return { apiKeySecurityScheme: { ...about, location: scheme.in, name: scheme.name } };
		case 'http':
			return {
				httpAuthSecurityScheme: { ...about, scheme: scheme.scheme, ...(scheme.bearerFormat && { bearerFormat: scheme.bearerFormat }) },
			};
		case 'openIdConnect':
			return { openIdConnectSecurityScheme: { ...about, openIdConnectUrl: scheme.openIdConnectUrl } };
		case 'mutualTLS':
			return { mtlsSecurityScheme: about };
		case 'oauth2': {
			// A2A has a place for one flow.
			const { authorizationCode, clientCredentials, deviceAuthorization } = scheme.flows;
			const flow = authorizationCode
				? { authorizationCode }
				: clientCredentials
					? { clientCredentials }
					: { deviceCode: deviceAuthorization };
			const metadata = scheme.metadataUrl === undefined ? {} : { oauth2MetadataUrl: scheme.metadataUrl };
			return { oauth2SecurityScheme: { ...about, ...metadata, flows: flow as unknown as JsonObject } };
		}
	}
}
