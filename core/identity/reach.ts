// The reach of a credential in a whole organization: the caller that its holder is there, and the gateways that they may use.

import type { Caller } from '../contract/nouns.ts';
import { callerAt, type Member } from './members.ts';

/** A caller, and the ids of the gateways of one organization that the credential reaches. */
export interface Reach {
	organizationId: string;
	caller: Caller;
	gateways: 'all' | readonly string[];
}

/** Returns the reach of a member, as their role and their key allow now; null for somebody who is no member of the organization. */
export function reachIn(member: Member, organizationId: string): Reach | null {
	const only = member.key && member.key.reach.type !== 'account' ? member.key.reach : null;
	if (only && only.organizationId !== organizationId) return null;
	const caller = callerAt(member, { organizationId, id: only?.id ?? '' });
	return caller && { organizationId, caller, gateways: only ? [only.id] : 'all' };
}
