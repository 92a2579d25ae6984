// Context of plugins in routes of the management API.

import type { Context } from '../contract/context.ts';
import type { Gateway } from '../contract/nouns.ts';
import type { RecordStore } from '../store/store.ts';
import { PluginCall } from './call.ts';
import type { Services } from './call-parts.ts';
import { NO_IDENTITY } from './no-identity.ts';

/** The scope of a plugin's context in a route of the management API, outside its gateways' requests. */
export interface ManagementScope {
	/** `kind:name`. */
	plugin: string;
	organizationId: string;
	/** Null: the records of the organization itself. */
	gateway: Gateway | null;
	/** Writes in the name of the user who made the request. */
	records: RecordStore;
	signal: AbortSignal;
}

export const managementContext = (services: Services, scope: ManagementScope): Context =>
	new PluginCall(services, {
		...scope,
		hidesSealed: true,
		caller: null,
		shelf: null,
		identity: NO_IDENTITY,
		entry: null,
		listener: null,
	});
