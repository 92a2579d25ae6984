// Entries that a feature writes into the audit log itself, for resources of the types that it declares.

import type { Request } from '@hapi/hapi';
import type { JsonObject } from '../contract/nouns.ts';
import { textFaults } from '../kit/input-faults.ts';
import type { Registry } from '../registry/registry.ts';
import type { AuditRow, Store } from '../store/store.ts';
import { organizationOf, storeOf } from './credentials.ts';

export type AuditEntry = Pick<AuditRow, 'action' | 'resourceType' | 'resourceId'> & { resourceName?: string | null; changes?: JsonObject };

/** The log is read page by page: larger changes are told by their keys. */
const MAX_CHANGES_CHARS = 16 * 1024;

/**
 * Records a change in the name of the caller, in the log of the request's organization. `changes` has the form of other entries: by field
 * `{ from, to }`, `{ keys }` or `{ changed: true }`; secrets belong in none. Call it after the change: it is a statement of its own.
 * @throws Error for a type that the route's feature does not declare, or changes that cannot be stored; unavailable
 */
export type RecordAudit = (request: Request, entry: AuditEntry) => Promise<void>;

export const createRecordAudit =
	(parts: { store: Store; registry: Registry }): RecordAudit =>
	async (request, entry) => {
		const { feature = 'none' } = request.route.settings.plugins ?? {};
		const { resourceType, resourceName = null, changes = {} } = entry;
		const fault = faultOf({ ...entry, resourceName, changes }, parts.registry.get('feature', feature)?.audits ?? []);
		if (fault !== null) throw new Error(`feature:${feature}: an audit entry of the type "${resourceType}": ${fault}`);
		await storeOf(request, parts).audit.add(organizationOf(request).id, { ...entry, resourceName, changes });
	};

type Told = Pick<AuditRow, 'resourceType' | 'resourceId' | 'resourceName' | 'changes'>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function faultOf({ resourceType, resourceId, ...entry }: Told, declared: readonly string[]): string | null {
	if (!declared.includes(resourceType)) return 'the feature does not declare it.';
	if (!UUID.test(resourceId)) return 'its resourceId must be a UUID.';
	const [fault] = textFaults(entry);
	if (fault) return `${fault.path} ${fault.message}`;
	return JSON.stringify(entry.changes).length > MAX_CHANGES_CHARS ? 'its changes are too large.' : null;
}
