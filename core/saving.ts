// The context that core lends to a plugin while a row with its config is saved.

import type { SaveContext } from './contracts.ts';
import type { Core } from './core.ts';

export const saveContext = ({ log, egress, accountOf }: Core, organizationId: string): SaveContext => ({
	log,
	organizationId,
	account: () => accountOf(organizationId),
	checkUrl: egress.check,
});
