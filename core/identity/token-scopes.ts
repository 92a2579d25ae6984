// The scopes of ours that a token of another issuer, or of the operator, opens.

import type { Scope } from '../contract/nouns.ts';
import { scopeNames } from '../secrets/tokens.ts';
import { GATEWAY_SCOPES } from './members.ts';

/** Returns those scopes of ours that are among the names; all, if none is, since such an issuer does not know ours. */
export function openedScopes(names: readonly string[]): readonly Scope[] {
	const ours = GATEWAY_SCOPES.filter((scope) => names.includes(scope));
	return ours.length > 0 ? ours : GATEWAY_SCOPES;
}

/** The same for the claims of a token. */
export const claimedScopes = (claims: Readonly<Record<string, unknown>>): readonly Scope[] => openedScopes(scopeNames(claims));
