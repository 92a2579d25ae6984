// The account for which an organization's shares of scarce things count (threads, compiles, streams, runs): that of its creator, so that
// nobody gets more of them by creating more organizations.

import type { Organizations } from '../store/store.ts';
import type { Memo } from './memo.ts';

/** Looks an account up once, since it never changes. @throws unavailable when it is not known yet and the database is away */
export type AccountOf = (organizationId: string) => Promise<string>;

export const createAccountOf =
	(organizations: Pick<Organizations, 'account'>, memo: Memo): AccountOf =>
	(organizationId) =>
		memo.get(`account:${organizationId}`, Number.POSITIVE_INFINITY, () => organizations.account(organizationId));
