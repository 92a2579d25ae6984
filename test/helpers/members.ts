// Adds people to organizations over REST: invites, registers and joins them.

import { type Account, must, registerAccount } from './service.ts';

/** Registers an account that joins the organization of `inviter` with this role; it has an organization of its own too. */
export async function addMember(inviter: Account, role: string): Promise<Account> {
	const account = await registerAccount(inviter.url);
	await join(inviter, account, role);
	return account;
}

/** Lets an existing account join the inviter's own organization, unless another is named. */
export async function join(inviter: Account, account: Account, role: string, organizationId = inviter.organization.id): Promise<void> {
	const invited = await inviter.post(`/organizations/${organizationId}/invitations`, { email: account.email, role });
	must(await account.post('/invitations/accept', { token: must(invited, 201).body.data.token }), 200);
}
