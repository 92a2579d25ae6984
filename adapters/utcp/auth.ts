// How a client logs in, as the `auth` of a call template: without any secret, which are variables of the client.

import type { Admission, JsonObject, SecurityScheme } from '../../core/index.ts';

/** A variable of the client's own. */
const variable = (name: string): string => `\${${name}}`;

/** Clients replace whatever looks like a variable, also in the name of a header. */
const isLiteral = (text: string): boolean => !text.includes('$');

/** Returns the `auth` of the first method that UTCP can express; null where none is needed, or none can be expressed. */
export function authOf(admission: readonly Admission[]): JsonObject | null {
	if (admission.some(({ scheme }) => scheme === null)) return null;
	const told = admission.flatMap(({ scheme }) => (scheme ? [expressed(scheme)] : [])).filter((auth) => auth !== null);
	// Clients in TypeScript ignore keys in cookies.
	return told.find(({ location }) => location !== 'cookie') ?? told[0] ?? null;
}

const bearer = (): JsonObject => ({
	...{ auth_type: 'api_key', api_key: `Bearer ${variable('TOKEN')}`, var_name: 'Authorization', location: 'header' },
});

function expressed(scheme: SecurityScheme): JsonObject | null {
	switch (scheme.type) {
		case 'apiKey':
			if (!isLiteral(scheme.name)) return null;
			return { auth_type: 'api_key', api_key: variable('API_KEY'), var_name: scheme.name, location: scheme.in };
		case 'http':
			return ofHttp(scheme.scheme.toLowerCase());
		case 'oauth2':
			return ofFlows(scheme.flows);
		case 'openIdConnect':
			return bearer();
		default:
			return null;
	}
}

function ofHttp(scheme: string): JsonObject | null {
	if (scheme === 'basic') return { auth_type: 'basic', username: variable('USERNAME'), password: variable('PASSWORD') };
	return scheme === 'bearer' ? bearer() : null;
}

/** A client gets a token for itself only by the client credentials grant; a token of a user is given to it. */
function ofFlows({ clientCredentials: own }: Extract<SecurityScheme, { type: 'oauth2' }>['flows']): JsonObject {
	if (!own || !isLiteral(own.tokenUrl)) return bearer();
	const client = { client_id: variable('CLIENT_ID'), client_secret: variable('CLIENT_SECRET') };
	return { auth_type: 'oauth2', token_url: own.tokenUrl, ...client, scope: Object.keys(own.scopes).filter(isLiteral).join(' ') };
}
