// The place of a secret that somebody sent, if it keeps that secret: a stranger who makes one up can have nothing written there.

import type { Call } from '../../../core/index.ts';
import { isCode } from './codes.ts';
import { findAccess, findRefresh } from './grants.ts';
import { type Placed, placeOf } from './places.ts';

/** Returns the place of a code or token; null at an address over all organizations where the named one keeps no such secret. */
export async function keptAt(sent: string, call: Call): Promise<Placed | null> {
	const place = await placeOf(sent, call);
	if (!place || place.organizationId === null) return place;
	const { context, secret } = place;
	const isKept = (await isCode(secret, context)) || (await findRefresh(secret, context)) || (await findAccess(secret, context));
	return isKept ? place : null;
}
