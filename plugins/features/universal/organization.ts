// The organization that a request is for, by the rules of the management API (specification 5.1, rule 5; decisions, 9).

import { GatewayError, type Holder, type Incoming } from '../../../core/features.ts';

const HEADER = 'x-organization-id';

/** Returns the id in X-Organization-Id; null without the header. */
export const organizationNamed = (headers: Incoming['headers']): string | null => headers[HEADER]?.toLowerCase() ?? null;

/**
 * Returns the id of the organization: that of the gateway or agent that a key is for, else the named one, else the only one.
 * @throws no_organization when none is named and there are several, or none; when the named one is none of theirs
 */
export function chooseOrganization({ key, memberships }: Pick<Holder, 'key' | 'memberships'>, named: string | null): string {
	const only = key && key.reach.type !== 'account' ? key.reach.organizationId : null;
	if (only !== null) assertNoOther(only, named);
	const chosen = only ?? named;
	const [first, second] = memberships.keys();
	if (chosen === null && first !== undefined && second === undefined) return first;
	if (chosen === null) throw noOrganization('Send X-Organization-Id: the account belongs to several organizations, or to none.');
	if (!memberships.has(chosen)) throw noOrganization('X-Organization-Id names no organization of this account.');
	return chosen;
}

/** Checks that the header names no other organization than the one that a credential is for. @throws no_organization */
export function assertNoOther(organizationId: string, named: string | null): void {
	if (named !== null && named !== organizationId)
		throw noOrganization('X-Organization-Id names another organization than this credential.');
}

export const noOrganization = (message: string): GatewayError =>
	new GatewayError('no_organization', message, { details: [{ path: `header/${HEADER}`, message }] });
