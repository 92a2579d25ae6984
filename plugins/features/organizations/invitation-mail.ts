// The mail of an invitation: plain text, with the token in the link's fragment, which reaches no server's log.

import { type Core, type Message, type OrganizationRow, oneLine, type PersonRow, type Role } from '../../../core/features.ts';

/** The most characters of a name in a mail: enough to recognise somebody, too few for a message. */
const MAX_NAME = 80;

interface Invited {
	email: string;
	role: Role;
	inviter: PersonRow;
	organization: OrganizationRow;
	token: string;
}

/** Writes the link from the configuration alone, so that the sender of the request cannot choose where it leads. */
export const invitationUrl = ({ frontendUrl }: Core['config'], token: string): string => `${frontendUrl}/invitation#token=${token}`;

export function invitationMail({ email, role, inviter, organization, token }: Invited, config: Core['config']): Message {
	const who = `${shown(`${inviter.firstName} ${inviter.lastName}`)} (${inviter.email})`;
	const where = shown(organization.name);
	return {
		to: email,
		subject: `Invitation to ${where}`,
		text: [
			`${who} invites you to join the organization "${where}" with the role ${role}.`,
			`To accept, open this link within seven days and log in, or register, with the address ${email}:`,
			invitationUrl(config, token),
			`Programs accept with POST ${config.publicUrls[0]}/invitations/accept and the body {"token":"${token}"}.`,
			'If you do not know the sender, ignore this mail: nothing happens unless you accept.',
			'',
		].join('\n\n'),
	};
}

const shown = (name: string): string => oneLine(name).slice(0, MAX_NAME).toWellFormed();
