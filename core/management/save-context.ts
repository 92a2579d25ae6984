// The context that core passes to a plugin while a row with its config is saved.

import type { SaveContext } from '../contract/kinds.ts';
import type { Log } from '../contract/nouns.ts';
import type { Egress } from '../egress/egress.ts';
import type { Registry } from '../registry/registry.ts';
import type { AccountOf } from '../shared/accounts.ts';
import { pluginLog } from '../tools/plugin-log.ts';

interface Parts {
	log: Log;
	egress: Pick<Egress, 'check' | 'checkAddress'>;
	accountOf: AccountOf;
	registry: Registry;
}

/** @param plugin `kind:name` of the plugin that checks the row */
export const saveContext = ({ log, egress, accountOf, registry }: Parts, plugin: string, organizationId: string): SaveContext => ({
	log: pluginLog(log, { plugin, organizationId }),
	operator: registry.operator(plugin),
	organizationId,
	account: () => accountOf(organizationId),
	checkUrl: egress.check,
	checkAddress: egress.checkAddress,
});
