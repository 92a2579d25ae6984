// Whether a place keeps the secret that somebody sent: a stranger who makes one up can have nothing written there.

import { isCode } from './codes.ts';
import { findAccess, findRefresh } from './grants.ts';
import type { Placed } from './places.ts';

/** Tells whether the place keeps the code or token, used or not. The form of a token tells it from a code, so this reads one record. */
export async function isKept({ context, secret }: Placed): Promise<boolean> {
	if (await findRefresh(secret, context)) return true;
	return (await findAccess(secret, context)) !== null || isCode(secret, context);
}
