// Invitations by e-mail: a link for one person, for one use, for seven days. The inviter is shown it once, so that it works
// without mail.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	GatewayError,
	hashKey,
	isBareAddress,
	mintKey,
	needs,
	notFound,
	organizationOf,
	pageOf,
	pageQuery,
	permissionsOf,
	permissionToGrant,
	type Role,
	requirePermission,
	storeOf,
	success,
	userIdOf,
} from '../../../core/index.ts';
import { invitationMail, invitationUrl } from './invitation-mail.ts';
import { role } from './members.ts';
import { presentInvitation, presentMembership } from './present.ts';

const TOKEN_PREFIX = 'svc_inv_';
const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;

/** What a mail's header takes is asked too: an invitation that cannot be sent is not made. */
const email = Joi.string()
	.email({ tlds: false })
	.max(254)
	.custom((value: string, helpers) => (isBareAddress(value) ? value : helpers.error('string.email')));

const INVITE = body({ email: email.required(), role: role.default('member') });
const ACCEPT = body({ token: Joi.string().max(200).required() });

export function invitationRoutes(core: Core): ServerRoute[] {
	const inPath = { organization: 'path' } as const;
	return [
		{
			method: 'GET',
			path: '/organizations/{orgId}/invitations',
			options: { ...needs('members:read', inPath), validate: { query: pageQuery() } },
			handler: async (request) => {
				const { items, nextCursor } = await core.store.organizations.invitations(organizationOf(request).id, pageOf(request));
				return success({ invitations: items.map(presentInvitation), nextCursor });
			},
		},
		{
			method: 'POST',
			path: '/organizations/{orgId}/invitations',
			options: { ...needs('members:write', inPath), validate: { payload: INVITE } },
			handler: async (request, h) => h.response(success(await invite(request, core))).code(201),
		},
		{
			method: 'DELETE',
			path: '/organizations/{orgId}/invitations/{invitationId}',
			options: needs('members:write', inPath),
			handler: async (request) => {
				const { organizations } = storeOf(request, core);
				const revoked = await organizations.revokeInvitation(organizationOf(request).id, String(request.params['invitationId']));
				if (!revoked) throw notFound('Invitation');
				return success(presentInvitation(revoked));
			},
		},
		{
			// `account`, not `login`: a key without restrictions is the account already, and the token, which nobody else has, is asked
			// for besides.
			method: 'POST',
			path: '/invitations/accept',
			options: { ...needs('account'), validate: { payload: ACCEPT } },
			handler: async (request) => success(await accept(request, core)),
		},
	];
}

async function invite(request: Request, core: Core) {
	// The body has passed INVITE.
	const given = request.payload as { email: string; role: Role };
	requirePermission(request, permissionToGrant(given.role));
	const organization = organizationOf(request);
	const inviter = await core.store.accounts.byId(userIdOf(request));
	if (!inviter) throw notFound('User');
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
	if (folded(found.invitation.email) !== folded(request.auth.credentials.actor.email)) {
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
