// Makes an organization whose changes are recorded, and reads its audit log.

import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../core/contract/nouns.ts';
import type { Actor, AuditRow } from '../../core/store/store.ts';
import { addApi, addGateway, addTenant, addTool } from './samples.ts';
import type { TestStore } from './store.ts';

export const actor = (change: Partial<Actor> = {}): Actor => ({
	userId: randomUUID(),
	email: 'ada@example.com',
	accessKeyId: null,
	address: '192.0.2.1',
	userAgent: 'test/1',
	requestId: randomUUID(),
	...change,
});

/** Makes an organization with one record of each kind, and returns the requests of its owner. */
export async function furnish(store: TestStore) {
	const tenant = await addTenant(store);
	const { organizationId, userId } = tenant;
	const [api, tool, gateway] = [
		await addApi(store, organizationId),
		await addTool(store, organizationId),
		await addGateway(store, organizationId),
	];
	const who = actor({ userId });
	return { store, tenant, organizationId, userId, api: api.id, tool: tool.id, gateway: gateway.id, who, owner: store.as(who) };
}

export type World = Awaited<ReturnType<typeof furnish>>;
/** The parts of an audit row that tests compare: action, type, id, name, changes. */
export type Told = [AuditRow['action'], string, string, string | null, JsonObject];

export const told = ({ action, resourceType, resourceId, resourceName, changes }: AuditRow): Told => [
	action,
	resourceType,
	resourceId,
	resourceName,
	// Times differ from run to run; the pattern checks that they are written as the API writes them.
	JSON.parse(JSON.stringify(changes).replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"a time"')),
];

/** Sorts rows, since those of one statement come in any order. */
export const sorted = (rows: Told[]): Told[] => rows.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
