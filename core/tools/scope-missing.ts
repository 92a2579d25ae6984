// Refuses callers whose credential lacks a scope.

import { GatewayError } from '../contract/errors.ts';
import type { Scope } from '../contract/nouns.ts';
import type { CallParts } from './call-parts.ts';

/** Builds the error with the challenge of the method that authenticated the caller, which knows where to get another scope. */
export function scopeMissing(scope: Scope, { caller, challenge: challengeOf }: Pick<CallParts, 'caller' | 'challenge'>): GatewayError {
	const challenge = caller && challengeOf?.(caller, scope);
	return new GatewayError('insufficient_scope', `The credential lacks the scope ${scope}.`, {
		headers: challenge ? { 'www-authenticate': challenge } : {},
	});
}
