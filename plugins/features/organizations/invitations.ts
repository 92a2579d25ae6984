// Invitations by e-mail: a link for one person, valid once and for seven days. The answer shows it to the inviter, so that it works without mail.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	actorOf,
	body,
	type Core,
	GatewayError,
	hashKey,
	isBareAddress,
	isSameAddress,
	listQuery,
	mintKey,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	permissionsOf,
	permissionToGrant,
	type Role,
	requirePermission,
	storeOf,
	userIdOf,
} from '../../../core/features.ts';
import { invitationMail, invitationUrl } from './invitation-mail.ts';
import { INVITATION, MEMBERSHIP, NEW_INVITATION, presentInvitation, presentMembership, role } from './present.ts';

const TOKEN_PREFIX = 'svc_inv_';
const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;

/** The address has to be valid in a mail's header, so that no invitation is created that cannot be sent. */
const email = Joi.string()
	.email({ tlds: false })
	.max(254)
	.custom((value: string, helpers) => (isBareAddress(value) ? value : helpers.error('string.email')));

const INVITE = body({
	email: email.required().description('Address of the invited person.'),
	role: role.default('member').description('The role that the invitation grants.'),
}).example({ email: 'grace@example.com', role: 'member' });

const ACCEPT = body({
	token: Joi.string().max(200).required().description('The token in the invitation’s link.'),
}).example({ token: 'svc_inv_5Vd0c2FtcGxlLXRva2VuLW9mLWFuLWludml0YXRpb24' });

export const invitationRoutes = (core: Core): ServerRoute[] => [
	listInvitations(core),
	inviteMember(core),
	revokeInvitation(core),
	acceptInvitation(core),
];

const listInvitations = ({ store }: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/organizations/{orgId}/invitations',
		id: 'listInvitations',
		summary: 'Lists the invitations that can still be accepted.',
		need: 'members:read',
		query: listQuery(),
		answer: page('invitations', INVITATION),
		handler: async (request) => {
			const { items, nextCursor } = await store.organizations.invitations(organizationOf(request).id, pageOf(request));
			return { invitations: items.map(presentInvitation), nextCursor };
		},
	});

const inviteMember = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/organizations/{orgId}/invitations',
		id: 'inviteMember',
		summary: 'Invites a person to an organization by mail, and returns the link.',
		description:
			'The invitation is valid for seven days, and replaces a pending one for the same address. The caller needs every permission of the role.',
		need: 'members:write',
		body: INVITE,
		answer: NEW_INVITATION,
		status: 201,
		errors: ['conflict'],
		handler: (request) => invite(request, core),
	});

const revokeInvitation = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/organizations/{orgId}/invitations/{invitationId}',
		id: 'revokeInvitation',
		summary: 'Revokes an invitation.',
		need: 'members:write',
		answer: INVITATION,
		handler: async (request) => {
			const { organizations } = storeOf(request, core);
			const revoked = await organizations.revokeInvitation(organizationOf(request).id, String(request.params['invitationId']));
			if (!revoked) throw notFound('Invitation');
			return presentInvitation(revoked);
		},
	});

const acceptInvitation = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/invitations/accept',
		id: 'acceptInvitation',
		summary: 'Accepts an invitation with an account of the invited address.',
		// The need is `account` and not `login`: a key without restrictions counts as its account, and the token is required as well.
		need: 'account',
		body: ACCEPT,
		answer: MEMBERSHIP,
		errors: ['not_found', 'conflict'],
		handler: (request) => accept(request, core),
	});

async function invite(request: Request, core: Core) {
	// The body has passed INVITE.
	const given = request.payload as { email: string; role: Role };
	requirePermission(request, permissionToGrant(given.role), ...core.permissions.of(given.role));
	const { accounts, organizations } = core.store;
	const [inviter, organization] = await Promise.all([accounts.byId(userIdOf(request)), organizations.get(organizationOf(request).id)]);
	if (!inviter) throw notFound('User');
	if (!organization) throw notFound('Organization');
	const token = mintKey(TOKEN_PREFIX);
	const made = await storeOf(request, core).organizations.invite(organization.id, {
		...given,
		invitedBy: inviter.id,
		expiresAt: new Date(Date.now() + LIFETIME_MS),
		hash: hashKey(token),
	});
	const mail = invitationMail({ ...given, email: made.email, inviter, organization, token }, core.config);
	const mailed = (await core.limits.mayMail(inviter.id)) && core.mail.send(mail, organization.id);
	return { ...presentInvitation(made), token, url: invitationUrl(core.config, token), mailed };
}

async function accept(request: Request, core: Core) {
	// The body has passed ACCEPT.
	const hash = hashKey((request.payload as { token: string }).token);
	const found = await core.store.organizations.invitationByHash(hash);
	// The invitation is void once its sender is no longer allowed to send it.
	if (!found || !mayInvite(found.inviterRole, found.invitation.role)) throw notFound('Invitation');
	if (!isSameAddress(found.invitation.email, actorOf(request).email)) {
		throw new GatewayError('forbidden', 'This invitation is for another e-mail address than the one of this account.');
	}
	const membership = await storeOf(request, core).organizations.accept(hash, userIdOf(request));
	if (!membership) throw notFound('Invitation');
	return presentMembership(membership);
}

function mayInvite(inviter: Role | null, invited: Role): boolean {
	const held = inviter ? permissionsOf(inviter) : [];
	return held.includes('members:write') && held.includes(permissionToGrant(invited));
}
