// How organizations and their people are shown: a shape and what fills it, side by side. Tokens never are.

import Joi from 'joi';
import {
	type InvitationRow,
	type MemberRow,
	type MembershipRow,
	type OrganizationRow,
	type OrganizationSettings,
	present,
	ROLES,
	type Role,
	shape,
	text,
	timestamp,
	uuid,
} from '../../../core/features.ts';

export const role = Joi.string().valid(...ROLES);

const organization = {
	id: uuid,
	name: Joi.string(),
	slug: Joi.string().description('Its part of the URLs of its gateways. It stays when the name changes.').example('acme'),
	role: role.description('Of the user who asks.'),
	createdAt: timestamp,
};

const codeMayFetch = Joi.boolean().description('Whether JavaScript tools may send requests, through the egress guard like every other.');

/** As a client changes them; what is not named stays. */
export const SETTINGS = Joi.object({ codeMayFetch }).min(1).description('What the organization allows.');

const ALLOWED = shape({ codeMayFetch }).description('What the organization allows.');

export const ORGANIZATION = shape({
	...organization,
	settings: ALLOWED,
}).meta({ schema: 'Organization' });

/** @param asker role of the user who asks */
export const presentOrganization = (row: OrganizationRow, asker: Role | null, settings: OrganizationSettings) =>
	present(ORGANIZATION, row, { role: asker, settings: present(ALLOWED, settings) });

export const MEMBERSHIP = shape({ ...organization, joinedAt: timestamp.description('When the user joined.') }).meta({
	schema: 'Membership',
});

export const presentMembership = ({ organization: its, role: held, joinedAt }: MembershipRow) =>
	present(MEMBERSHIP, its, { role: held, joinedAt });

export const MEMBER = shape({
	userId: uuid,
	email: Joi.string(),
	firstName: text,
	lastName: text,
	role,
	joinedAt: timestamp,
}).meta({ schema: 'Member' });

export const presentMember = ({ user, ...row }: MemberRow) => present(MEMBER, { ...user, ...row }, { userId: user.id });

const invitation = {
	id: uuid,
	email: Joi.string().description('Only an account with this address can accept.'),
	role: role.description('What who accepts becomes.'),
	invitedBy: uuid.description('The user who sent it.'),
	createdAt: timestamp,
	expiresAt: timestamp,
};

export const INVITATION = shape(invitation).meta({ schema: 'Invitation' });

export const NEW_INVITATION = shape({
	...invitation,
	token: Joi.string().description('What accepts it, in this answer and never again.'),
	url: Joi.string().uri().description('The page that accepts it; the token is in it.'),
	mailed: Joi.boolean().description('False when too many mails wait: pass the link on by hand.'),
}).meta({ schema: 'NewInvitation' });

export const presentInvitation = (row: InvitationRow) => present(INVITATION, row);
