// Shows organizations and their members: each shape beside the function that fills it. Tokens are never shown.

import Joi from 'joi';
import {
	type InvitationRow,
	MAILS,
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
	slug: Joi.string().description('The organization’s segment in the URLs of its gateways. It stays when the name changes.').example('acme'),
	role: role.description('Role of the requesting user.'),
	createdAt: timestamp,
};

const codeMayFetch = Joi.boolean().description('Whether JavaScript tools may send requests, through the egress guard like every other.');

const toolExposure = Joi.valid('full', 'search', 'code').description(
	'What clients of `/mcp` list: all tools (`full`), or two that stand for them: `search_tools` with `execute_tool` (`search`) or `run_code` (`code`).',
);

/** The settings in a change; absent ones stay as they are. */
export const SETTINGS = Joi.object({ codeMayFetch, toolExposure }).min(1).description('The settings of the organization.');

const ALLOWED = shape({ codeMayFetch, toolExposure }).description('The settings of the organization.');

export const ORGANIZATION = shape({
	...organization,
	settings: ALLOWED,
}).meta({ schema: 'Organization' });

/** Shows an organization. @param asker role of the requesting user */
export const presentOrganization = (row: OrganizationRow, asker: Role | null, settings: OrganizationSettings) =>
	present(ORGANIZATION, row, { role: asker, settings: present(ALLOWED, settings) });

export const MEMBERSHIP = shape({ ...organization, joinedAt: timestamp.description('Time when the user joined.') }).meta({
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
	role: role.description('The role that the invitation grants.'),
	invitedBy: uuid.description('The user who sent it.'),
	createdAt: timestamp,
	expiresAt: timestamp,
};

export const INVITATION = shape(invitation).meta({ schema: 'Invitation' });

export const NEW_INVITATION = shape({
	...invitation,
	token: Joi.string().description('The token that accepts the invitation, shown in this answer only.'),
	url: Joi.string().uri().description('The page that accepts the invitation; it contains the token.'),
	mailed: Joi.boolean().description(
		`False when too many mails wait, or the caller has had ${MAILS.window.max} sent within an hour: send the link yourself.`,
	),
}).meta({ schema: 'NewInvitation' });

export const presentInvitation = (row: InvitationRow) => present(INVITATION, row);
