// The organization whose records hold a code or token. At a gateway it is the gateway's. At an address over all organizations the secret
// ends with it, since nothing else of the request names it.

import type { Call, Context } from '../../../core/index.ts';

/** A secret without the name of its place, and the call in whose records it is. */
export interface Placed {
	context: Context;
	/** Null at a gateway. */
	organizationId: string | null;
	secret: string;
}

/** A character of Bearer tokens (RFC 6750 §2.1) that no secret of ours has, and the 16 bytes of an id. */
const NAMED = /^([\w.-]+)~([\w-]{22})$/;

/** Names the organization in a secret; null leaves it as it is. */
export const named = (secret: string, organizationId: string | null): string =>
	organizationId === null ? secret : `${secret}~${Buffer.from(organizationId.replaceAll('-', ''), 'hex').toString('base64url')}`;

/** Finds the place of a secret; null when it names no organization where one is needed. */
export async function placeOf(secret: string, context: Call | Context): Promise<Placed | null> {
	if (!context.organizations) return { context, organizationId: null, secret };
	const [, own = '', bytes] = NAMED.exec(secret) ?? [];
	if (bytes === undefined) return null;
	const hex = Buffer.from(bytes, 'base64url').toString('hex');
	const organizationId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
	const there = await context.organizations.at(organizationId);
	return there && { context: there, organizationId, secret: own };
}
