// The account by which an organization's quotas of scarce resources count (threads, compiles, streams, runs): that of its creator, so that
// creating more organizations gives no larger quota.

import type { Organizations } from '../store/store.ts';
import type { Memo } from './memo.ts';

/** Returns the account, looked up once since it never changes. @throws unavailable if it is not cached and the database is down */
export type AccountOf = (organizationId: string) => Promise<string>;

export const createAccountOf =
	(organizations: Pick<Organizations, 'account'>, memo: Memo): AccountOf =>
	(organizationId) =>
		memo.get(organizationId, 'account', Number.POSITIVE_INFINITY, () => organizations.account(organizationId));
