// The scopes of access tokens.

import type { Scope } from '../../../core/index.ts';
import { OAuthFault } from './faults.ts';

export const SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];
/** The scopes for clients that ask for none, or for none that exists. */
export const USUAL: readonly Scope[] = ['tools:read', 'tools:execute'];

/** The meaning of each scope, as the consent page shows it. */
export const MEANINGS: Readonly<Record<Scope, string>> = {
	'tools:read': 'See which tools the gateway has',
	'tools:execute': 'Use the gateway’s tools in your name',
	'gateway:read': 'See how the gateway is set up',
};

/** The same at an address over all gateways of an organization. */
export const MEANINGS_EVERYWHERE: typeof MEANINGS = {
	'tools:read': 'See which tools the organization’s gateways have',
	'tools:execute': 'Use all these tools in your name, as far as your role allows',
	'gateway:read': 'See how the gateways are set up',
};

const isScope = (name: string): name is Scope => (SCOPES as readonly string[]).includes(name);

/** A scope token by RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Splits a list of scopes. @throws invalid_scope for a text that holds no name, or an invalid one */
function namesOf(text: string): string[] {
	const names = [...new Set(text.split(' ').filter(Boolean))];
	if (names.length === 0 || !names.every((name) => SCOPE_TOKEN.test(name))) {
		throw new OAuthFault('invalid_scope', `scope must be some of: ${SCOPES.join(' ')}`);
	}
	return names;
}

/**
 * Returns the scopes that a client asks its user for, without unknown ones: claude.ai asks for `claudeai`, others for scopes of OpenID. RFC
 * 6749 §3.3: a server "MAY fully or partially ignore the scope requested by the client"; if it issues another one, it "MUST include the
 * "scope" response parameter". @param text null: the usual scopes. @throws invalid_scope
 */
export function askedScopes(text: string | null): Scope[] {
	const known = text === null ? [] : namesOf(text).filter(isScope);
	return known.length > 0 ? known : [...USUAL];
}

/** Returns the scopes of a refreshed token. RFC 6749 §6: "MUST NOT include any scope not originally granted". @throws invalid_scope */
export function refreshedScopes(text: string | null, granted: readonly Scope[]): Scope[] {
	if (text === null) return [...granted];
	const names = namesOf(text);
	const scopes = names.filter(isScope);
	if (scopes.length !== names.length || !isWithin(scopes, granted)) {
		throw new OAuthFault('invalid_scope', `scope must not ask for more than was granted: ${granted.join(' ')}`);
	}
	return scopes;
}

export const isWithin = (scopes: readonly Scope[], granted: readonly Scope[]): boolean => scopes.every((scope) => granted.includes(scope));
