// The hash chain of an audit log: the hash of each link covers its entry and the link before it, so an entry that was changed, removed or put in
// between is found.

import { createHash } from 'node:crypto';
import type { Json } from '../contract/nouns.ts';
import type { AuditRow } from './accounts.ts';

/** The end of a chain, or a place in it. */
export interface AuditHead {
	/** The number of the link, from 1. */
	position: number;
	/** SHA-256, in hexadecimal. */
	hash: string;
}

/** The state of the chain of an organization. */
export interface AuditProof {
	organizationId: string;
	slug: string;
	/** The number of links that were found right. */
	links: number;
	/** The last of them; null without any. */
	head: AuditHead | null;
	/** The number of entries that have no link yet. */
	unchained: number;
	/** The first link that is not as it must be, and what is wrong with it; null when all are right. */
	broken: string | null;
}

export interface AuditChain {
	/** Links the entries that have no link yet; does nothing while another replica does it. @returns their number */
	extend(): Promise<number>;
	/** Returns the last link; null without any. */
	head(organizationId: string): Promise<AuditHead | null>;
}

/** The hash before the first link: 32 bytes of zero. */
const BEGINNING = '0'.repeat(64);

type ChainedEntry = Omit<AuditRow, 'link'>;

/**
 * Returns the hash of a link, in hexadecimal: SHA-256 over the 32 bytes of the hash before it, then over a JSON array in UTF-8 of the
 * organization's id, the position, and the entry's `id`, `at`, the five fields of its actor, `requestId`, `action`, `resourceType`, `resourceId`,
 * `resourceName` and `changes`, without spaces, the members of objects by name.
 */
export function linkHash(before: string | null, organizationId: string, position: number, entry: ChainedEntry): string {
	const { id, at, actor, action, resourceType, resourceId, resourceName, changes } = entry;
	const { userId = null, email = null, accessKeyId = null, address = null, userAgent = null, requestId = null } = actor ?? {};
	const who = [userId, email, accessKeyId, address, userAgent, requestId];
	const text = canonical([organizationId, position, id, at.toISOString(), ...who, action, resourceType, resourceId, resourceName, changes]);
	return createHash('sha256')
		.update(Buffer.from(before ?? BEGINNING, 'hex'))
		.update(text)
		.digest('hex');
}

function canonical(value: Json): string {
	if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
	if (value === null || typeof value !== 'object') return JSON.stringify(value);
	const members = Object.keys(value)
		.sort()
		.map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`);
	return `{${members.join()}}`;
}
