// Reads what a user would have to look up to store credentials: names of keys, token URLs and scopes (OpenAPI 3.2.0 §4.27 to
// §4.29).

import { type CredentialPreset, cleanText, isObject, type Json, type JsonObject } from '../../core/index.ts';
import { apiKeyOf, MAX_SCHEME_CHARS, schemeOf, schemesOf, typesOf } from './security.ts';
import { absoluteUrl } from './servers.ts';

const MAX_PRESETS = 50;
const MAX_SCOPES = 100;
const MAX_CHARS = 200;
/** Flows that need no user come first; `implicit` has no token URL. */
const FLOWS = ['clientCredentials', 'authorizationCode', 'deviceAuthorization', 'password'];

/** @param url from which the document was fetched; token URLs may be relative to it */
export function readPresets(root: JsonObject, url: string | null): CredentialPreset[] {
	const presets = Object.keys(schemesOf(root)).flatMap((name): CredentialPreset[] => {
		const scheme = schemeOf(name, root);
		const [type] = typesOf(scheme);
		if (!scheme || !type) return [];
		const credentials = type === 'api_key' ? { ...apiKeyOf(scheme) } : type === 'oauth2' ? tokenEndpointOf(scheme, url) : {};
		return [{ scheme: cleanText(name, MAX_SCHEME_CHARS), type, credentials }];
	});
	return presets.slice(0, MAX_PRESETS);
}

/** Returns an empty object where the document has no token URL, as for OpenID Connect. */
function tokenEndpointOf({ flows }: JsonObject, url: string | null): JsonObject {
	for (const name of FLOWS) {
		const flow: Json | undefined = isObject(flows) ? flows[name] : undefined;
		const tokenUrl = isObject(flow) && typeof flow['tokenUrl'] === 'string' ? absoluteUrl(flow['tokenUrl'], url) : null;
		if (!isObject(flow) || tokenUrl === null) continue;
		const scopes = isObject(flow['scopes']) ? Object.keys(flow['scopes']) : [];
		return { tokenUrl, scopes: scopes.slice(0, MAX_SCOPES).map((scope) => cleanText(scope, MAX_CHARS)) };
	}
	return {};
}
