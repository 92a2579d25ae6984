// Chooses the organization that a request of the management API is for (decisions, 9).

import type { Request } from '@hapi/hapi';
import { GatewayError, notFound } from '../contract/errors.ts';
import type { Member, Membership } from '../identity/members.ts';

const HEADER = 'x-organization-id';

/**
 * Chooses a membership. The path takes precedence over the header; an organization that the caller does not belong to counts as missing.
 */
export function choose(request: Request, memberships: Member['memberships']): Membership | null {
	const { need, organization: source = 'context' } = request.route.settings.plugins?.gatehouse ?? {};
	if (need === 'self' || need === 'account' || need === 'login') return null;
	const given = source === 'path' ? String(request.params['orgId']) : request.raw.req.headers[HEADER]?.toString();
	const named = given?.toLowerCase();
	const [only, another] = memberships.values();
	if (named === undefined && only && !another) return only;
	const membership = named === undefined ? undefined : memberships.get(named);
	if (membership) return membership;
	if (source === 'path') throw notFound('Organization');
	throw noOrganization(
		named === undefined
			? 'Send X-Organization-Id: the account belongs to several organizations, or to none.'
			: 'X-Organization-Id names no organization of this account.',
	);
}

/** Checks the header of a gateway's key, which has only one organization. @throws no_organization */
export function assertNamed(request: Request, organizationId: string | undefined): void {
	const named = request.raw.req.headers[HEADER]?.toString().toLowerCase();
	if (named !== undefined && named !== organizationId) throw noOrganization('X-Organization-Id names another organization than this key.');
}

const noOrganization = (message: string): GatewayError =>
	new GatewayError('no_organization', message, { details: [{ path: `header/${HEADER}`, message }] });
