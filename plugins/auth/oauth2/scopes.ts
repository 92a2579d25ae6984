// What an access token may be good for.

import type { Scope } from '../../../core/index.ts';
import { OAuthFault } from './faults.ts';

export const SCOPES: readonly Scope[] = ['tools:read', 'tools:execute', 'gateway:read'];
/** For who asks for nothing in particular. */
export const USUAL: readonly Scope[] = ['tools:read', 'tools:execute'];

/** What each lets a program do, for the page that asks. */
export const MEANINGS: Readonly<Record<Scope, string>> = {
	'tools:read': 'See which tools this gateway has',
	'tools:execute': 'Use these tools in your name',
	'gateway:read': 'See how this gateway is set up',
};

const isScope = (name: string): name is Scope => (SCOPES as readonly string[]).includes(name);

/** @param text of a request; null: the usual. @throws invalid_scope for one that there is not */
export function readScopes(text: string | null, usual: readonly Scope[] = USUAL): Scope[] {
	if (text === null) return [...usual];
	const names = [...new Set(text.split(' ').filter(Boolean))];
	if (names.length === 0 || !names.every(isScope)) throw new OAuthFault('invalid_scope', `scope must be some of: ${SCOPES.join(' ')}`);
	return names;
}

export const isWithin = (scopes: readonly Scope[], granted: readonly Scope[]): boolean => scopes.every((scope) => granted.includes(scope));
