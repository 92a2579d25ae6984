// A plugin's records at a gateway, for tests of the store.

import type { PutOptions } from '../../core/contract/nouns.ts';
import type { Store } from '../../core/store/store.ts';
import { addGateway, addTenant } from './samples.ts';

export async function begin(store: Store) {
	const { organizationId } = await addTenant(store);
	const scope = { plugin: 'oauth2', gatewayId: (await addGateway(store, organizationId)).id };
	const put = (key: string, value = {}, options: PutOptions = {}) => store.records.put(organizationId, scope, key, value, options);
	return { organizationId, scope, put, records: store.records };
}
