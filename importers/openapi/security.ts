// Converts security requirements to the credentials of a call: a list of alternatives, each a list of schemes that are used together
// (OpenAPI 3.1.1 §4.8.30).

import {
	type CredentialType,
	cleanText,
	headerNameFault,
	isObject,
	type Json,
	type JsonObject,
	type KeyLocation,
	quote,
	type SchemeNeed,
} from '../../core/index.ts';
import { follow } from './references.ts';

/** Location and name of a parameter or a key in a request, such as `header x-key`; names of headers are in lower case. */
export type WireLocation = `${string} ${string}`;

const MAX_ALTERNATIVES = 8;
/** The most credentials that one alternative may combine. */
const MAX_TOGETHER = 10;
const MAX_KEY_NAME_CHARS = 200;
/** The longest name of a scheme. */
export const MAX_SCHEME_CHARS = 200;
const COOKIE_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const LOCATIONS: readonly KeyLocation[] = ['header', 'query', 'cookie'];

/** The security schemes of a document, which all its operations share. */
export interface Schemes {
	root: JsonObject;
	/** Location of each `apiKey` scheme's key. */
	keyLocations: readonly WireLocation[];
}

export function schemesIn(root: JsonObject): Schemes {
	const keys = Object.keys(schemesOf(root)).map((name) => apiKeyOf(schemeOf(name, root)));
	return { root, keyLocations: keys.flatMap((at) => (at ? [wireLocation(at.in, at.name)] : [])) };
}

/**
 * @returns null when the document has no requirement; `[]` when nothing is to be sent; an empty alternative, the last, when
 * credentials are optional
 */
export function readSecurity(security: Json | undefined, schemes: Schemes, faults: Set<string>): SchemeNeed[][] | null {
	if (!Array.isArray(security)) return null;
	const alternatives = security.flatMap((requirement) => alternativesOf(requirement, schemes, faults));
	// Only unsupported schemes are required. Certificates are no stored credentials; for other schemes, any credential of the API is tried.
	if (alternatives.length === 0 && security.length > 0) return security.every((one) => isCertificate(one, schemes)) ? [] : null;
	const unique = [...new Map(alternatives.map((needs) => [JSON.stringify(needs), needs])).values()];
	// The first satisfied alternative is used, so the empty one, which always is, comes last.
	const ordered = unique.toSorted((a, b) => Number(a.length === 0) - Number(b.length === 0)).slice(0, MAX_ALTERNATIVES);
	for (const needs of ordered) reportSharedLocations(needs, faults);
	return ordered;
}

/** Returns the locations of all keys that an operation may be called with. */
export function keyLocationsOf(security: readonly SchemeNeed[][] | null, { keyLocations }: Schemes): ReadonlySet<WireLocation> {
	if (security === null) return new Set(keyLocations);
	return new Set(security.flat().flatMap((need) => (need.in === undefined ? [] : [wireLocation(need.in, need.name)])));
}

export function wireLocation(location: Json | undefined, name: Json | undefined): WireLocation {
	return `${String(location)} ${location === 'header' ? String(name).toLowerCase() : String(name)}`;
}

function alternativesOf(requirement: Json, schemes: Schemes, faults: Set<string>): SchemeNeed[][] {
	if (!isObject(requirement)) return [];
	if (Object.keys(requirement).length > MAX_TOGETHER) {
		faults.add(`it requires more than ${MAX_TOGETHER} credentials at once, which cannot be sent`);
		return [];
	}
	let alternatives: SchemeNeed[][] = [[]];
	for (const name of Object.keys(requirement)) {
		const needs = needsOf(name, schemes);
		if (needs.length === 0) {
			faults.add(`its security scheme ${quote(name)} ${unsendable(schemeOf(name, schemes.root))}`);
			return [];
		}
		alternatives = alternatives.flatMap((others) => needs.map((need) => [...others, need])).slice(0, MAX_ALTERNATIVES);
	}
	return alternatives;
}

/** Returns the credentials that satisfy the scheme; one of them is enough. */
function needsOf(name: string, { root, keyLocations }: Schemes): SchemeNeed[] {
	const definition = schemeOf(name, root);
	const scheme = cleanText(name, MAX_SCHEME_CHARS);
	const at = apiKeyOf(definition);
	if (at) return [{ scheme, type: 'api_key', ...at, ...(keyLocations.length === 1 && { only: true }) }];
	return typesOf(definition).map((type) => ({ scheme, type }));
}

/** Returns the reason why the scheme cannot be used, as the end of a sentence. */
function unsendable(scheme: JsonObject | null): string {
	if (scheme === null) return 'is not in the document: no credential can be stored for it';
	const { type, scheme: http, in: location, name } = scheme;
	if (type === 'apiKey') return `is a key in ${quote(String(location))} called ${quote(String(name))}, which cannot be sent`;
	const kind = type === 'http' ? `http ${String(http)}` : String(type);
	return `is of the type ${quote(kind)}, which cannot be sent`;
}

function isCertificate(requirement: Json, { root }: Schemes): boolean {
	return isObject(requirement) && Object.keys(requirement).every((name) => schemeOf(name, root)?.['type'] === 'mutualTLS');
}

const AUTHORIZATION = wireLocation('header', 'authorization');

/** Reports credentials that share a location, since only the last of them is sent. */
function reportSharedLocations(needs: readonly SchemeNeed[], faults: Set<string>): void {
	const taken = new Map<WireLocation, string>();
	for (const { scheme, in: location, name } of needs) {
		const at = location === undefined ? AUTHORIZATION : wireLocation(location, name);
		const other = taken.get(at);
		if (other !== undefined)
			faults.add(`its security schemes ${quote(other)} and ${quote(scheme)} share one location, where only the last is sent: ${quote(at)}`);
		taken.set(at, scheme);
	}
}

/** @returns null for schemes of other types, and for keys that cannot be sent */
export function apiKeyOf(scheme: JsonObject | null): { in: KeyLocation; name: string } | null {
	if (scheme?.['type'] !== 'apiKey') return null;
	const { in: given, name } = scheme;
	const location = LOCATIONS.find((one) => one === given);
	if (!location || typeof name !== 'string' || name === '' || name.length > MAX_KEY_NAME_CHARS) return null;
	const isSendable = location === 'header' ? headerNameFault(name) === null : location === 'query' || COOKIE_NAME.test(name);
	return isSendable ? { in: location, name } : null;
}

export function typesOf(scheme: JsonObject | null): CredentialType[] {
	const type = scheme?.['type'];
	const http = String(scheme?.['scheme']).toLowerCase();
	if (type === 'apiKey') return apiKeyOf(scheme) ? ['api_key'] : [];
	// A token that a user obtained by other means works as well as one that we request.
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
