// Records as plugins get them, on a replica of a test.

import type { TestContext } from 'node:test';
import type { StoredRecord } from '../../core/contract/nouns.ts';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { createRecordServices, PluginRecords } from '../../core/shared/plugin-records.ts';
import type { RecordOwner } from '../../core/shared/sealed-fields.ts';
import type { Store } from '../../core/store/store.ts';
import { until } from './clock.ts';
import { addGateway, addTenant } from './samples.ts';

/** Starts what the records of a replica share. @param key the key of its secrets, in hex */
export function start(t: TestContext, store: Store, key = 'ab') {
	const secrets = createSecrets(key.repeat(32));
	const services = createRecordServices({ store, secrets, accountOf: async (organizationId) => organizationId });
	t.after(() => services.close());
	const of = (owner: RecordOwner, hidesSealed = false) => new PluginRecords({ store: store.records, services, hidesSealed }, owner);
	return { of, services };
}

export async function addOwner(store: Store): Promise<RecordOwner> {
	const { organizationId } = await addTenant(store);
	return { organizationId, gatewayId: (await addGateway(store, organizationId)).id, plugin: 'transport:a2a' };
}

/** Collects what a watch yields, as texts. */
export function follow(watch: AsyncIterable<StoredRecord | null>) {
	const seen: string[] = [];
	const ended = (async () => {
		for await (const record of watch) seen.push(record ? String(record.value['n']) : 'none');
	})();
	ended.catch(() => undefined);
	return {
		seen,
		ended,
		has: (text: string) =>
			until(
				() => seen.at(-1) === text,
				() => `${text} after ${seen}`,
			),
	};
}
