// The context that core passes to a plugin while a row with its config is saved.

import type { SaveContext } from '../contract/kinds.ts';
import type { Log } from '../contract/nouns.ts';
import type { Egress } from '../egress/egress.ts';
import type { AccountOf } from '../shared/accounts.ts';

interface Parts {
	log: Log;
	egress: Pick<Egress, 'check'>;
	accountOf: AccountOf;
}

export const saveContext = ({ log, egress, accountOf }: Parts, organizationId: string): SaveContext => ({
	log,
	organizationId,
	account: () => accountOf(organizationId),
	checkUrl: egress.check,
});
