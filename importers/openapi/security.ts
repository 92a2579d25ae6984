// Security requirements as types of stored credential: a list of alternatives, each a list of what goes together
// (OpenAPI 3.1.1 §4.8.30).

import { type Json, type JsonObject, quote } from '../../core/index.ts';
import { isObject } from './document.ts';
import { follow } from './references.ts';

export type CredentialType = 'api_key' | 'bearer_token' | 'basic_auth' | 'oauth2';

/** A place where a credential travels: `header` names in lower case. */
export type CredentialPlace = `${string} ${string}`;

const MAX_ALTERNATIVES = 8;

/**
 * @returns null when the document says nothing; `[]` when nothing is to be sent; an empty alternative, the last, when
 * credentials are optional
 */
export function readSecurity(security: Json | undefined, root: JsonObject, faults: Set<string>): CredentialType[][] | null {
	if (!Array.isArray(security)) return null;
	const alternatives = security.flatMap((requirement) => alternativesOf(requirement, root, faults));
	// Something was asked for that cannot be stored: whatever the API has is worth a try.
	if (alternatives.length === 0 && security.length > 0) return null;
	const unique = [...new Map(alternatives.map((types) => [types.join(), types])).values()];
	// The first alternative that is satisfied is taken, and the empty one always is.
	return unique.toSorted((a, b) => Number(a.length === 0) - Number(b.length === 0)).slice(0, MAX_ALTERNATIVES);
}

/** Where the document's API keys travel: what stands there is no argument of a tool. */
export function credentialPlaces(root: JsonObject): Set<CredentialPlace> {
	const schemes = Object.keys(schemesOf(root)).map((name) => schemeOf(name, root));
	return new Set(schemes.flatMap((scheme) => (scheme?.['type'] === 'apiKey' ? [place(scheme['in'], scheme['name'])] : [])));
}

export function place(location: Json | undefined, name: Json | undefined): CredentialPlace {
	return `${String(location)} ${location === 'header' ? String(name).toLowerCase() : String(name)}`;
}

function alternativesOf(requirement: Json, root: JsonObject, faults: Set<string>): CredentialType[][] {
	if (!isObject(requirement)) return [];
	let alternatives: CredentialType[][] = [[]];
	const asked = new Set<string>();
	for (const name of Object.keys(requirement)) {
		const types = typesOf(schemeOf(name, root));
		const [first] = types;
		if (!first) {
			faults.add(`the security scheme ${quote(name)} is not one that a credential can be stored for`);
			return [];
		}
		if (asked.has(first)) faults.add(`it asks for two credentials of type ${first}, of which an API stores one`);
		asked.add(first);
		alternatives = alternatives.flatMap((types_) => types.map((type) => [...new Set([...types_, type])])).slice(0, MAX_ALTERNATIVES);
	}
	return alternatives;
}

export function typesOf(scheme: JsonObject | null): CredentialType[] {
	const type = scheme?.['type'];
	const http = String(scheme?.['scheme']).toLowerCase();
	if (type === 'apiKey') return ['api_key'];
	// A token that somebody obtained by hand serves as well as one that we ask for.
	if (type === 'oauth2' || type === 'openIdConnect') return ['oauth2', 'bearer_token'];
	if (type === 'http' && http === 'basic') return ['basic_auth'];
	return type === 'http' && http === 'bearer' ? ['bearer_token'] : [];
}

export function schemesOf(root: JsonObject): JsonObject {
	const components = root['components'];
	const schemes = isObject(components) ? components['securitySchemes'] : undefined;
	return isObject(schemes) ? schemes : {};
}

export function schemeOf(name: string, root: JsonObject): JsonObject | null {
	const schemes = schemesOf(root);
	if (!Object.hasOwn(schemes, name)) return null;
	const found = follow(root, schemes[name]);
	return 'fault' in found ? null : found.object;
}
