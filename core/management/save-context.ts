// The context that core passes to a plugin while a row with its config is saved.

import type { ArgumentChecks } from '../arguments/checks.ts';
import { asGatewayError, GatewayError, invalid } from '../contract/errors.ts';
import type { SaveContext } from '../contract/kinds.ts';
import type { Log } from '../contract/nouns.ts';
import type { Egress } from '../egress/egress.ts';
import type { Registry } from '../registry/registry.ts';
import type { AccountOf } from '../shared/accounts.ts';
import type { Store } from '../store/store.ts';
import { pluginLog } from '../tools/plugin-log.ts';

interface Parts {
	log: Log;
	store: Pick<Store, 'llmProviders'>;
	argumentChecks: Pick<ArgumentChecks, 'admit'>;
	egress: Pick<Egress, 'check' | 'checkAddress'>;
	accountOf: AccountOf;
	registry: Registry;
}

/** @param plugin `kind:name` of the plugin that checks the row */
export const saveContext = (
	{ log, egress, accountOf, registry, store, argumentChecks }: Parts,
	plugin: string,
	organizationId: string,
): SaveContext => ({
	log: pluginLog(log, { plugin, organizationId }),
	operator: registry.operator(plugin),
	organizationId,
	account: () => accountOf(organizationId),
	checkUrl: egress.check,
	checkAddress: egress.checkAddress,
	async checkProvider(providerId, at) {
		if (await store.llmProviders.get(organizationId, providerId)) return;
		throw invalid(at, `${at.slice(1)} names no LLM provider of this organization.`);
	},
	checkSchema: (schema, at) => argumentChecks.admit(schema, organizationId, AbortSignal.timeout(SCHEMA_MS)).catch(blamedOn(at)),
});

/** The time in which a schema is checked, waiting for a thread included. */
const SCHEMA_MS = 30_000;
/** The place that the check of a tool's arguments blames. */
const PARAMETERS = '/parameters';

/** Moves the faults of a schema to where the client wrote it. */
const blamedOn =
	(at: string) =>
	(error: unknown): never => {
		const known = asGatewayError(error);
		if (known?.code !== 'validation_failed') throw error;
		const moved = (text: string): string => text.replaceAll(PARAMETERS, at).replace(/^parameters /, `${at.slice(1)} `);
		const details = known.details.map(({ path, message }) => ({ path: moved(path), message: moved(message) }));
		throw new GatewayError('validation_failed', moved(known.message), { details, cause: error });
	};
