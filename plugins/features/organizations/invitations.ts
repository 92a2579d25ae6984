// Invitations by e-mail: a link for one person, for one use, for seven days. The inviter is shown it once, so that it works
// without mail.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	actorOf,
	body,
	type Core,
	GatewayError,
	hashKey,
	isBareAddress,
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

/** What a mail's header takes is asked too: an invitation that cannot be sent is not made. */
const email = Joi.string()
	.email({ tlds: false })
	.max(254)
	.custom((value: string, helpers) => (isBareAddress(value) ? value : helpers.error('string.email')));

const INVITE = body({
	email: email.required().description('Who is invited.'),
	role: role.default('member').description('What they become.'),
}).example({ email: 'grace@example.com', role: 'member' });

const ACCEPT = body({
	token: Joi.string().max(200).required().description('As the invitation’s link carries it.'),
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
		summary: 'Invites somebody into an organization, by mail and by the link that is answered.',
		description: 'It can be accepted for seven days, and takes the place of one that waits for the same address.',
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
		summary: 'Accepts an invitation, with an account of the address that was invited.',
		// `account`, not `login`: a key without restrictions is the account already, and the token, which nobody else has, is asked
		// for besides.
		need: 'account',
		body: ACCEPT,
		answer: MEMBERSHIP,
		errors: ['not_found', 'conflict'],
		handler: (request) => accept(request, core),
	});

async function invite(request: Request, core: Core) {
	// The body has passed INVITE.
	const given = request.payload as { email: string; role: Role };
	requirePermission(request, permissionToGrant(given.role));
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
	const mailed = core.mail.send(invitationMail({ ...given, inviter, organization, token }, core.config));
	// False when too many mails wait: the link has to be passed on by hand then.
	return { ...presentInvitation(made), token, url: invitationUrl(core.config, token), mailed };
}

async function accept(request: Request, core: Core) {
	// The body has passed ACCEPT.
	const hash = hashKey((request.payload as { token: string }).token);
	const found = await core.store.organizations.invitationByHash(hash);
	// Void once its sender could not send it any more.
	if (!found || !mayInvite(found.inviterRole, found.invitation.role)) throw notFound('Invitation');
	if (folded(found.invitation.email) !== folded(actorOf(request).email)) {
		throw new GatewayError('forbidden', 'This invitation is for another e-mail address than that of this account.');
	}
	const membership = await storeOf(request, core).organizations.accept(hash, userIdOf(request));
	if (!membership) throw notFound('Invitation');
	return presentMembership(membership);
}

function mayInvite(inviter: Role | null, invited: Role): boolean {
	const held = inviter ? permissionsOf(inviter) : [];
	return held.includes('members:write') && held.includes(permissionToGrant(invited));
}

/** A–Z only: folding all of Unicode makes one address of two (the Kelvin sign becomes a k). */
const folded = (address: string): string => address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
