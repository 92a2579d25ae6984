// The records that a call's plugin reads and writes.

import type { Records } from '../contract/nouns.ts';
import { PluginRecords } from '../shared/plugin-records.ts';
import type { RecordStore } from '../store/store.ts';
import type { CallParts, Services } from './call-parts.ts';

/** Returns the records of the plugin at the gateway, or in the organization where there is none. */
export function recordsOf({ store, records: services }: RecordServices, parts: RecordParts, organizationId: string): Records {
	const { plugin, gateway, records = store.records, incoming, hidesSealed = false } = parts;
	/** Writes in the name of a user, with the client data of the request. */
	const inNameOf = (by: { userId: string; email: string }): RecordStore => {
		if (parts.records || !incoming) return records;
		const { address, headers, id } = incoming;
		return store.as({ ...by, accessKeyId: null, address, userAgent: headers['user-agent'] ?? null, requestId: id }).records;
	};
	return new PluginRecords(
		{ store: records, as: inNameOf, services, hidesSealed },
		{ organizationId, gatewayId: gateway?.id ?? null, plugin },
	);
}

type RecordServices = Pick<Services, 'store' | 'records'>;
type RecordParts = Pick<CallParts, 'plugin' | 'gateway' | 'records' | 'incoming' | 'hidesSealed'>;
