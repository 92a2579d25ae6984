// Security requirements as the credentials that a call is signed with: a list of alternatives, each a list of schemes that go together
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

/** A place where a parameter or a key travels: `header` names in lower case. */
export type Place = `${string} ${string}`;

const MAX_ALTERNATIVES = 8;
/** Of credentials that go together. */
const MAX_TOGETHER = 10;
const MAX_KEY_NAME_CHARS = 200;
/** Of a scheme's name. */
export const MAX_SCHEME_CHARS = 200;
const COOKIE_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const LOCATIONS: readonly KeyLocation[] = ['header', 'query', 'cookie'];

/** What all operations of a document share of its schemes. */
export interface Schemes {
	root: JsonObject;
	/** Where the document's keys travel, one for each scheme. */
	keyPlaces: readonly Place[];
}

export function schemesIn(root: JsonObject): Schemes {
	const places = Object.keys(schemesOf(root)).map((name) => keyPlace(schemeOf(name, root)));
	return { root, keyPlaces: places.flatMap((at) => (at ? [place(at.in, at.name)] : [])) };
}

/**
 * @returns null when the document says nothing; `[]` when nothing is to be sent; an empty alternative, the last, when
 * credentials are optional
 */
export function readSecurity(security: Json | undefined, schemes: Schemes, faults: Set<string>): SchemeNeed[][] | null {
	if (!Array.isArray(security)) return null;
	const alternatives = security.flatMap((requirement) => alternativesOf(requirement, schemes, faults));
	// Something was asked for that cannot be stored. A certificate is no credential; for anything else whatever the API has is worth a try.
	if (alternatives.length === 0 && security.length > 0) return security.every((one) => isCertificate(one, schemes)) ? [] : null;
	const unique = [...new Map(alternatives.map((needs) => [JSON.stringify(needs), needs])).values()];
	// The first alternative that is satisfied is taken, and the empty one always is.
	const ordered = unique.toSorted((a, b) => Number(a.length === 0) - Number(b.length === 0)).slice(0, MAX_ALTERNATIVES);
	for (const needs of ordered) tellOfSharedPlaces(needs, faults);
	return ordered;
}

/** Where keys may go that an operation is called with. */
export function placesOf(security: readonly SchemeNeed[][] | null, { keyPlaces }: Schemes): ReadonlySet<Place> {
	if (security === null) return new Set(keyPlaces);
	return new Set(security.flat().flatMap((need) => (need.in === undefined ? [] : [place(need.in, need.name)])));
}

export function place(location: Json | undefined, name: Json | undefined): Place {
	return `${String(location)} ${location === 'header' ? String(name).toLowerCase() : String(name)}`;
}

function alternativesOf(requirement: Json, schemes: Schemes, faults: Set<string>): SchemeNeed[][] {
	if (!isObject(requirement)) return [];
	if (Object.keys(requirement).length > MAX_TOGETHER) {
		faults.add(`it asks for more than ${MAX_TOGETHER} credentials at once, which cannot be sent`);
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

/** The credentials of which one will do for the scheme. */
function needsOf(name: string, { root, keyPlaces }: Schemes): SchemeNeed[] {
	const definition = schemeOf(name, root);
	const scheme = cleanText(name, MAX_SCHEME_CHARS);
	const at = keyPlace(definition);
	if (at) return [{ scheme, type: 'api_key', ...at, ...(keyPlaces.length === 1 && { only: true }) }];
	return typesOf(definition).map((type) => ({ scheme, type }));
}

/** Why it is none that is sent, as the end of a sentence. */
function unsendable(scheme: JsonObject | null): string {
	if (scheme === null) return 'is not in the document: no credential can be stored for it';
	const { type, scheme: http, in: location, name } = scheme;
	if (type === 'apiKey') return `is a key in ${quote(String(location))} called ${quote(String(name))}, where none can be sent`;
	const kind = type === 'http' ? `http ${String(http)}` : String(type);
	return `is of the type ${quote(kind)}, which cannot be sent`;
}

function isCertificate(requirement: Json, { root }: Schemes): boolean {
	return isObject(requirement) && Object.keys(requirement).every((name) => schemeOf(name, root)?.['type'] === 'mutualTLS');
}

const AUTHORIZATION = place('header', 'authorization');

/** Of two credentials in one place only the last is sent. */
function tellOfSharedPlaces(needs: readonly SchemeNeed[], faults: Set<string>): void {
	const taken = new Map<Place, string>();
	for (const { scheme, in: location, name } of needs) {
		const at = location === undefined ? AUTHORIZATION : place(location, name);
		const other = taken.get(at);
		if (other !== undefined)
			faults.add(
				`its security schemes ${quote(other)} and ${quote(scheme)} go together to one place, where only the last is sent: ${quote(at)}`,
			);
		taken.set(at, scheme);
	}
}

/** Null for other schemes, and where no key can be sent. */
export function keyPlace(scheme: JsonObject | null): { in: KeyLocation; name: string } | null {
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
	if (type === 'apiKey') return keyPlace(scheme) ? ['api_key'] : [];
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
