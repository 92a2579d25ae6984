// The methods by which a gateway admits callers, as the security schemes of its card.

import { type Admission, isObject, type JsonObject, type SecurityScheme, schemesByName } from '../../../core/index.ts';

export interface Security {
	securitySchemes: JsonObject;
	securityRequirements: JsonObject[];
	/** Whether somebody is admitted without a credential. */
	isOpen: boolean;
}

/** Each method is an alternative. Where one admits everybody, nothing is required. A method that does not tell is left out. */
export function securityOf(admission: readonly Admission[]): Security {
	const isOpen = admission.some(({ scheme }) => scheme === null);
	const told = [...schemesByName(admission)];
	return {
		isOpen,
		securitySchemes: Object.fromEntries(told.map(([name, scheme]) => [name, modern(scheme)])),
		securityRequirements: isOpen ? [] : told.map(([name]) => ({ schemes: { [name]: { list: [] } } })),
	};
}

/** A scheme in the form of 1.0: one member, named by its type. */
function modern(scheme: SecurityScheme): JsonObject {
	const about: JsonObject = scheme.description === undefined ? {} : { description: scheme.description };
	switch (scheme.type) {
		case 'apiKey':
			return { apiKeySecurityScheme: { ...about, location: scheme.in, name: scheme.name } };
		case 'http':
			return {
				httpAuthSecurityScheme: { ...about, scheme: scheme.scheme, ...(scheme.bearerFormat && { bearerFormat: scheme.bearerFormat }) },
			};
		case 'oauth2':
			return {
				oauth2SecurityScheme: {
					...about,
					flows: flowsOf(scheme.flows),
					...(scheme.metadataUrl && { oauth2MetadataUrl: scheme.metadataUrl }),
				},
			};
		case 'openIdConnect':
			return { openIdConnectSecurityScheme: { ...about, openIdConnectUrl: scheme.openIdConnectUrl } };
		default:
			return { mtlsSecurityScheme: about };
	}
}

type Flows = Extract<SecurityScheme, { type: 'oauth2' }>['flows'];

/** A card of 1.0 has one flow of a scheme. */
function flowsOf({ authorizationCode, clientCredentials, deviceAuthorization }: Flows): JsonObject {
	if (authorizationCode) {
		const { pkceRequired, ...rest } = authorizationCode;
		return { authorizationCode: { ...rest, ...(pkceRequired && { pkceRequired }) } };
	}
	return clientCredentials ? { clientCredentials: { ...clientCredentials } } : { deviceCode: { ...deviceAuthorization } };
}

/** Returns the schemes as clients of both versions read them: each has the members of 0.3, and that of 1.0. */
export const hybridSchemes = (schemes: JsonObject): JsonObject =>
	Object.fromEntries(Object.entries(schemes).map(([name, scheme]) => [name, isObject(scheme) ? { ...legacy(scheme), ...scheme } : scheme]));

/** The types of 0.3 by the members of 1.0. */
const TYPES: Readonly<Record<string, string>> = {
	apiKeySecurityScheme: 'apiKey',
	httpAuthSecurityScheme: 'http',
	oauth2SecurityScheme: 'oauth2',
	openIdConnectSecurityScheme: 'openIdConnect',
	mtlsSecurityScheme: 'mutualTLS',
};

function legacy(scheme: JsonObject): JsonObject {
	const [[member, content] = ['', null]] = Object.entries(scheme);
	const { location, ...rest } = isObject(content) ? content : {};
	return { type: TYPES[member] ?? member, ...rest, ...(location !== undefined && { in: location, location }) };
}
